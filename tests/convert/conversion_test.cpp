#include "pt2/conversion.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "convert/edited.h"
#include "convert/load_obstacles.h"
#include "package/corpus.h"
#include "pt2/format/pickle_write.h"
#include "pt2/format/schema_json.h"
#include "pt2/ir/canonicalize.h"

namespace pt2 {
namespace {

using test::opened;
using test::saved;
using test::saved_bytes;

Conversion converted(const Package& package, std::string_view target) {
  Result<Conversion> conversion = convert(package, {.target = conversion_target(target).value()});
  EXPECT_TRUE(conversion) << conversion.error().text();
  return *std::move(conversion);
}

std::string lines(const std::vector<Blocker>& blockers) {
  std::string out;
  for (const Blocker& blocker : blockers) out += blocker.line() + "\n";
  return out;
}

// Returns the canonical program as JSON, without the build tag ("+cpu") of torch_version.
std::string canonical(const Program& program) {
  Result<Program> canonical = canonicalize(program);
  EXPECT_TRUE(canonical) << canonical.error().text();
  std::string& version = canonical->torch_version;
  version = version.substr(0, version.find('+'));
  return program_json(*canonical);
}

std::string elements(const Tensor& tensor) {
  const Tensor packed = tensor.contiguous();
  return {reinterpret_cast<const char*>(packed.raw_data()), static_cast<size_t>(packed.nbytes())};
}

void expect_same_payloads(const Package& left, const Package& right, const std::string& model,
                          const std::string& other_model) {
  const auto ours = left.payloads(model), theirs = right.payloads(other_model);
  ASSERT_TRUE(ours) << ours.error().text();
  ASSERT_TRUE(theirs) << theirs.error().text();
  ASSERT_EQ((*ours)->tensors().size(), (*theirs)->tensors().size());
  std::map<size_t, size_t> groups;
  for (const PayloadTensor& each : (*ours)->tensors()) {
    SCOPED_TRACE(each.name);
    const PayloadTensor* found = (*theirs)->find(each.kind, each.name);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(each.missing, found->missing);
    if (!each.tensor.defined()) continue;
    EXPECT_EQ(each.tensor.type_text(), found->tensor.type_text());
    EXPECT_EQ(each.tensor.strides(), found->tensor.strides());
    EXPECT_EQ(each.tensor.storage_offset(), found->tensor.storage_offset());
    EXPECT_EQ(each.is_parameter, found->is_parameter);
    EXPECT_EQ(each.requires_grad, found->requires_grad);
    EXPECT_TRUE(elements(each.tensor) == elements(found->tensor));
    if (each.tensor.storage()->size() == 0) continue;
    EXPECT_EQ(groups.emplace(each.storage_group, found->storage_group).first->second,
              found->storage_group);
  }
}

// True for expected blockers: members of a torch.save file that have no raw bytes or are no
// tensors; torch.return_types, which have no registered name in some releases; named tuples,
// which 2.6 writes without their fields.
bool is_expected(const Blocker& blocker) {
  return blocker.kind == BlockerKind::tensor_form || blocker.kind == BlockerKind::object ||
         blocker.kind == BlockerKind::tree_class || blocker.kind == BlockerKind::result_class;
}

// True for files that PyTorch writes but cannot load, and that a round trip repairs: 2.7's
// math.trunc becomes torch.sym_int; regions of another gradient mode or of autocast, which 2.4 to
// 2.6 find only after an import, are their nodes; 2.3 writes constant results but does not read
// them.
bool comes_back_better(const corpus::File& file) {
  if (file.release == "2.3.1" &&
      (file.name == "pytree_none.pt2" || file.name == "custom_op_returns.pt2"))
    return true;
  return (file.release == "2.7.1" && file.name == "sym_float_arithmetic.pt2") ||
         file.name.starts_with("no_grad") || file.name.starts_with("autocast");
}

void expect_same(const Package& original, const Package& back) {
  ASSERT_EQ(back.models().size(), original.models().size());
  for (size_t i = 0; i < original.models().size(); ++i) {
    const std::string &model = original.models()[i], &again = back.models()[i];
    EXPECT_EQ(canonical(**original.program(model)), canonical(**back.program(again)));
    expect_same_payloads(original, back, model, again);
    const Archive &from = original.archive(), &to = back.archive();
    const std::string inputs = from.record_name(Role::sample_inputs, model);
    const bool has_inputs = from.find(inputs) != nullptr && from.find(inputs)->size > 0;
    if (!has_inputs) continue;
    const Result<Record> found = to.read(to.record_name(Role::sample_inputs, again));
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_TRUE(found->text() == from.read(inputs)->text());
  }
}

// Converts to `target` and back. False if the file cannot be converted to the target.
bool expect_round_trip(const corpus::File& file, std::string_view target) {
  const Package original = Package::open(file.path).value();
  const Conversion up = converted(original, target);
  if (!up.blockers.empty()) {
    EXPECT_TRUE(std::ranges::all_of(up.blockers, is_expected)) << lines(up.blockers);
    return false;
  }
  const Package newer = saved(up.contents);
  const Conversion down = converted(newer, file.release);
  if (!down.blockers.empty()) {
    EXPECT_TRUE(std::ranges::all_of(down.blockers, is_expected)) << lines(down.blockers);
    return false;
  }
  expect_same(original, saved(down.contents));
  return true;
}

class RoundTrip : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Convert, RoundTrip, testing::Values("2.6", "2.9", "newest"));

TEST_P(RoundTrip, UpAndBackIsTheSameProgram) {
  const Release* target = conversion_target(GetParam()).value().release;
  size_t round_trips = 0, blocked = 0;
  for (const corpus::File& file : corpus::files()) {
    SCOPED_TRACE(file.path);
    if (comes_back_better(file) || find_release(file.release)->number > target->number) continue;
    ++(expect_round_trip(file, GetParam()) ? round_trips : blocked);
  }
  std::printf("%zu round trips, %zu blocked\n", round_trips, blocked);
  EXPECT_GT(round_trips, 150u);
  EXPECT_LT(blocked * 20, round_trips);
}

TEST(Convert, OfAConvertedFileIsTheSameFile) {
  for (const corpus::File& file : corpus::files()) {
    const Package original = Package::open(file.path).value();
    for (const std::string_view target : {"2.3", "2.6", "2.8", "2.9", "2.12", "newest"}) {
      SCOPED_TRACE(file.path + " for " + std::string(target));
      const Conversion once = converted(original, target);
      if (!once.blockers.empty()) continue;
      const std::string bytes = saved_bytes(once.contents);
      const Conversion twice = converted(opened(bytes), target);
      ASSERT_EQ(lines(twice.blockers), "");
      EXPECT_TRUE(saved_bytes(twice.contents) == bytes);
    }
  }
}

// Programs that their own release saved but cannot load (interop/originals.json).
constexpr std::string_view kUnloadable[] = {"custom_op_returns", "no_grad_region", "pytree_none",
                                            "sym_float_arithmetic", "unbacked_split"};

// Programs that their release cannot load are repaired. All other programs keep their text.
TEST(Convert, WithoutATargetKeepsTheFilesRelease) {
  int mended = 0;
  for (const corpus::File& file : corpus::files()) {
    SCOPED_TRACE(file.path);
    const Package package = Package::open(file.path).value();
    const Conversion same = convert(package, {}).value();
    EXPECT_EQ(same.target.release, find_release(file.release));
    const std::string name = std::filesystem::path(file.name).stem();
    if (std::ranges::find(kUnloadable, name) != std::end(kUnloadable)) {
      mended += !same.rewritten.empty();
      continue;
    }
    EXPECT_EQ(lines(same.blockers), "");
    EXPECT_TRUE(same.rewritten.empty());
    for (const SavedProgram& program : same.contents.programs) {
      const Record record =
          package.archive().read(package.archive().program_record(program.name)).value();
      EXPECT_TRUE(program.json == record.text());
    }
  }
  EXPECT_GT(mended, 0);
}

Record record_of(std::string_view text) { return make_record(std::string(text)); }

// Returns the content of every record that convert does not interpret, by its name without the
// layout's folder.
std::map<std::string, std::string> foreign_records(const Package& package) {
  std::map<std::string, std::string> found;
  const Archive& archive = package.archive();
  for (const Entry& entry : archive.zip().entries()) {
    const RecordRole role = archive.role(entry);
    const std::string name(archive.relative_name(entry));
    if (role.role == Role::extra) {
      found["extra " + std::string(role.name)] = archive.read(name)->text();
    } else if (role.role == Role::aotinductor || role.role == Role::executorch ||
               role.role == Role::unknown) {
      found[name] = archive.read(name)->text();
    }
  }
  return found;
}

PackageContents with_foreign_records(const Package& package) {
  PackageContents contents = package_contents(package).value();
  contents.extra_files.push_back({"folder/note.txt", record_of("a note")});
  contents.extra_files.push_back({"empty", record_of("")});
  contents.other_records.push_back({"unknown/record.bin", record_of(std::string(70'000, '\1'))});
  return contents;
}

TEST(Convert, KeepsWhatItDoesNotUnderstand) {
  for (const std::string_view release : {"2.6.0", "2.8.0", "2.15.0"}) {
    const Package package =
        Package::open(fmt::format("{}/corpus/{}/mlp.pt2", PT2_TEST_DATA, release)).value();
    const Package original = saved(with_foreign_records(package));
    EXPECT_EQ(foreign_records(original).size(), 3u);
    for (const Release& target : releases()) {
      // Schema 2 has no field for the dialect of these programs.
      if (target.number == 201) continue;
      SCOPED_TRACE(fmt::format("{} for {}", release, target.torch_version));
      const Conversion conversion = converted(original, target.torch_version);
      ASSERT_EQ(lines(conversion.blockers), "");
      EXPECT_EQ(foreign_records(saved(conversion.contents)), foreign_records(original));
    }
  }
}

TEST(Convert, KeepsCompiledCodeWhereThereIsAPlaceForIt) {
  const Package package = Package::open(PT2_TEST_DATA "/corpus/2.15.0/mlp.pt2").value();
  PackageContents contents = with_foreign_records(package);
  contents.other_records.push_back({"data/aotinductor/model/code.so", record_of("code")});
  contents.other_records.push_back({"data/executorch/model.pte", record_of("program")});
  const Package original = saved(contents);
  for (const std::string_view target : {"2.8", "2.9", "2.15"}) {
    const Conversion conversion = converted(original, target);
    ASSERT_EQ(lines(conversion.blockers), "");
    EXPECT_EQ(foreign_records(saved(conversion.contents)), foreign_records(original));
  }
  EXPECT_EQ(lines(converted(original, "2.7").blockers),
            "record: data/aotinductor/model/code.so: compiled code; needs PyTorch 2.8 or later\n"
            "record: data/executorch/model.pte: compiled code; needs PyTorch 2.8 or later\n");
  const Conversion lossy =
      convert(original, {.target = conversion_target("2.7").value(), .losses = {"records"}})
          .value();
  EXPECT_EQ(lossy.lost.size(), 2u);
  EXPECT_EQ(foreign_records(saved(lossy.contents)),
            foreign_records(saved(with_foreign_records(package))));
}

// A record whose name has another meaning in the target layout blocks the conversion.
TEST(Convert, LetsNoRecordBecomeAnotherThing) {
  const Package flat = Package::open(PT2_TEST_DATA "/corpus/2.6.0/mlp.pt2").value();
  PackageContents contents = package_contents(flat).value();
  contents.other_records.push_back({"models/second.json", record_of("{}")});
  contents.other_records.push_back({"data/weights/weight_0", record_of("bytes")});
  EXPECT_EQ(lines(converted(saved(contents), "newest").blockers),
            "record: models/second.json: a record of role unknown, whose name means program in "
            "that release\n"
            "record: data/weights/weight_0: a record of role unknown, whose name means raw_weight "
            "in that release\n");
  const Package raw = Package::open(PT2_TEST_DATA "/corpus/2.15.0/mlp.pt2").value();
  contents = package_contents(raw).value();
  contents.other_records.push_back({"serialized_state_dict.json", record_of("{}")});
  EXPECT_EQ(lines(converted(saved(contents), "2.6").blockers),
            "record: serialized_state_dict.json: a record of role unknown, whose name means "
            "weights in that release\n");
}

// Since 2.9, custom and opaque objects are separate records.
TEST(Convert, KeepsObjectsOrNamesThem) {
  const Package package = Package::open(PT2_TEST_DATA "/corpus/2.15.0/mlp.pt2").value();
  PackageContents contents = package_contents(package).value();
  contents.programs[0].objects = {{"queue", {record_of("PK custom")}, false},
                                  {"config", {record_of("opaque")}, true}};
  const Package original = saved(contents);
  for (const std::string_view target : {"2.9", "2.12", "newest"}) {
    const Conversion conversion = converted(original, target);
    ASSERT_EQ(lines(conversion.blockers), "");
    const Package written = saved(conversion.contents);
    const std::vector<SavedObject> objects = package_contents(written).value().programs[0].objects;
    ASSERT_EQ(objects.size(), 2u);
    EXPECT_EQ(objects[0].name, "queue");
    EXPECT_EQ(objects[0].content.at(0).text(), "PK custom");
    EXPECT_FALSE(objects[0].is_opaque);
    EXPECT_EQ(objects[1].name, "config");
    EXPECT_EQ(objects[1].content.at(0).text(), "opaque");
    EXPECT_TRUE(objects[1].is_opaque);
  }
  for (const std::string_view target : {"2.6", "2.8"})
    EXPECT_EQ(lines(converted(original, target).blockers),
              "object: queue: a custom object: found no zip end record: not a zip file; needs "
              "PyTorch 2.9 or later\n"
              "object: config: a custom object: an opaque Python object cannot be kept in the one "
              "file that holds the tensors; needs PyTorch 2.9 or later\n");
}

// Sparse tensors and packed quantized layers are in one torch.save file up to 2.8, and in separate
// files since 2.9.
TEST(Convert, TakesSparseTensorsAndObjectsOutOfTheirFileAndBack) {
  const Package sparse = Package::open(PT2_TEST_DATA "/corpus/2.8.0/sparse_buffer.pt2").value();
  const Conversion up = converted(sparse, "newest");
  ASSERT_EQ(lines(up.blockers), "");
  const Package raised = saved(up.contents);
  const auto before = sparse.payloads().value(), after = raised.payloads().value();
  ASSERT_EQ(before->tensors().size(), after->tensors().size());
  const PayloadTensor& ours = before->tensors()[0];
  const PayloadTensor& theirs = after->tensors()[0];
  EXPECT_EQ(theirs.record, "data/weights/weight_0");
  EXPECT_EQ(theirs.missing, "layout torch.sparse_coo");
  ASSERT_EQ(theirs.parts.size(), 2u);
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(elements(ours.parts[i]) == elements(theirs.parts[i]));

  const Package packed = Package::open(PT2_TEST_DATA "/corpus/2.4.1/script_object.pt2").value();
  const Conversion taken_out = converted(packed, "newest");
  ASSERT_EQ(lines(taken_out.blockers), "");
  const Package apart = saved(taken_out.contents);
  const PayloadObject* object = apart.payloads().value()->find_object("packed");
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(object->record, "data/constants/custom_obj_0");
  EXPECT_EQ(object->type, "__torch__.torch.classes.quantized.LinearPackedParamsBase");
  const Package back = saved(converted(apart, "2.4").contents);
  ASSERT_NE(back.payloads().value()->find_object("packed"), nullptr);
  const auto constants = [](const Package& package) {
    return std::string(package.archive().read("serialized_constants.pt").value().text());
  };
  EXPECT_TRUE(constants(back) == constants(packed));
}

// TorchScript looks up the names in its pickles only among its own classes, so they are harmless.
// torch.load would import and call them.
TEST(Convert, LeavesFunctionsInTheStateOfAnObjectWhereNobodyCallsThem) {
  const Package package = Package::open(PT2_TEST_DATA "/corpus/2.15.0/mlp.pt2").value();
  PackageContents contents = package_contents(package).value();
  PickleBuilder builder;
  const PickleValue command = builder.string("true");
  const PickleValue state = builder.call("os.system", {&command, 1});
  const PickleValue root = builder.object("__torch__.Mine", state);
  StringSink sink;
  ASSERT_TRUE(write_torch_save(builder.finish(root), sink));
  contents.programs[0].objects = {{"mine", {record_of(sink.take())}, false}};
  EXPECT_EQ(lines(converted(saved(contents), "2.8").blockers),
            "object: mine: a custom object: the state of a custom object is not made of plain "
            "values; needs PyTorch 2.9 or later\n");
}

// A damaged payload must not be written as if it were intact.
TEST(Convert, RefusesDamagedTensors) {
  for (const std::string_view release : {"2.6.0", "2.8.0", "2.15.0"}) {
    const Package package =
        Package::open(fmt::format("{}/corpus/{}/mlp.pt2", PT2_TEST_DATA, release)).value();
    std::string bytes = saved_bytes(package_contents(package).value());
    const Tensor weight =
        (*package.payloads())->find(PayloadKind::weight, "fc1.weight")->tensor.contiguous();
    const size_t place = bytes.find({reinterpret_cast<const char*>(weight.raw_data()), 512});
    ASSERT_NE(place, bytes.npos);
    bytes[place + 100] ^= '\x01';
    const Package damaged = opened(bytes);
    for (const std::string_view target : {"2.6", "2.8", "newest"}) {
      SCOPED_TRACE(fmt::format("{} for {}", release, target));
      StringSink sink;
      const auto done = [&]() -> Result<void> {
        PT2_TRY(const Conversion conversion,
                convert(damaged, {.target = conversion_target(target).value()}));
        return save_package(conversion.contents, sink);
      }();
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code, ErrorCode::corrupt) << done.error().text();
    }
  }
}

TEST(ConversionTarget, IsAReleaseOrASchemaVersion) {
  EXPECT_EQ(conversion_target("torch-2.6").value().schema, 802);
  EXPECT_EQ(conversion_target("2.10").value().release->torch_version, "2.10.0");
  EXPECT_EQ(conversion_target("newest").value().release, &newest_release());
  EXPECT_EQ(conversion_target("schema 8.14").value().release, find_release("2.9"));
  EXPECT_EQ(conversion_target("schema 8.10").value().schema, 810);
  EXPECT_EQ(conversion_target("schema 8.20").value().release, &newest_release());
  EXPECT_EQ(conversion_target("2.16").error().text(),
            "there is no release '2.16'; expected torch-2.1 to torch-2.15, newest or oldest");
  EXPECT_EQ(conversion_target("schema 9.1").error().text(),
            "no release writes schema version 9.1, or a newer 9.x");
  EXPECT_EQ(conversion_target("schema x").error().text(),
            "found the schema version 'x', expected one such as 8.14");
}

TEST(Convert, RefusesALossThatNobodyKnows) {
  const std::string path = std::string(PT2_TEST_DATA) + "/corpus/2.15.0/mlp.pt2";
  const Package package = Package::open(path).value();
  EXPECT_EQ(convert(package, {.losses = {"weights"}}).error().text(),
            "found 'weights' among what may be lost, expected one of metadata, unknown-fields, "
            "return-types, small-sizes, guards, program-name, records");
}

// Long programs are checked in pieces. Here pieces are so small that any program has several.
TEST(LoadObstacles, AreThoseOfTheWholeProgram) {
  const auto text = [](const Package& package, size_t piece_bytes) {
    const auto obstacles = load_obstacles(package, piece_bytes);
    std::string out;
    for (const LoadObstacles& each : obstacles.value())
      out += release_name(*each.release) + "\n" + lines(each.blockers);
    return out;
  };
  size_t found = 0;
  for (const corpus::File& file : corpus::files()) {
    const auto package = Package::open(file.path);
    ASSERT_TRUE(package) << package.error().text();
    const std::string whole = text(*package, SIZE_MAX);
    EXPECT_EQ(text(*package, 64), whole) << file.path;
    found += whole.find(": %") != whole.npos;
  }
  EXPECT_GT(found, 50u);
}

}  // namespace
}  // namespace pt2
