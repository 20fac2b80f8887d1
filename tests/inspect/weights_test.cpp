// Expanded weights with huge numbers of elements, and integers that differ although they are equal
// as doubles.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "inspect/weight_diff.h"
#include "pt2/ir/program_text.h"
#include "pt2/tools/hash.h"
#include "pt2/tools/stats.h"

namespace pt2 {
namespace {

constexpr std::string_view kProgramWithTable = R"(program schema 8.20 {
  torch "2.15.0"
  dialect "TRAINING"
  opset aten 10

  graph(
      %c_table: i64[2] = buffer "table"
  ) {
    %add: i64[2] = aten.add.Tensor(self=%c_table, other=1)
    return %add
  }

  call "" {
    in_spec '[1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": "builtins.tuple", "context": "null", "children_spec": []}, {"type": "builtins.dict", "context": "[]", "children_spec": []}]}]'
    out_spec '[1, {"type": null, "context": null, "children_spec": []}]'
    forward_arg_names []
  }
}
)";

Program program() {
  std::vector<Error> errors;
  auto parsed = parse_program(kProgramWithTable, "test", errors);
  EXPECT_TRUE(parsed.has_value()) << (errors.empty() ? "" : errors[0].text());
  return *std::move(parsed);
}

Payloads payloads(Tensor tensor) {
  Payloads out;
  out.add({.kind = PayloadKind::weight, .name = "table", .tensor = std::move(tensor)});
  return out;
}

Payloads integers(int64_t a, int64_t b) {
  const int64_t values[] = {a, b};
  return payloads(Tensor::from<int64_t>(Dtype::int64, {2}, std::span<const int64_t>(values)));
}

// Returns a weight of 2^40 elements, which all are the same eight bytes.
Payloads repeated() {
  return payloads(Tensor::view_of(Storage::allocate(8), Dtype::int64, {1ll << 40}, {0}, 0).value());
}

// Returns an object whose state is a number and a tensor.
Payloads object(int64_t number, std::vector<int64_t> elements) {
  Tensor tensor = Tensor::from<int64_t>(Dtype::int64, {2}, std::span<const int64_t>(elements));
  Value::List state{Value(number), Value(std::move(tensor))};
  Payloads out;
  out.add({.name = "packed",
           .type = "__torch__.mine.Packed",
           .object = std::make_shared<const ScriptObject>(
               ScriptObject{"__torch__.mine.Packed", Value(std::move(state))})});
  return out;
}

TEST(Weights, ObjectsOfOtherStatesDiffer) {
  const auto lines = [](const Payloads& before, const Payloads& after) {
    std::vector<Change> changes;
    diff_weights({program(), before}, {program(), after}, false, changes);
    std::vector<std::string> out;
    for (const Change& change : changes) out.push_back(change.line());
    return out;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(lines(object(1, {2, 3}), object(1, {2, 3})), Texts{});
  EXPECT_EQ(lines(object(1, {2, 3}), object(2, {2, 3})),
            Texts{"~ weights of packed: another state"});
  EXPECT_EQ(lines(object(1, {2, 3}), object(1, {2, 4})),
            Texts{"~ weights of packed: another state"});
  EXPECT_EQ(lines(object(1, {2, 3}), Payloads()),
            Texts{"- weights of packed: __torch__.mine.Packed"});
}

TEST(Weights, IntegersThatAreOneDoubleDiffer) {
  std::vector<Change> changes;
  const int64_t large = (1ll << 53) + 1;
  diff_weights({program(), integers(1, large)}, {program(), integers(1, large - 1)}, false,
               changes);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].after, "table: 1 of 2 elements, by up to 1 of 9.01e+15");
  EXPECT_EQ(changes[0].weights, std::vector<std::string>{"table"});
}

TEST(Weights, OfMoreBytesThanTheFileAreNotRead) {
  const auto hash = hash_weights(program(), repeated());
  ASSERT_FALSE(hash.has_value());
  EXPECT_EQ(hash.error().code, ErrorCode::limit);
  EXPECT_EQ(hash.error().where, "table");

  std::vector<Change> changes;
  diff_weights({program(), repeated()}, {program(), repeated()}, false, changes);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].after, "table: not compared, of more bytes than the file holds");
}

TEST(Weights, RangesLeaveOutWhatIsNoNumber) {
  const float values[] = {1, -2, 0.5, std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity()};
  const TensorRange range =
      tensor_range(Tensor::from<float>(Dtype::float32, {5}, std::span<const float>(values)));
  EXPECT_EQ(range.count, 5);
  EXPECT_EQ(range.nans, 1);
  EXPECT_EQ(range.infinities, 1);
  EXPECT_EQ(range.min, -2);
  EXPECT_EQ(range.max, std::numeric_limits<double>::infinity());
  EXPECT_EQ(tensor_range(Tensor::without_elements(Dtype::float32, {2})).count, 0);
}

}  // namespace
}  // namespace pt2
