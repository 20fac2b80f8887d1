// Compares every tensor of every torch.save record of the corpus with the tensor that PyTorch loads
// (tests/data/tensor_digests.jsonl).
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <libdeflate.h>
#include <simdjson.h>

#include <map>

#include "archive/test_files.h"
#include "archive/zip_builder.h"
#include "pt2/format/pickle.h"

namespace pt2 {
namespace {

using test::corpus_file;
using test::negative_file;

// Collects tensors and objects as rows of the digest file.
class Digest {
 public:
  void add(std::string_view payload, std::string_view name, const PickleValue& value) {
    if (value.is(PickleKind::tensor) && value.tensor().tensor.defined()) {
      std::vector<std::string>& rows = rows_[std::string(payload)];
      if (rows.empty()) storages_.clear();
      rows.push_back(row(name, value.tensor()));
    } else {
      objects_.push_back(fmt::format("[\"{}\",\"{}\",\"{}\"]", payload, name, object_text(value)));
    }
  }
  std::string rows(const std::string& payload) {
    return fmt::format("[{}]", fmt::join(rows_[payload], ","));
  }
  std::string objects() { return fmt::format("[{}]", fmt::join(objects_, ",")); }

 private:
  std::string row(std::string_view name, const PickleTensor& value) {
    const Tensor& tensor = value.tensor;
    const Tensor packed = tensor.contiguous();
    const uint32_t crc =
        libdeflate_crc32(0, packed.raw_data(), static_cast<size_t>(packed.nbytes()));
    const auto [storage, is_new] = storages_.try_emplace(tensor.storage().get(), storages_.size());
    return fmt::format("[\"{}\",\"{}\",[{}],[{}],{},{},{},{:d},{:d},{}]", name, value.dtype,
                       fmt::join(tensor.sizes(), ","), fmt::join(tensor.strides(), ","),
                       tensor.storage_offset(), tensor.storage()->size(), storage->second,
                       value.requires_grad, value.is_parameter, crc);
  }

  static std::string object_text(const PickleValue& value) {
    static const std::map<PickleKind, std::string> kNames = {
        {PickleKind::none, "builtins.NoneType"},
        {PickleKind::integer, "builtins.int"},
        {PickleKind::floating, "builtins.float"},
        {PickleKind::boolean, "builtins.bool"},
        {PickleKind::string, "builtins.str"}};
    if (value.is(PickleKind::tensor))
      return fmt::format("Tensor[torch.{}, {}]", value.tensor().dtype,
                         value.tensor().missing.substr(7));
    if (value.is(PickleKind::object)) return std::string(value.text());
    return kNames.at(value.kind());
  }

