// Checks inputs without kernels or elements. tests/tools/cases/check.txt has real programs.
#include "pt2/check_inputs.h"

#include <gtest/gtest.h>

#include <limits>

namespace pt2 {
namespace {

class CheckInputs : public testing::Test {
 protected:
  SymInt size(std::string_view text) {
    return {program_.expressions->parse(text).value(), std::nullopt};
  }

  void add_input(const std::string& name, std::vector<SymInt> sizes) {
    const TensorMeta meta{.dtype = {7}, .sizes = std::move(sizes)};
    const ValueId id = program_.graph.add_value({.name = name, .meta = meta}).value();
    program_.graph.add_input(Argument(id));
    program_.signature.input_specs.push_back(
        {.kind = InputKind::user_input, .arg = {.kind = ArgumentSpec::Kind::tensor, .name = name}});
  }

  void add_number(const std::string& name, SymInt number) {
    const ValueId id = program_.graph.add_value({.name = name, .meta = number}).value();
    program_.graph.add_input(Argument(id));
    program_.signature.input_specs.push_back(
        {.kind = InputKind::user_input,
         .arg = {.kind = ArgumentSpec::Kind::sym_int, .name = name}});
  }

  void add_constant(const std::string& name, Argument value) {
    program_.signature.input_specs.push_back(
        {.kind = InputKind::user_input,
         .arg = {.kind = ArgumentSpec::Kind::constant, .name = name, .value = std::move(value)}});
  }

  void add_range(std::string_view key, SymRange range) {
    program_.range_constraints.push_back({program_.expressions->parse(key).value(), range});
  }

  // Returns the solved symbols ("s = 3, t = 4") or the error.
  std::string check(const std::vector<Sizes>& inputs) {
    std::vector<InputShape> shapes;
    for (const Sizes& sizes : inputs)
      shapes.push_back(TensorShape{.dtype = Dtype::float32, .sizes = sizes, .strides = sizes});
    return verdict(shapes);
  }
  std::string check_values(const std::vector<Value>& inputs) {
    std::vector<InputShape> shapes;
    for (const Value& input : inputs) shapes.push_back(input_shape(input));
    return verdict(shapes);
  }
  std::string verdict(std::span<const InputShape> shapes) {
    const auto checked = InputConditions(program_).check(shapes);
    if (!checked) {
      EXPECT_EQ(checked.error().code, ErrorCode::argument);
      return checked.error().text();
    }
    std::string out;
    for (const auto& [symbol, value] : *checked)
      out += (out.empty() ? "" : ", ") + symbol + " = " + std::to_string(value);
    return out;
  }

