// Containers of schema 8.6 to 8.11. tests/scripts/make_containers.py makes them of real programs.
#include "pt2/format/container.h"

#include <gtest/gtest.h>

#include <cstring>

#include "pt2/format/schema_json.h"
#include "pt2/format/stored_json.h"
#include "pt2/package.h"
#include "read_file.h"

namespace pt2 {
namespace {

std::string container(const std::string& file) {
  return std::string(PT2_TEST_DATA) + "/containers/" + file;
}

std::string corpus(const std::string& file) {
  return std::string(PT2_TEST_DATA) + "/corpus/" + file;
}

std::vector<std::string> models(const Package& package) {
  return {package.models().begin(), package.models().end()};
}

std::string error_of(const std::string& json) {
  const Record record = make_record(json);
  const auto package = Package::open_bytes(record.bytes, record.owner, "c.json");
  return package ? "" : package.error().text();
}

TEST(Container, GivesItsProgramsByName) {
  const Package methods = Package::open(container("methods.pt2")).value();
  EXPECT_EQ(models(methods),
            (std::vector<std::string>{"forward", "lift", "ranges", "aotinductor-a100/forward"}));
  EXPECT_EQ(methods.model_name().value(), "forward");
  EXPECT_EQ((*methods.program("ranges"))->range_constraints.size(), 2u);
  EXPECT_EQ(methods.program("backward").error().text(),
            container("methods.pt2") +
                ": no program is called 'backward', the package holds: forward, lift, ranges, "
                "aotinductor-a100/forward");
  // This archive has two containers.
  const Package variants = Package::open(container("variants.pt2")).value();
  EXPECT_EQ(models(variants),
            (std::vector<std::string>{"local", "local/doubled", "other", "other/doubled"}));
  EXPECT_FALSE(variants.program());
}

TEST(Container, BareDocumentIsReadToo) {
  const Package package = Package::open(container("methods.json")).value();
  EXPECT_EQ(package.archive().era(), Era::document);
  EXPECT_EQ(package.models().size(), 4u);
  EXPECT_EQ(package.payloads("forward").error().text(),
            container("methods.json") +
                "!program.json:.tensorPaths['fc1.weight']: there is no record "
                "'data/tensor/fc1.weight'");
}

TEST(Container, AProgramWithoutModelIsReadToo) {
  Package whole = Package::open(container("methods.json")).value();
  const std::string json =
      schema::encode(std::get<schema::Model>(*whole.container("forward").value()).program_methods);
  const Record record = make_record(json);
  const Package package = Package::open_bytes(record.bytes, record.owner, "program.json").value();
  EXPECT_EQ(models(package), (std::vector<std::string>{"forward", "lift", "ranges"}));
  EXPECT_EQ(package.model_name().value(), "forward");
  EXPECT_TRUE(schema::equal(package.schema("ranges").value(), whole.schema("ranges").value()));
  EXPECT_EQ(stored_json(package, "", schema::Print::as_read).value(), json);
  EXPECT_EQ(error_of(R"({"methods": {"forward": {}}})"),
            "c.json!program.json:.methods.forward: ExportedProgram has no field \"graph_module\"");
  EXPECT_EQ(error_of(R"({"methods": {}})"),
            "c.json!program.json: found no program in the container, expected one or more");
}

TEST(Container, ComesBackByteForByte) {
  for (const char* file : {"methods.pt2", "variants.pt2", "methods.json"}) {
    const Package package = Package::open(container(file)).value();
    const std::string model = package.models()[0];
    const auto found = package.container(model).value();
    ASSERT_TRUE(found) << file;
    const Archive& archive = package.archive();
    const Record record = archive.read(archive.program_record(archive.models()[0])).value();
    EXPECT_TRUE(schema::encode(std::get<schema::Model>(*found)) == record.text()) << file;
  }
  const Package plain = Package::open(corpus("2.15.0/mlp.pt2")).value();
  EXPECT_FALSE(plain.container().value());
}

// Each member equals the program that it was made from.
TEST(Container, MembersAreTheProgramsPutIn) {
  const Package package = Package::open(container("methods.pt2")).value();
  const Package mlp = Package::open(corpus("2.7.1/mlp.pt2")).value();
  for (const char* name : {"forward", "aotinductor-a100/forward"})
    EXPECT_TRUE(schema::equal(package.schema(name).value(), mlp.schema().value())) << name;
}

bool same_elements(const Tensor& left, const Tensor& right) {
  return left.dtype() == right.dtype() && left.sizes() == right.sizes() &&
         std::memcmp(left.contiguous().raw_data(), right.contiguous().raw_data(),
                     static_cast<size_t>(left.nbytes())) == 0;
}

TEST(Container, BindsWeightsThroughItsPaths) {
  const Package package = Package::open(container("methods.pt2")).value();
  const auto expected = Package::open(corpus("2.7.1/mlp.pt2")).value().payloads().value();
  for (const char* name : {"forward", "aotinductor-a100/forward"}) {
    const auto payloads = package.payloads(name).value();
    EXPECT_EQ(payloads->tensors().size(), 4u);
    for (const PayloadTensor& tensor : expected->tensors()) {
      const PayloadTensor* found = payloads->find(PayloadKind::weight, tensor.name);
      ASSERT_NE(found, nullptr) << tensor.name;
      EXPECT_TRUE(same_elements(found->tensor, tensor.tensor)) << tensor.name;
      EXPECT_TRUE(found->is_parameter);
    }
  }
  const auto forward = package.payloads("forward").value();
  EXPECT_EQ(forward->find(PayloadKind::weight, "fc1.weight")->record, "data/tensor/fc1.weight");
  const auto constants = package.payloads("lift").value();
  ASSERT_EQ(constants->tensors().size(), 1u);
  EXPECT_EQ(constants->tensors()[0].kind, PayloadKind::constant);
}

TEST(Container, VariantsHavePathsOfTheirOwn) {
  const Package package = Package::open(container("variants.pt2")).value();
  const auto plain = package.payloads("local").value();
  const auto doubled = package.payloads("local/doubled").value();
  const auto first = [](const Payloads& payloads) {
    return payloads.find(PayloadKind::weight, "fc1.weight")->tensor.as<float>()[0];
  };
  EXPECT_EQ(2 * first(*plain), first(*doubled));
}

// Returns methods.json with one text replaced.
std::string edited(const std::string& from, const std::string& to) {
  std::string json = test::read_file(container("methods.json"));
  const size_t at = json.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) json.replace(at, from.size(), to);
  return json;
}

TEST(Container, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(error_of(edited("\"lift\": {", "\"forward\": {")),
            "c.json!program.json:.program.methods: the key \"forward\" occurs twice");
  EXPECT_EQ(error_of(edited("\"aotinductor-a100\": {\"methods\": {\"forward\"",
                            "\"\": {\"methods\": {\"forward\"")),
            "");
  EXPECT_EQ(error_of(edited("\"tensorPaths\"", "\"tensor_paths\"")),
            "c.json!program.json: Model has no field \"tensorPaths\"");
  EXPECT_EQ(error_of(edited("\"methods\": {\"forward\"", "\"methods\": {\"a100/forward\""))
                .find("program"),
            std::string::npos);
  EXPECT_EQ(error_of(R"({"name": "x", "program": 3})"),
            "c.json!program.json:.program: found 3, expected Program");
}

}  // namespace
}  // namespace pt2