  std::map<std::string, std::vector<std::string>> rows_;
  std::vector<std::string> objects_;
  std::map<const Storage*, size_t> storages_;
};

void add_dict(Digest& digest, const Archive& archive, Role role, const std::string& model) {
  const std::string name = archive.record_name(role, model);
  if (name.empty() || archive.find(name) == nullptr) return;
  const Result<Pickle> pickle = read_torch_save(archive.read(name).value(), PickleMode::strict);
  ASSERT_TRUE(pickle) << pickle.error().text();
  const PickleValue root = pickle->root();
  for (size_t i = 0; i < root.dict_size(); ++i)
    digest.add(role_name(role), root.key(i).text(), root.value(i));
}

void add_sample_inputs(Digest& digest, const Archive& archive, const std::string& model) {
  const std::string name = archive.record_name(Role::sample_inputs, model);
  if (archive.find(name) == nullptr) return;
  const Result<Pickle> pickle = read_torch_save(archive.read(name).value(), PickleMode::listing);
  ASSERT_TRUE(pickle) << pickle.error().text();
  const std::vector<SampleInput> inputs = flatten_sample_inputs(*pickle).value();
  for (const SampleInput& input : inputs) digest.add("sample_inputs", input.path, input.value);
}

bool is_pickled(const Archive& archive, const std::string& model, std::string_view payload) {
  for (Role role : {Role::weights, Role::constants, Role::sample_inputs})
    if (role_name(role) == payload)
      return archive.find(archive.record_name(role, model)) != nullptr;
  return false;
}

// Returns the paths of the corpus files by "release/file".
std::map<std::string, std::string> files_by_name() {
  std::map<std::string, std::string> files;
  for (const std::string& path : test::corpus_files()) {
    const std::filesystem::path file(path);
    files.emplace((file.parent_path().filename() / file.filename()).string(), path);
  }
  return files;
}

TEST(TorchSave, GivesTheTensorsThatPyTorchLoads) {
  const std::map<std::string, std::string> files = files_by_name();
  simdjson::dom::parser parser;
  simdjson::dom::document_stream lines =
      parser.load_many(PT2_TEST_DATA "/tensor_digests.jsonl").value();
  size_t programs = 0;
  for (auto parsed : lines) {
    const simdjson::dom::element line = parsed.value();
    if (line["file"].error()) continue;
    const auto found = files.find(fmt::format("{}/{}", line["release"].get_string().value(),
                                              line["file"].get_string().value()));
    if (found == files.end()) continue;
    const std::string& path = found->second;
    SCOPED_TRACE(path);
    const Archive archive = Archive::open(path).value();
    const std::string model(line["program"].get_string().value());
    Digest digest;
    add_dict(digest, archive, Role::weights, model);
    add_dict(digest, archive, Role::constants, model);
    add_sample_inputs(digest, archive, model);
    for (const char* payload : {"weights", "constants", "sample_inputs"}) {
      // 2.1 keeps constants inside the program, 2.9 and later keep them in raw records.
      if (!is_pickled(archive, model, payload)) continue;
      simdjson::dom::element rows;
      const std::string expected = line[payload].get(rows) ? "[]" : simdjson::minify(rows);
      EXPECT_EQ(digest.rows(payload), expected) << payload;
    }
    std::string objects;
    simdjson::dom::array all;
    if (!line["objects"].get(all))
      for (const simdjson::dom::element object : all)
        if (is_pickled(archive, model, object.at(0).get_string().value()))
          objects += (objects.empty() ? "" : ",") + simdjson::minify(object);
    EXPECT_EQ(digest.objects(), "[" + objects + "]");
    ++programs;
  }
  EXPECT_GT(programs, 500u);
}

constexpr std::string_view kRefused =
    "archive/data.pkl:byte 2: refused the global os.system: only tensors, numbers and plain "
    "containers "
    "are read";

TEST(TorchSave, RefusesCodeInWeights) {
  const Archive flat = Archive::open(negative_file("legacy_pickle")).value();
  const Result<Pickle> state =
      read_torch_save(flat.read("serialized_state_dict.pt").value(), PickleMode::strict);
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, ErrorCode::unsupported);
  EXPECT_EQ(state.error().text(), kRefused);

  const Archive package = Archive::open(negative_file("pickle_weight")).value();
  const Result<Pickle> weight =
      read_torch_save(package.read("data/weights/weight_0").value(), PickleMode::strict);
  ASSERT_FALSE(weight);
  EXPECT_EQ(weight.error().text(), kRefused);
}

TEST(TorchSave, ListsCodeInSampleInputs) {
  const Archive archive = Archive::open(negative_file("pickle_sample_inputs")).value();
  const Record record = archive.read(archive.record_name(Role::sample_inputs, "model")).value();
  const Pickle pickle = read_torch_save(record, PickleMode::listing).value();
  ASSERT_EQ(pickle.refused().size(), 1u);
  EXPECT_EQ(pickle.refused()[0].name, "os.system");
  EXPECT_TRUE(pickle.refused()[0].called);
}

TEST(TorchSave, KeepsWeightsMapped) {
  const Archive archive = Archive::open(corpus_file("2.8.0", "mlp")).value();
  const Record record = archive.read("data/weights/model.pt").value();
  const Pickle pickle = read_torch_save(record, PickleMode::strict).value();
  const std::byte* data = pickle.root().value(0).tensor().tensor.raw_data();
  EXPECT_TRUE(data >= record.bytes.data() && data < record.bytes.data() + record.bytes.size());
}

// As after torch.serialization.set_crc32_options(False); torch.load accepts such files.
TEST(TorchSave, ChecksumsMayBeLeftOut) {
  test::BuiltZip zip{.entries = {{.name = "m/data.pkl", .data = "K\x07.", .size = 3},
                                 {.name = "m/byteorder", .data = "little", .size = 6}}};
  EXPECT_EQ(read_torch_save(make_record(zip.bytes()), PickleMode::strict)->root().as_int(), 7);
  zip.entries[0].crc = 1;
  EXPECT_EQ(read_torch_save(make_record(zip.bytes()), PickleMode::strict).error().code,
            ErrorCode::corrupt);
}

TEST(TorchSave, EmptyRecordIsNone) {
  const Pickle pickle = read_torch_save(Record{}, PickleMode::strict).value();
  EXPECT_TRUE(pickle.root().is(PickleKind::none));
  EXPECT_TRUE(flatten_sample_inputs(pickle).value().empty());
}

}  // namespace
}  // namespace pt2
