#include "pt2/save.h"

#include <gtest/gtest.h>

#include <set>

#include "package/corpus.h"
#include "pt2/format/pickle_write.h"
#include "read_file.h"
#include "temporary_folder.h"

namespace pt2 {
namespace {

std::string saved(const PackageContents& contents, std::string_view root = "archive") {
  StringSink sink;
  const Result<void> done = save_package(contents, sink, root);
  EXPECT_TRUE(done) << done.error().text();
  return sink.take();
}

Package open(const std::string& bytes, const Limits& limits = {}) {
  auto owner = std::make_shared<const std::string>(bytes);
  return Package::open_bytes(std::as_bytes(std::span(*owner)), owner, "saved.pt2", limits).value();
}

std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::pair<std::string, std::string>> entries(const Archive& archive) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const Entry& entry : archive.zip().entries())
    found.emplace_back(entry.name, text(archive.zip().read(entry).value().bytes));
  return found;
}

TEST(SavePackage, GivesTheFileBackInItsOwnLayout) {
  size_t same_bytes = 0;
  size_t same_entries = 0;
  for (const corpus::File& file : corpus::files()) {
    SCOPED_TRACE(file.path);
    const Package package = Package::open(file.path).value();
    const Archive& archive = package.archive();
    const Result<PackageContents> contents = package_contents(package);
    ASSERT_TRUE(contents) << contents.error().text();
    const std::string bytes = saved(*contents, archive.root());
    if (archive.era() == Era::flat) {
      // Python's zipfile writes the current time, so the bytes differ.
      EXPECT_EQ(entries(open(bytes).archive()), entries(archive));
      ++same_entries;
    } else {
      EXPECT_TRUE(bytes == text(archive.zip().bytes()));
      ++same_bytes;
    }
  }
  RecordProperty("same_bytes", static_cast<int>(same_bytes));
  RecordProperty("same_entries", static_cast<int>(same_entries));
  EXPECT_GT(same_bytes, 300u);
  EXPECT_GT(same_entries, 150u);
}

std::string elements(const Tensor& tensor) {
  const Tensor packed = tensor.contiguous();
  return text({packed.raw_data(), static_cast<size_t>(packed.nbytes())});
}

// Compares what every layout keeps. Of storages, compares only which tensors share one.
void expect_same(const Payloads& left, const Payloads& right) {
  ASSERT_EQ(left.tensors().size(), right.tensors().size());
  std::map<size_t, size_t> groups;
  for (const PayloadTensor& ours : left.tensors()) {
    SCOPED_TRACE(ours.name);
    const PayloadTensor* theirs = right.find(ours.kind, ours.name);
    ASSERT_NE(theirs, nullptr);
    EXPECT_EQ(ours.tensor.type_text(), theirs->tensor.type_text());
    EXPECT_EQ(ours.tensor.strides(), theirs->tensor.strides());
    EXPECT_EQ(ours.tensor.storage_offset(), theirs->tensor.storage_offset());
    EXPECT_EQ(ours.is_parameter, theirs->is_parameter);
    EXPECT_EQ(ours.requires_grad, theirs->requires_grad);
    EXPECT_TRUE(elements(ours.tensor) == elements(theirs->tensor));
    if (ours.tensor.storage()->size() == 0) continue;
    EXPECT_EQ(groups.emplace(ours.storage_group, theirs->storage_group).first->second,
              theirs->storage_group);
  }
}

// Replaces a torch.save file by the tensors in it.
void unpack(SavedTensors& tensors, const Payloads& payloads, PayloadKind kind) {
  std::vector<SavedTensor> found;
  for (const PayloadTensor& each : payloads.tensors()) {
    if (each.kind != kind) continue;
    found.push_back({.name = each.name,
                     .tensor = each.tensor,
                     .is_parameter = each.is_parameter,
                     .requires_grad = each.requires_grad,
                     .device = each.device});
  }
  tensors = std::move(found);
}

bool all_plain(const Payloads& payloads) {
  return payloads.objects().empty() &&
         std::ranges::all_of(payloads.tensors(),
                             [](const PayloadTensor& each) { return each.missing.empty(); });
}

