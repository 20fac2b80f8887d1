#include "pt2/conversion.h"

#include <gtest/gtest.h>

#include <map>

#include "package/corpus.h"
#include "pt2/canonicalize.h"
#include "pt2/schema_json.h"

namespace pt2 {
namespace {

std::string saved(const PackageContents& contents) {
  StringSink sink;
  const Result<void> done = save_package(contents, sink, "model");
  EXPECT_TRUE(done) << done.error().text();
  return sink.take();
}

Package open(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  Result<Package> opened =
      Package::open_bytes(std::as_bytes(std::span(*owner)), owner, "converted.pt2");
  EXPECT_TRUE(opened) << opened.error().text();
  return *std::move(opened);
}

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

// torch_version without what says how that PyTorch was built.
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

// What has no raw bytes, or is no tensor, within a torch.save file.
bool is_expected(const Blocker& blocker) {
  return blocker.kind == BlockerKind::tensor_form || blocker.kind == BlockerKind::object;
}

// What PyTorch writes and cannot load comes back without it: math.trunc of 2.7 is torch.sym_int
// then, a region without nodes is gone.
bool comes_back_better(const corpus::File& file) {
  return (file.release == "2.7.1" && file.name == "sym_float_arithmetic.pt2") ||
         file.name == "no_grad_region.pt2";
}

TEST(Convert, ToTheNewestAndBackIsTheSameProgram) {
  size_t round_trips = 0;
  for (const corpus::File& file : corpus::files()) {
    SCOPED_TRACE(file.path);
    if (comes_back_better(file)) continue;
    const Package original = Package::open(file.path).value();
    const Conversion up = converted(original, "newest");
    if (!up.blockers.empty()) {
      EXPECT_TRUE(std::ranges::all_of(up.blockers, is_expected)) << lines(up.blockers);
      continue;
    }
    const Package newest = open(saved(up.contents));
    const Conversion down = converted(newest, file.release);
    ASSERT_EQ(lines(down.blockers), "");
    const Package back = open(saved(down.contents));
    ASSERT_EQ(back.models().size(), original.models().size());
    for (size_t i = 0; i < original.models().size(); ++i) {
      const std::string &model = original.models()[i], &again = back.models()[i];
      EXPECT_EQ(canonical(**original.program(model)), canonical(**back.program(again)));
      expect_same_payloads(original, back, model, again);
    }
    ++round_trips;
  }
  EXPECT_GT(round_trips, 400u);
}

TEST(Convert, OfAConvertedFileIsTheSameFile) {
  for (const corpus::File& file : corpus::files()) {
    const Package original = Package::open(file.path).value();
    for (const std::string_view target : {"2.6", "2.8", "2.9", "newest"}) {
      SCOPED_TRACE(file.path + " for " + std::string(target));
      const Conversion once = converted(original, target);
      if (!once.blockers.empty()) continue;
      const std::string bytes = saved(once.contents);
      const Conversion twice = converted(open(bytes), target);
      ASSERT_EQ(lines(twice.blockers), "");
      EXPECT_TRUE(saved(twice.contents) == bytes);
    }
  }
}

TEST(Convert, WithoutATargetKeepsTheFilesRelease) {
  for (const corpus::File& file : corpus::files()) {
    SCOPED_TRACE(file.path);
    const Package package = Package::open(file.path).value();
    const Conversion same = convert(package, {}).value();
    EXPECT_EQ(same.target.release, find_release(file.release));
    EXPECT_EQ(lines(same.blockers), "");
    EXPECT_TRUE(same.rewritten.empty());
    for (const SavedProgram& program : same.contents.programs) {
      const Record record =
          package.archive().read(package.archive().program_record(program.name)).value();
      EXPECT_TRUE(program.json == record.text());
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
            "there is no release '2.16'; expected torch-2.1 to torch-2.15, or newest");
  EXPECT_EQ(conversion_target("schema 9.1").error().text(),
            "no release writes schema version 9.1, or a newer 9.x");
  EXPECT_EQ(conversion_target("schema x").error().text(),
            "found the schema version 'x', expected one such as 8.14");
}

TEST(Convert, RefusesALossThatNobodyKnows) {
  const std::string path = std::string(PT2_TEST_DATA) + "/corpus/2.15.0/mlp.pt2";
  const Package package = Package::open(path).value();
  EXPECT_EQ(convert(package, {.losses = {"weights"}}).error().text(),
            "there is no loss 'weights'; expected one of metadata, unknown-fields, guards, "
            "program-name, records");
}

}  // namespace
}  // namespace pt2