  Program program_;
};

TEST_F(CheckInputs, NamesInputDimFoundExpectedAndWhoBoundTheSymbol) {
  add_input("x", {size("s0"), SymInt(3)});
  add_input("y", {size("s0 + 1"), size("s1")});
  add_range("s0", {2, 10});
  EXPECT_EQ(check({{4, 3}, {5, 7}}), "s0 = 4, s1 = 7");
  EXPECT_NE(check({{4, 5}, {5, 7}}).find("input 'x': dim 1 is 5, expected 3"), std::string::npos);
  EXPECT_NE(check({{4, 3}, {4, 7}})
                .find("input 'y': dim 0 is 4, expected s0 + 1 = 5 (s0 is input 'x' dim 0)"),
            std::string::npos)
      << check({{4, 3}, {4, 7}});
  EXPECT_NE(check({{11, 3}, {12, 7}}).find("s0 is 11, allowed is [2, 10] (s0 is input 'x' dim 0)"),
            std::string::npos)
      << check({{11, 3}, {12, 7}});
  EXPECT_NE(check({{4}, {5, 7}}).find("found f32[4], expected f32[s0 2..10, 3]"), std::string::npos)
      << check({{4}, {5, 7}});
}

// torch 2.15 runs a module exported with Dim.AUTO, range [2, int_oo], with 0, 1 and 2 rows.
TEST_F(CheckInputs, LetsSizesBeZeroAndOneWhereTracingAloneExcludedThem) {
  add_input("x", {size("s0"), size("s1")});
  add_range("s0", {2, 10});
  add_range("s1", {3, 10});
  EXPECT_EQ(check({{0, 3}}), "s0 = 0, s1 = 3");
  EXPECT_EQ(check({{1, 3}}), "s0 = 1, s1 = 3");
  EXPECT_NE(check({{2, 2}}).find("s1 is 2, allowed is [3, 10]"), std::string::npos);
  EXPECT_NE(check({{2, 0}}).find("s1 is 0, allowed is [3, 10]"), std::string::npos);
}

// torch 2.15 runs forward(x, n) = x * n, exported with n=Dim.AUTO, range [0, int_oo], with -5 too,
// and a size d + 2, 0 <= d <= 6, range [2, 8], with 0 rows.
TEST_F(CheckInputs, LetsNumbersBeNegativeWhereTracingAloneExcludedThem) {
  add_number("n", size("s0"));
  add_number("m", size("s1"));
  add_number("k", size("s2 + 2"));
  add_range("s0", {0, 10});
  add_range("s1", {3, 10});
  add_range("s2", {0, 6});
  const auto check = [&](int64_t n, int64_t m, int64_t k) {
    return check_values({Value(n), Value(m), Value(k)});
  };
  EXPECT_EQ(check(-5, 3, 0), "s0 = -5, s1 = 3, s2 = -2");
  EXPECT_EQ(check(INT64_MIN, 3, 2), "s0 = -9223372036854775808, s1 = 3, s2 = 0");
  EXPECT_NE(check(11, 3, 2).find("s0 is 11, allowed is [0, 10]"), std::string::npos);
  EXPECT_NE(check(0, 2, 2).find("s1 is 2, allowed is [3, 10]"), std::string::npos);
  EXPECT_NE(check(0, -3, 2).find("s1 is -3, allowed is [3, 10]"), std::string::npos);
  EXPECT_NE(check(0, 3, 9).find("s2 is 7, allowed is [0, 6]"), std::string::npos);
}

// torch 2.15 takes 1.0 and True for the constant 1, and NaN for NaN.
TEST_F(CheckInputs, ComparesConstantsAsPythonDoes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  add_constant("one", Argument(int64_t{1}));
  add_constant("flag", Argument(true));
  add_constant("half", Argument(0.5));
  add_constant("nan", Argument(nan));
  const auto check = [&](Value one, Value flag, Value half, Value not_a_number) {
    return check_values({one, flag, half, not_a_number});
  };
  const Value one(int64_t{1}), half(0.5);
  EXPECT_EQ(check(one, Value(true), half, Value(nan)), "");
  EXPECT_EQ(check(Value(1.0), one, half, Value(nan)), "");
  EXPECT_EQ(check(Value(true), Value(1.0), half, Value(nan)), "");
  EXPECT_NE(check(half, one, half, Value(nan)).find("input 'one': found float 0.5, expected int 1"),
            std::string::npos);
  EXPECT_NE(check(Value(nan), one, half, Value(nan)).find("input 'one'"), std::string::npos);
  EXPECT_NE(check(one, Value(false), half, Value(nan)).find("input 'flag'"), std::string::npos);
  EXPECT_NE(check(one, one, one, Value(nan)).find("input 'half'"), std::string::npos);
  EXPECT_NE(check(one, one, half, one).find("input 'nan': found int 1"), std::string::npos);
  EXPECT_NE(check(Value(), one, half, Value(nan)).find("input 'one'"), std::string::npos);
}

TEST_F(CheckInputs, ABoundLaterHoldsForWhatCameBefore) {
  add_input("x", {size("2*s0")});
  add_input("y", {size("s0")});
  EXPECT_EQ(check({{6}, {3}}), "s0 = 3");
  EXPECT_NE(check({{7}, {3}}).find("input 'x': dim 0 is 7, expected 2*s0 = 6"), std::string::npos);
}

TEST_F(CheckInputs, NeedsAsManyAsTheProgramTakes) {
  add_input("x", {SymInt(3)});
  add_input("y", {SymInt(3)});
  EXPECT_EQ(check({{3}}), "found 1 inputs, expected 2");
  EXPECT_EQ(check({{3}, {3}, {3}}), "found 3 inputs, expected 2");
}

// The error in torch 2.15: "Expected input at *args[0].shape[0] to be of the form 2*s0, where s0 is
// an integer".
TEST_F(CheckInputs, SolvesForASymbolThatNoInputGivesAlone) {
  add_input("x", {size("2*s0 + 1")});
  add_input("y", {size("3*s0")});
  add_range("s0", {2, 10});
  EXPECT_EQ(check({{7}, {9}}), "s0 = 3");
  EXPECT_NE(check({{8}, {9}}).find("dim 0 is 8, expected 2*s0 + 1 for some integer s0"),
            std::string::npos)
      << check({{8}, {9}});
  EXPECT_NE(check({{7}, {8}}).find("input 'y': dim 0 is 8, expected 3*s0 = 9"), std::string::npos);
  EXPECT_NE(check({{101}, {150}}).find("s0 is 50, allowed is [2, 10]"), std::string::npos);
}

// Solving 2^63 for s0 would exceed 64 bits.
TEST_F(CheckInputs, SolvesForNumbersOf64BitsOnly) {
  add_input("x", {size("s0 - 1")});
  EXPECT_EQ(check({{INT64_MAX}}), "");
  EXPECT_EQ(check({{INT64_MAX - 1}}), "s0 = 9223372036854775807");
}

// The value of a product, a remainder or a power does not determine its symbols.
TEST_F(CheckInputs, LeavesOpenWhatInputsDoNotTell) {
  add_input("x", {size("s0*s1"), size("Mod(s2, 8)"), size("s3**2")});
  EXPECT_EQ(check({{6, 100, 5}}), "");
}

TEST_F(CheckInputs, GuardsComeLast) {
  add_input("x", {size("s0")});
  add_input("y", {size("s1")});
  program_.guards_code = {"L['x'].size()[0] == L['y'].size()[0]", "not a guard("};
  EXPECT_EQ(check({{3}, {3}}), "s0 = 3, s1 = 3");
  EXPECT_NE(check({{3}, {4}}).find("size 0 of x must equal size 0 of y"), std::string::npos);
}

// torch 2.15 raises ZeroDivisionError in the guard of "x*2 if x.shape[0]//y.shape[0] == 2 else x".
// Its numbers are unbounded, so a guard that exceeds 64 bits here may hold there.
TEST_F(CheckInputs, RefusesGuardsThatHaveNoValue) {
  add_input("x", {size("s0")});
  add_input("y", {size("s1")});
  program_.guards_code = {"(L['x'].size()[0] // L['y'].size()[0]) == 2", "2**L['x'].size()[0] != 3",
                          "L['ghost'].size()[0] == 3"};
  EXPECT_EQ(check({{6}, {3}}), "s0 = 6, s1 = 3");
  EXPECT_EQ(check({{200}, {100}}), "s0 = 200, s1 = 100");
  EXPECT_NE(check({{6}, {0}})
                .find("((size 0 of x)//(size 0 of y)) must equal 2, but size 0 of x is "
                      "6, size 0 of y is 0: division by zero"),
            std::string::npos)
      << check({{6}, {0}});
}

// layouts() records x with the strides `recorded`, checks it with the given strides and sizes, and
// returns the strides that the program needs ("" if the given ones will do) or the error.
class CheckLayouts : public CheckInputs {
 protected:
  std::string layouts(std::vector<SymInt> recorded, const Sizes& strides,
                      const Sizes& sizes = {3, 4}) {
    add_input("x", {size("s0"), SymInt(4)});
    TensorMeta meta = *program_.graph.value(*program_.graph.find_value("x")).tensor();
    meta.strides = std::move(recorded);
    program_.graph.set_value_meta(*program_.graph.find_value("x"), meta);
    const std::vector<InputShape> shapes = {
        TensorShape{.dtype = Dtype::float32, .sizes = sizes, .strides = strides}};
    std::vector<InputLayout> found;
    const auto checked = InputConditions(program_).check(shapes, &found);
    if (!checked) return checked.error().text();
    std::string out;
    for (const InputLayout& layout : found)
      for (const int64_t stride : layout.strides) out += std::to_string(stride) + " ";
    return out;
  }
};

TEST_F(CheckLayouts, GuardsOnStridesAskForTheRecordedLayout) {
  program_.guards_code = {"L['x'].stride()[1] == L['x'].size()[0]"};
  EXPECT_EQ(layouts({SymInt(1), size("s0")}, {4, 1}), "1 3 ");
}

TEST_F(CheckLayouts, HaveAStrideForEachDimOfAnEmptyInput) {
  program_.guards_code = {"L['x'].stride()[1] == 2"};
  EXPECT_EQ(layouts({SymInt(1), SymInt(2)}, {4, 1}, {0, 4}), "1 2 ");
}

TEST_F(CheckLayouts, AreNoneWhereTheInputsOwnWillDo) {
  program_.guards_code = {"L['x'].stride()[1] == L['x'].size()[0]"};
  EXPECT_EQ(layouts({SymInt(4), SymInt(1)}, {1, 3}), "");
}

TEST_F(CheckLayouts, AreContiguousWhereTheRecordedOneDoesNotHelp) {
  program_.guards_code = {"L['x'].stride()[1] == 1", "L['x'].storage_offset() == 0"};
  EXPECT_EQ(layouts({SymInt(0), SymInt(0)}, {1, 3}), "4 1 ");
}

TEST_F(CheckLayouts, CannotMeetEveryGuard) {
  program_.guards_code = {"L['x'].stride()[1] == 7"};
  EXPECT_NE(layouts({SymInt(4), SymInt(1)}, {4, 1}).find("stride 1 of x"), std::string::npos);
}

}  // namespace
}  // namespace pt2