TEST(SavePackage, KeepsTensorsInEveryLayout) {
  size_t conversions = 0;
  for (const corpus::File& file : corpus::files()) {
    const Package package = Package::open(file.path).value();
    if (package.models().size() != 1) continue;
    const auto payloads = package.payloads();
    if (!payloads || !all_plain(**payloads)) continue;
    const bool shares_across_dtypes = file.name == "shared_storage_dtypes.pt2";
    // 2.1 keeps its constants inside the program.
    if (file.release.starts_with("2.1.")) continue;
    for (const Era era : {Era::flat, Era::pickled_payloads, Era::raw_payloads}) {
      SCOPED_TRACE(file.path + " as " + std::to_string(static_cast<int>(era)));
      PackageContents contents = package_contents(package).value();
      contents.era = era;
      for (const bool unpacked : {false, true}) {
        if (unpacked) {
          unpack(contents.programs[0].state_dict, **payloads, PayloadKind::weight);
          unpack(contents.programs[0].constants, **payloads, PayloadKind::constant);
        }
        const Package again = open(saved(contents));
        EXPECT_EQ(again.archive().era(), era);
        const auto found = again.payloads();
        ASSERT_TRUE(found) << found.error().text();
        if (!shares_across_dtypes) expect_same(**payloads, **found);
        ++conversions;
      }
    }
  }
  EXPECT_GT(conversions, 500u);
}

TEST(SavePackage, ReplacesTheFileItReadsFrom) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("pt2_replaced.v1.pt2");
  const corpus::File source = {"2.15.0", "mlp.pt2", PT2_TEST_DATA "/corpus/2.15.0/mlp.pt2"};
  std::filesystem::copy_file(source.path, path, std::filesystem::copy_options::overwrite_existing);
  const Package package = Package::open(path).value();
  PackageContents contents = package_contents(package).value();
  contents.extra_files.push_back({"note.txt", make_record("hello")});
  const Result<void> done = save_package(contents, path);
  ASSERT_TRUE(done) << done.error().text();
  const Package replaced = Package::open(path).value();
  EXPECT_EQ(replaced.archive().root(), "pt2_replaced.v1");
  EXPECT_EQ(replaced.archive().extra_files().at(0).name, "note.txt");
  // `package` still maps the old file.
  expect_same(**package.payloads(), **replaced.payloads());

  const std::string before = test::read_file(path);
  contents.extra_files.push_back({"note.txt", make_record("again")});
  const Result<void> refused = save_package(contents, path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(),
            "pt2_replaced.v1/extra/note.txt: the entry's name was added before");
  EXPECT_TRUE(test::read_file(path) == before);
}

std::vector<std::string> names(const std::string& bytes) {
  std::vector<std::string> found;
  const Package package = open(bytes);
  for (const Entry& entry : package.archive().zip().entries())
    found.emplace_back(package.archive().relative_name(entry));
  return found;
}

// Returns some valid program, for tests of other records.
std::string any_program() {
  const Package package = Package::open(PT2_TEST_DATA "/corpus/2.15.0/mlp.pt2").value();
  return package_contents(package).value().programs[0].json;
}

Tensor counted(Sizes sizes) {
  Tensor tensor = Tensor::zeros(Dtype::float32, std::move(sizes));
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.data<float>()[i] = static_cast<float>(i);
  return tensor;
}

Record torch_saved(const Tensor& tensor) {
  PickleBuilder builder;
  const PickleValue root = builder.tensor({.tensor = tensor});
  StringSink sink;
  EXPECT_TRUE(write_torch_save(builder.finish(root), sink));
  return make_record(sink.take());
}

