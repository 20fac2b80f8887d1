#include "pt2/ir/guards.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>

#include "ir/program_texts.h"

namespace pt2 {
namespace {

// Returns the value of a guard's source. x has the sizes [6, 4] and is contiguous, y has [3, 4],
// xs[0] and table.bias have [5]; n is 3, flag is true, f is 2.5.
std::optional<Number> lookup(const GuardSource& source) {
  using Property = GuardSource::Property;
  const auto one_of = [&](std::vector<int64_t> values) -> std::optional<Number> {
    const auto dim = static_cast<size_t>(source.dim);
    return dim < values.size() ? std::optional<Number>(values[dim]) : std::nullopt;
  };
  if (source.property == Property::storage_offset) return int64_t{0};
  if (source.input == "x" && source.property == Property::size) return one_of({6, 4});
  if (source.input == "x" && source.property == Property::stride) return one_of({4, 1});
  if (source.input == "y" && source.property == Property::size) return one_of({3, 4});
  if (source.input == "xs[0]" || source.input == "table.bias") return one_of({5});
  if (source.input == "n") return int64_t{3};
  if (source.input == "flag") return true;
  if (source.input == "f") return 2.5;
  return std::nullopt;
}

struct GuardCase {
  const char* text;
  bool holds;
  const char* words;
};

TEST(Guards, HoldOrFailAndSayWhat) {
  const GuardCase kCases[] = {
      {"L['x'].size()[1] == L['y'].size()[1]", true, "size 1 of x must equal size 1 of y"},
      {"L['y'].size()[1] == 5", false, "size 1 of y must equal 5"},
      {"(2*L['y'].size()[0]) == L['x'].size()[0]", true, "2*(size 0 of y) must equal size 0 of x"},
      {"((-1) + L['y'].size()[0]) != L['x'].size()[0]", true,
       "-1 + (size 0 of y) must not equal size 0 of x"},
      {"1 + ((((-1)*L['x'].size()[0]) + 3*L['y'].size()[0]) // 2) >= 2", true,
       "1 + ((-(size 0 of x) + 3*(size 0 of y))//2) must be at least 2"},
      {"((L['x'].size()[0] // 4) + (L['y'].size()[0] % 3)) != 1", false,
       "((size 0 of x)//4) + PythonMod((size 0 of y), 3) must not equal 1"},
      {"L['xs'][0].size()[0] == L['table']['bias'].size()[0]", true,
       "size 0 of xs[0] must equal size 0 of table.bias"},
      {"L['n'] >= 0", true, "n must be at least 0"},
      {"L['n']*L['x'].size()[0] < 18", false, "n*(size 0 of x) must be less than 18"},
      {"L['x'].stride()[0] == L['x'].size()[1]", true, "stride 0 of x must equal size 1 of x"},
      {"L['x'].storage_offset() <= 0", true, "storage offset of x must be at most 0"},
      {"L['n'] > 2 and L['x'].size()[0] < 5 or L['flag']", true,
       "((n > 2) & ((size 0 of x) < 5)) | flag must hold"},
      {"not (L['n'] > 2)", false, "~(n > 2) must hold"},
      {"torch.sym_max(L['n'], torch.sym_min(4, 9)) == 4", true, "Max(n, Min(4, 9)) must equal 4"},
      {"math.ceil((L['n'] / 2)) == 2", true, "CeilToInt(IntTrueDiv(n, 2)) must equal 2"},
      {"math.floor((L['f'] / 2)) == 1", true, "FloorToInt(IntTrueDiv(f, 2)) must equal 1"},
      {"math.trunc(1.5*torch.sym_float(L['n'])) == 4", true,
       "TruncToInt(1.5*ToFloat(n)) must equal 4"},
      {"torch._sym_sqrt(16.0) < math.inf", true, "OpaqueUnaryFn_sqrt(16.0) must be less than oo"},
      {"round(L['f']) == 2 and round(2.675, 2) == 2.67", true,
       "Eq(RoundToInt(f), 2) & Eq(RoundDecimal(2.675, 2), 2.67) must hold"},
      {"(1 if L['flag'] else 0) == 1", true, "Where(flag, 1, 0) must equal 1"},
      {"(L['n'] & 1) == 1", true, "BitwiseFn_bitwise_and(n, 1) must equal 1"},
      {"2**L['n'] == 8", true, "2**n must equal 8"},
      {"(L['x'].size()[0] * 4 // 3 ** 1 << 1) == 16", true, nullptr},
  };
  for (const GuardCase& c : kCases) {
    ExprPool pool;
    const auto guard = parse_guard(pool, c.text);
    ASSERT_TRUE(guard) << c.text << ": " << guard.error().text();
    EXPECT_EQ(guard->text, c.text);
    if (c.words != nullptr) {
      EXPECT_EQ(print(*guard), c.words);
    }
    const auto holds = evaluate(*guard, lookup);
    ASSERT_TRUE(holds) << c.text << ": " << holds.error().text();
    EXPECT_EQ(*holds, c.holds) << c.text;
  }
}

TEST(Guards, SourcesAreNamedAsInputsAre) {
  ExprPool pool;
  const auto guard = parse_guard(
      pool, "L['a']['it is']['k'][2].b.size()[1] == L['a']['it is']['k'][2].b.size()[1]");
  ASSERT_TRUE(guard) << guard.error().text();
  ASSERT_EQ(guard->sources.size(), 1u);
  EXPECT_EQ(guard->sources[0].input, R"(a["it is"].k[2].b)");
  EXPECT_EQ(guard->sources[0].dim, 1);
  EXPECT_EQ(guard->sources[0].symbol->name, "L['a']['it is']['k'][2].b.size()[1]");
}

TEST(Guards, RefuseTheRestOfPython) {
  const std::pair<const char*, ErrorCode> kCases[] = {
      {"__import__('os').system('true')", ErrorCode::malformed},
      {"L['x'].numel() == 3", ErrorCode::unsupported},
      {"L[x] == 3", ErrorCode::malformed},
      {"L['x'].size() == 3", ErrorCode::malformed},
      {"L['x'].size()[-1] == 3", ErrorCode::malformed},
      {"L['x'].size()[99999999999999999999] == 3", ErrorCode::malformed},
      {"L['x", ErrorCode::malformed},
      {"1 < L['n'] < 3", ErrorCode::malformed},
      {"os.system(1)", ErrorCode::malformed},
      {"math.pi == 3", ErrorCode::malformed},
      {"[1][0] == 1", ErrorCode::malformed},
      {"lambda: 1", ErrorCode::malformed},
      {"1 if L['n']", ErrorCode::malformed},
      {"", ErrorCode::malformed},
  };
  for (const auto& [text, code] : kCases) {
    ExprPool pool;
    const auto guard = parse_guard(pool, text);
    ASSERT_FALSE(guard) << text;
    EXPECT_EQ(guard.error().code, code) << text << ": " << guard.error().text();
  }
  for (const std::string& text :
       {std::string(100'000, '('), "1" + std::string(50'000, ' ') + "if 1 else 1", [] {
          std::string nested;
          for (int i = 0; i < 10'000; ++i) nested += "1 if 1 else ";
          return nested + "1";
        }()}) {
    ExprPool pool;
    const auto guard = parse_guard(pool, text);
    if (!guard) {
      EXPECT_EQ(guard.error().code, ErrorCode::limit);
    }
  }
}

TEST(Guards, FailInWords) {
  ExprPool pool;
  const auto guard = parse_guard(pool, "L['x'].size()[0] == 2*L['y'].size()[1]");
  const auto checked = check_guard(*guard, lookup);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::argument);
  EXPECT_EQ(checked.error().message,
            "guard failed: size 0 of x must equal 2*(size 1 of y), but size 0 of x is 6, "
            "size 1 of y is 4");
  EXPECT_TRUE(check_guard(*parse_guard(pool, "L['n'] == 3"), lookup));
}

// Python raises ZeroDivisionError, and computes with integers of any size.
TEST(Guards, FailWherePythonRaises) {
  ExprPool pool;
  const auto divides =
      check_guard(*parse_guard(pool, "(L['x'].size()[0] % (L['n'] - 3)) == 2"), lookup);
  ASSERT_FALSE(divides);
  EXPECT_EQ(divides.error().code, ErrorCode::argument);
  EXPECT_EQ(
      divides.error().message,
      "guard failed: PythonMod((size 0 of x), n - 3) must equal 2, but size 0 of x is 6, n is "
      "3: division by zero");
  EXPECT_TRUE(check_guard(
      *parse_guard(pool, "L['n'] == 3 or L['x'].size()[0] // (L['n'] - 3) == 2"), lookup));
  const auto exceeds = check_guard(*parse_guard(pool, "2 ** (100*L['n']) < 70"), lookup);
  ASSERT_FALSE(exceeds);
  EXPECT_EQ(exceeds.error().code, ErrorCode::unsupported);
}

TEST(Guards, OfAnyLengthFailInAFewWords) {
  ExprPool pool;
  std::string text = "Max(L['n']";
  for (int i = 1; i < 200; ++i) text += fmt::format(", {}*L['n']", i);
  const auto guard = parse_guard(pool, text + ") == 3");
  ASSERT_TRUE(guard) << guard.error().text();
  const auto checked = check_guard(*guard, lookup);
  ASSERT_FALSE(checked);
  EXPECT_LT(checked.error().message.size(), 600u);
  EXPECT_NE(checked.error().message.find(" bytes), but n is 3"), std::string::npos)
      << checked.error().message;
}

// Reading and naming eight times as many sources takes about eight times as long.
TEST(Guards, OfManySourcesTakeLinearTime) {
  const auto seconds = [](int sources) {
    std::string text = "L['n0']";
    for (int i = 1; i < sources; ++i) text += fmt::format(" + L['n{}']", i);
    ExprPool pool;
    const std::clock_t start = std::clock();
    const auto guard = parse_guard(pool, text + " == 3");
    EXPECT_TRUE(guard) << guard.error().text();
    if (!guard) return 0.0;
    EXPECT_EQ(guard->sources.size(), static_cast<size_t>(sources));
    EXPECT_FALSE(print(*guard).empty());
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(seconds(16'000), 24 * seconds(2'000) + 0.05);
}

TEST(Guards, FailWithoutValues) {
  ExprPool pool;
  const auto missing = parse_guard(pool, "L['ghost'].size()[0] == 1");
  ASSERT_TRUE(missing);
  EXPECT_EQ(evaluate(*missing, lookup).error().message, "the call has no size 0 of ghost");
  const auto number = parse_guard(pool, "L['n'] + 1");
  ASSERT_TRUE(number);
  EXPECT_EQ(evaluate(*number, lookup).error().message, "the guard is not a condition");
}

// The program of forward(self, x, *args) has the inputs x, args_0 and args_1.
TEST(Guards, SpeakOfVariadicInputsByTheirPlace) {
  const std::vector<std::string> names = {"x", "args_0", "args_1", "table.bias"};
  const auto found = [&](const char* text) {
    ExprPool pool;
    const auto input = GuardNames(names).find(parse_guard(pool, text).value().sources.at(0));
    return input ? std::optional(input->input) : std::nullopt;
  };
  EXPECT_EQ(found("L['x'].size()[0] == 3"), 0u);
  EXPECT_EQ(found("L['args'][1].size()[0] == 3"), 2u);
  EXPECT_EQ(found("L['table']['bias'].size()[0] == 3"), 3u);
  EXPECT_EQ(found("L['args'][2].size()[0] == 3"), std::nullopt);
}

TEST(Guards, OfRealProgramsAreUnderstood) {
  size_t count = 0;
  for (const test::ProgramTexts& texts : test::corpus_texts()) {
    ExprPool pool;
    for (const std::string& text : texts.guards) {
      const auto guard = parse_guard(pool, text);
      ASSERT_TRUE(guard) << text << ": " << guard.error().text();
      EXPECT_FALSE(guard->sources.empty()) << text;
      EXPECT_NE(print(*guard).find(" must "), std::string::npos) << print(*guard);
      ++count;
    }
  }
  EXPECT_GT(count, 5u);
}

}  // namespace
}  // namespace pt2