TEST(SavePackage, GroupsAndOrdersRecordsAsPyTorch) {
  const Tensor whole = counted({4});
  const Tensor half = whole.with_view({2}, {1}, 2);
  std::vector<SavedTensor> weights;
  weights.push_back(
      {.name = "whole", .tensor = whole, .is_parameter = true, .requires_grad = true});
  weights.push_back({.name = "other", .tensor = counted({2, 2}), .device = "cuda:1"});
  weights.push_back({.name = "half", .tensor = half});
  weights.push_back({.name = "bits", .tensor = half.with_dtype(Dtype::int32), .device = "cuda:"});
  weights.push_back({.name = "empty", .tensor = Tensor::zeros(Dtype::float32, {0})});
  weights.push_back({.name = "empty2", .tensor = Tensor::zeros(Dtype::float32, {0, 3})});
  weights.push_back({.name = "fake", .tensor = counted({3}), .is_fake = true});
  weights.push_back(
      {.name = "class", .tensor = counted({1}), .pickled = {torch_saved(counted({1}))}});
  SavedProgram program{.json = any_program(), .state_dict = weights};
  program.objects.push_back({"object", {make_record("a")}, false});
  program.objects.push_back({"opaque", {make_record("b")}, true});
  program.constants = std::vector<SavedTensor>{{.name = "constant", .tensor = counted({1})}};
  SavedProgram second = program;
  second.name = "second";
  PackageContents contents{.programs = {program, second}};
  contents.extra_files.push_back({"x", make_record("text")});
  contents.other_records.push_back({"data/executorch/e", make_record("e")});
  contents.other_records.push_back({"data/aotinductor/model/a", make_record("a")});
  const std::string bytes = saved(contents);
  std::vector<std::string> expected;
  for (const int first : {0, 6}) {
    for (int i = 0; i < 6; ++i)
      expected.push_back("data/weights/weight_" + std::to_string(first + i));
    const std::string name = first == 0 ? "model" : "second";
    const std::string index = first == 0 ? "0" : "1";
    for (const std::string& record :
         {"data/weights/" + name + "_weights_config.json", "data/constants/tensor_" + index,
          "data/constants/custom_obj_" + index, "data/constants/opaque_obj_" + index,
          "data/constants/" + name + "_constants_config.json", "models/" + name + ".json",
          "data/sample_inputs/" + name + ".pt"})
      expected.push_back(record);
  }
  for (const char* record :
       {"data/aotinductor/model/a", "extra/x", "data/executorch/e", "archive_format",
        "archive_version", ".data/version", "byteorder", ".data/serialization_id"})
    expected.emplace_back(record);
  EXPECT_EQ(names(bytes), expected);

  const Package package = open(bytes);
  const auto payloads = package.payloads("model").value();
  const auto find = [&](std::string_view name) {
    return *payloads->find(PayloadKind::weight, name);
  };
  EXPECT_EQ(find("class").record, "data/weights/weight_0");
  EXPECT_EQ(find("whole").record, find("half").record);
  EXPECT_EQ(find("whole").tensor.storage(), find("half").tensor.storage());
  EXPECT_NE(find("bits").record, find("half").record);
  EXPECT_EQ(find("empty").record, find("empty2").record);
  EXPECT_TRUE(find("fake").is_fake && !find("empty").is_fake);
  EXPECT_EQ(elements(find("fake").tensor), std::string(12, '\0'));
  EXPECT_EQ(find("half").tensor.as<float>()[1], 3);
  EXPECT_EQ(find("other").device, "cuda:1");
  EXPECT_EQ(find("bits").device, "cuda");
  EXPECT_TRUE(find("whole").is_parameter && find("whole").requires_grad);
  EXPECT_EQ(payloads->objects().size(), 2u);
  EXPECT_TRUE(saved(package_contents(package).value()) == bytes);
}

TEST(SavePackage, GivesNoPayloadTheNameOfAnotherRecord) {
  const std::vector<SavedTensor> weights = {{.name = "a", .tensor = counted({1})},
                                            {.name = "b", .tensor = counted({2})}};
  SavedProgram program{.json = any_program(), .state_dict = weights};
  SavedProgram second = program;
  second.name = "second";
  PackageContents contents{.programs = {program, second}};
  contents.other_records.push_back({"data/weights/weight_1", make_record("x")});
  contents.other_records.push_back({"data/constants/custom_obj_0", make_record("y")});
  contents.programs[0].objects.push_back({"object", {make_record("z")}, false});
  const Package package = open(saved(contents));
  EXPECT_EQ(text(package.archive().read("data/weights/weight_1").value().bytes), "x");
  EXPECT_EQ(text(package.archive().read("data/constants/custom_obj_1").value().bytes), "z");
  std::vector<std::string> records;
  for (const char* name : {"model", "second"})
    for (const PayloadTensor& each : package.payloads(name).value()->tensors())
      records.push_back(each.record);
  EXPECT_EQ(records, (std::vector<std::string>{"data/weights/weight_0", "data/weights/weight_2",
                                               "data/weights/weight_3", "data/weights/weight_4"}));
}

// PyTorch writes one empty record for all meta tensors and tensors without elements.
TEST(SavePackage, KeepsTheDeviceOfEachTensorOfARecord) {
  PackageContents contents = [] {
    std::vector<SavedTensor> weights;
    weights.push_back({.name = "meta", .tensor = counted({2}), .device = "meta", .is_fake = true});
    weights.push_back({.name = "cpu", .tensor = counted({2}), .is_fake = true});
    return PackageContents{.programs = {{.json = any_program(), .state_dict = weights}}};
  }();
  const std::string bytes = saved(contents);
  contents = package_contents(open(bytes)).value();
  const auto& weights = std::get<std::vector<SavedTensor>>(contents.programs[0].state_dict);
  EXPECT_EQ(weights[0].device, "meta");
  EXPECT_EQ(weights[1].device, "cpu");
  EXPECT_TRUE(saved(contents) == bytes);
}

PackageContents with_fakes(const std::vector<Sizes>& all_sizes) {
  std::vector<SavedTensor> weights;
  for (const Sizes& sizes : all_sizes) {
    const std::string name = "w" + std::to_string(weights.size());
    const Tensor shape =
        Tensor::zeros(Dtype::float32, {1}).with_view(sizes, contiguous_strides(sizes), 0);
    weights.push_back({.name = name, .tensor = shape, .is_fake = true});
  }
  return {.programs = {{.json = any_program(), .state_dict = weights}}};
}

TEST(FakeTensors, AreZerosOfTheSizesInTheFile) {
  const Package package = open(saved(with_fakes({{2, 3}, {100, 1000}})));
  const auto payloads = package.payloads().value();
  const PayloadTensor& large = *payloads->find(PayloadKind::weight, "w1");
  EXPECT_EQ(large.missing, "");
  EXPECT_EQ(large.tensor.as<float>()[99'999], 0);
}

TEST(FakeTensors, AreMissingBeyondTheLimit) {
  // The tensor would have 4 TiB, and no memory may be allocated for it.
  const std::string bytes = saved(with_fakes({{1 << 20, 1 << 20}}));
  const Package package = open(bytes);
  const auto payloads = package.payloads().value();
  const PayloadTensor& fake = *payloads->find(PayloadKind::weight, "w0");
  EXPECT_EQ(fake.missing, "fake tensor");
  EXPECT_TRUE(fake.is_fake);
  Limits limits;
  limits.max_fake_bytes = 10;
  const Package small = open(saved(with_fakes({{2}, {3}})), limits);
  EXPECT_EQ(small.payloads().value()->tensors()[0].missing, "fake tensor");
}

std::string refusal(const PackageContents& contents) {
  StringSink sink;
  const Result<void> done = save_package(contents, sink);
  return done ? "" : done.error().text();
}

TEST(SavePackage, SaysWhatItCannotSave) {
  EXPECT_EQ(refusal({}), "there is no program to save");
  const SavedProgram program{.json = any_program()};
  EXPECT_EQ(refusal({.era = Era::flat, .programs = {program, program}}),
            "several programs have no place in the layout of 2.1 to 2.7");
  EXPECT_EQ(refusal({.programs = {{.name = "a/b"}}}),
            "a/b: a program's name must be one part of a path");
  SavedProgram changed = program;
  changed.objects.push_back({"o", {make_record("x")}, true});
  EXPECT_EQ(refusal({.era = Era::pickled_payloads, .programs = {changed}}),
            "o: an opaque Python object cannot be kept in the one file that holds the tensors");
  changed.constants = torch_saved(counted({1}));
  EXPECT_EQ(refusal({.era = Era::flat, .programs = {changed}}),
            "o: constants that are one file already take no objects");
  changed = program;
  changed.state_dict = std::vector<SavedTensor>{{.name = "w"}};
  EXPECT_EQ(refusal({.programs = {changed}}), "w: the tensor has no elements");
  EXPECT_EQ(refusal({.era = Era::flat, .programs = {changed}}), "w: the tensor has no elements");
  const SavedTensor one{.name = "w", .tensor = counted({1})};
  changed.state_dict = std::vector<SavedTensor>{one, one};
  EXPECT_EQ(refusal({.programs = {changed}}), "w: two payloads have this name");
  PackageContents outside{.programs = {program}};
  outside.extra_files.push_back({"../x", {}});
  EXPECT_EQ(refusal(outside), "archive/extra/../x: the entry's name has a component '..'");
}

TEST(SavePackage, NamesTheRootFolderAsPyTorch) {
  EXPECT_EQ(root_folder("a/b/model.v2.pt2"), "model.v2");
  EXPECT_EQ(root_folder("model"), "model");
  EXPECT_EQ(root_folder("a.b/we ird.pt2"), "we ird");
  EXPECT_EQ(root_folder(".pt2"), "archive");
  EXPECT_EQ(root_folder("..pt2"), "archive");
}

}  // namespace
}  // namespace pt2
