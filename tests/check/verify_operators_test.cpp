#include "pt2/ops/verify_operators.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>
#include <set>

#include "check/shapes/recorded_sizes.h"
#include "package/broken_programs.h"
#include "package/corpus.h"
#include "pt2/ir/builder.h"
#include "pt2/ir/program_text.h"
#include "pt2/verify.h"
#include "read_file.h"

namespace pt2 {
namespace {

const VerifyOptions kOptions{.operators = check_operators};

std::string lines(const Diagnostics& findings) {
  std::string text;
  for (const Diagnostic& finding : findings.all()) text += finding.line() + "\n";
  return text;
}

Program program_of(const std::string& text) {
  std::vector<Error> errors;
  Result<Program> program = parse_program(text, "text", errors);
  EXPECT_TRUE(program) << program.error().text();
  return program ? *std::move(program) : Program();
}

Diagnostics verify_text(const std::string& text) {
  return pt2::verify_program(program_of(text), "program", Level::full, kOptions);
}

Diagnostics verify_program(const test::BrokenProgram& program) {
  const std::string bytes = test::broken_file(program);
  return verify_bytes(std::as_bytes(std::span(bytes)), nullptr, program.name + ".pt2", Level::full,
                      kOptions);
}

TEST(VerifyOperators, RealFilesHaveNoFinding) {
  size_t files = 0;
  for (const corpus::File& file : corpus::files()) {
    const Diagnostics findings = verify(file.path, Level::full, kOptions);
    EXPECT_TRUE(findings.empty()) << lines(findings);
    ++files;
  }
  EXPECT_GT(files, 100u);
}

TEST(VerifyOperators, MalformedFilesGetTheirVerdict) {
  const std::string folder = std::string(PT2_TEST_DATA) + "/negative/";
  const JsonValue index = parse_json(test::read_file(folder + "index.json")).value();
  for (const JsonValue& item : index.find("cases")->items) {
    const std::string file = folder + item.find("file")->text;
    const Diagnostics findings = verify(file, Level::full, kOptions);
    EXPECT_FALSE(findings.empty()) << file;
    EXPECT_EQ(findings.has_errors(), item.find("expect")->text == "reject") << file << "\n"
                                                                            << lines(findings);
  }
}

// Each program of the table breaks its rule, and gives no error of another rule.
TEST(BrokenPrograms, EachBreaksItsRuleAndNoOther) {
  size_t programs = 0;
  for (const test::BrokenProgram& program : test::broken_programs()) {
    const Diagnostics findings = verify_program(program);
    if (program.rule.empty()) {
      EXPECT_TRUE(findings.empty()) << program.name << "\n" << lines(findings);
      continue;
    }
    std::set<std::string> errors, all;
    for (const Diagnostic& finding : findings.all()) {
      all.insert(rule_code(finding.rule));
      if (finding.severity() == Severity::error) errors.insert(rule_code(finding.rule));
    }
    errors.erase(program.rule);
    EXPECT_TRUE(all.contains(program.rule)) << program.name << "\n" << lines(findings);
    EXPECT_TRUE(errors.empty()) << program.name << "\n" << lines(findings);
    ++programs;
  }
  EXPECT_GE(programs, 120u);
}

TEST(BrokenPrograms, EachRuleOfSignatureGraphAndOperatorsIsBroken) {
  std::set<std::string> broken, names;
  for (const test::BrokenProgram& program : test::broken_programs()) {
    broken.insert(program.rule);
    EXPECT_TRUE(names.insert(program.name).second) << program.name;
  }
  for (const RuleInfo& info : rules()) {
    if (info.rule < Rule::signature_input_count) continue;
    EXPECT_TRUE(broken.contains(rule_code(info.rule))) << rule_code(info.rule);
  }
}

// torch.export's program of x[a.item() : b.item()]. The number of rows is a new symbol; everything
// else follows from the operator.
TEST(VerifyOperators, SizesThatNobodyKnowsMayBeSymbolsOfTheirOwn) {
  const auto findings_of = [](const std::string& slice, const std::string& sum) {
    const std::string text = R"(program schema 8.20 {
  torch "2.15.0"
  dialect "TRAINING"
  opset aten 10
  symbol s0 = 4 (positive, integer)
  symbol u0 (integer)
  symbol u1 (integer)
  symbol u2 (integer)
  range s0 [2, oo]
  range u0 [-oo, oo]
  range u1 [-oo, oo]
  range u2 [0, 8]

  graph(
      %x: f32[8, 3],
      %y: f32[s0, 3],
      %a: i64[],
      %b: i64[]
  ) {
    %item: SymInt[u0] = aten.item.default(self=%a)
    %item_1: SymInt[u1] = aten.item.default(self=%b)
    %slice_1: f32[)" + slice +
                             R"(] = aten.slice.Tensor(self=%x, dim=0, start=%item, end=%item_1)
    %add: f32[)" + sum + R"(] = aten.add.Tensor(self=%y, other=%y)
    return %slice_1, %add
  }
}
)";
    return lines(verify_text(text));
  };
  EXPECT_EQ(findings_of("u2, 3", "s0, 3").find("V609"), std::string::npos)
      << findings_of("u2, 3", "s0, 3");
  for (const char* slice : {"u2, 4", "u0, 3", "s0, 3", "u2 + 1, 3", "u2"})
    EXPECT_NE(findings_of(slice, "s0, 3").find("V609"), std::string::npos) << slice;
  EXPECT_NE(findings_of("u2, 3", "u2, 3").find("V609"), std::string::npos);
}

// A hint that the range of its symbol excludes is no example: no operator is refused because of it.
TEST(VerifyOperators, HintsOutsideOfTheirRangesAreNotComputedWith) {
  const std::string text = R"(program schema 8.20 {
  torch "2.15.0"
  dialect "TRAINING"
  opset aten 10
  symbol s0 = -9223372036854775808 (positive, integer)
  range s0 [2, oo]
  graph(%x: f32[s0, 3]) {
    %n: SymInt[s0] = aten.sym_size.int(self=%x, dim=0)
    %less: SymInt[s0 - 1] = _operator.add(a=%n, b=-1)
    %y: f32[s0 - 1, 3] = aten.slice.Tensor(self=%x, dim=0, start=0, end=%less)
    return %y
  }
}
)";
  EXPECT_EQ(lines(verify_text(text)).find("V607"), std::string::npos) << lines(verify_text(text));
  EXPECT_NE(lines(verify_text(text)).find("V530"), std::string::npos);
}

TEST(VerifyOperators, DtypesOfSparseTensorsAreCheckedToo) {
  const auto findings_of = [](const std::string& dtype) {
    const std::string text = R"(program schema 8.20 {
  torch "2.15.0"
  dialect "TRAINING"
  opset aten 10
  graph(%x: f64[3] layout=sparse_csc) {
    %y: )" + dtype + R"([3] layout=sparse_csc = aten.neg.default(self=%x)
    return %y
  }
}
)";
    return lines(verify_text(text));
  };
  EXPECT_EQ(findings_of("f64").find("%y"), std::string::npos) << findings_of("f64");
  EXPECT_NE(findings_of("f32").find("%y"), std::string::npos) << findings_of("f32");
}

// One size has a long expression. Eight times as many nodes that read it take about the same time,
// because it is computed once for all of them.
TEST(VerifyOperators, LongSizesAreComputedOnceForAllNodes) {
  const auto seconds = [](int nodes) {
    std::string text = R"(program schema 8.20 {
  torch "2.15.0"
  dialect "TRAINING"
  opset aten 10
  symbol s0 = 4 (positive, integer)
  range s0 [2, oo]

  graph(
      %x: f32[s0, 3]
  ) {
    %n: SymInt[s0)";
    for (int i = 1; i < 100'000; ++i) text += " + s0";
    text += "] = aten.sym_size.int(self=%x, dim=0)\n";
    for (int i = 0; i < nodes; ++i)
      text += "    %y" + std::to_string(i) + ": f32[s0, 3] = aten.add.Tensor(self=%x, other=%n)\n";
    const Program program = program_of(text + "    return %y0\n  }\n}\n");
    const std::clock_t start = std::clock();
    pt2::verify_program(program, "program", Level::full, kOptions);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(seconds(400), 4 * seconds(50));
}

TEST(RecordedSizes, TakeTimeInProportionToTheLengthsOfLists) {
  const auto seconds = [](int count) {
    std::string inputs, taken, made;
    for (int i = 0; i < count; ++i) {
      const std::string number = std::to_string(i), separator = i == 0 ? "" : ", ";
      inputs += separator + "%x" + number + ": f32[2]";
      taken += separator + "%x" + number;
      made += separator + "%y" + number + ": f32[2]";
    }
    const Program program = program_of(R"(program schema 8.20 {
  torch "2.15.0"
  dialect "TRAINING"
  opset aten 10

  graph()" + inputs + R"() {
    [)" + made + "] = aten._foreach_neg.default(self=[" +
                                       taken + R"(])
    return %y0
  }
}
)");
    const std::clock_t start = std::clock();
    EXPECT_TRUE(check::recorded_sizes_hold(program));
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(seconds(32'000), 24 * seconds(4'000) + 0.05);
}

// The findings of verify about one node in a graph with these inputs. The node must compute %a.
std::string findings_of_node(const std::string& inputs, const std::string& node) {
  const std::string text = R"(program schema 8.20 {
  torch "2.15.0"
  dialect "TRAINING"
  opset aten 10

  graph(
      )" + inputs + R"(
  ) {
    )" + node + R"(
    return %a
  }
}
)";
  return lines(verify_text(text));
}

// Some of these constants are beyond int64, some larger than any tensor.
TEST(VerifyOperators, ConstantSizesAreThoseOfTheOperator) {
  const auto findings_of = [](const std::string& sizes) {
    return findings_of_node("%x: f32[4, 3]", "%a: f32[" + sizes + "] = aten.neg.default(self=%x)");
  };
  for (const char* size : {"4", "\"2**2\"", "\"2 + 2\""})
    EXPECT_EQ(findings_of(std::string(size) + ", 3").find("V609"), std::string::npos)
        << findings_of(std::string(size) + ", 3");
  const std::string nines(400, '9');
  const std::vector<std::string> wrong = {"\"2**999\"", "4611686018427387904", "\"2 - 4\"",
                                          "\"2**" + nines + "\"", "\"" + nines + "\""};
  for (const std::string& size : wrong)
    EXPECT_NE(findings_of(size + ", 3").find("V609"), std::string::npos) << size;
  EXPECT_NE(
      findings_of("\"2**999\"").find("recorded with sizes [2**999], the operator gives [4, 3]"),
      std::string::npos)
      << findings_of("\"2**999\"");
}

// `decompose` drops a conversion to the recorded dtype, so a wrong record must be found.
TEST(VerifyOperators, ViewsInPlaceAreCheckedToo) {
  const std::pair<const char*, const char*> calls[] = {
      {"[2, 3]", "squeeze_.default(self=%x)"},
      {"[2, 3]", "squeeze_.dim(self=%x, dim=0)"},
      {"[2, 3]", "squeeze_.dims(self=%x, dim=[0, 1])"},
      {"[3, 2]", "t_.default(self=%x)"},
      {"[3, 2]", "transpose_.default(self=%x, dim0=0, dim1=1)"},
      {"[3, 2]", "swapaxes_.default(self=%x, axis0=0, axis1=1)"},
      {"[1, 2, 3]", "unsqueeze_.default(self=%x, dim=0)"},
      {"[3, 1]", "as_strided_.default(self=%x, size=[3, 1], stride=[2, 1])"},
  };
  for (const auto& [sizes, call] : calls) {
    const auto findings_of = [&, sizes = sizes, call = call](const char* dtype) {
      return findings_of_node("%x: f64[2, 3]",
                              fmt::format("%a: {}{} = aten.{}", dtype, sizes, call));
    };
    EXPECT_EQ(findings_of("f64").find("%a"), std::string::npos) << findings_of("f64");
    EXPECT_NE(findings_of("f32").find("%a"), std::string::npos) << call;
  }
}

// PyTorch omits the bag numbers (size 0) only if it sums dense rows. Recorded strides do not prove
// density, so both sizes are valid.
TEST(VerifyOperators, NumbersOfBagsMayBeThereOrNot) {
  const auto findings_of = [](const std::string& numbers) {
    return findings_of_node("%w: f32[5, 3] strides=[1, 5], %i: i64[4], %o: i64[2]",
                            "%a: f32[2, 3], %b: i64[" + numbers +
                                "], %c: i64[2], %d: i64[2] = aten._embedding_bag.default("
                                "weight=%w, indices=%i, offsets=%o)");
  };
  for (const char* numbers : {"4", "0"})
    EXPECT_EQ(findings_of(numbers).find("V609"), std::string::npos) << findings_of(numbers);
  EXPECT_NE(findings_of("3").find("V609"), std::string::npos);
}

// Three offsets of which the last ends the last bag. torch.export records two bag sizes where the
// weight requires a gradient and three elsewhere, but always two largest indices.
TEST(VerifyOperators, SizesOfBagsMayCountTheLastOffset) {
  const auto findings_of = [](const std::string& sizes, const std::string& largest) {
    return findings_of_node(
        "%w: f32[5, 3], %i: i64[4], %o: i64[3]",
        "%a: f32[2, 3], %b: i64[0], %c: i64[" + sizes + "], %d: i64[" + largest +
            "] = aten.embedding_bag.padding_idx(weight=%w, indices=%i, offsets=%o, "
            "scale_grad_by_freq=false, mode=0, sparse=false, per_sample_weights=none, "
            "include_last_offset=true, padding_idx=none)");
  };
  for (const char* sizes : {"2", "3"})
    EXPECT_EQ(findings_of(sizes, "2").find("V609"), std::string::npos) << findings_of(sizes, "2");
  EXPECT_NE(findings_of("1", "2").find("V609"), std::string::npos);
  EXPECT_NE(findings_of("4", "2").find("V609"), std::string::npos);
  EXPECT_NE(findings_of("2", "1").find("V609"), std::string::npos);
}

// torch.export's decomposition of a joint graph passes attention weights as `logsumexp`. Its
// gradients are wrong in PyTorch as well.
TEST(VerifyOperators, FindsWeightsWhereAttentionWantsTheirSums) {
  for (const bool gives_weights : {false, true}) {
    ProgramBuilder builder;
    const auto input = [&](const char* name, std::vector<SymInt> sizes) {
      return builder.input(name, builder.tensor(Dtype::float32, std::move(sizes)));
    };
    std::vector<NamedArgument> inputs;
    for (const char* name : {"grad_out", "query", "key", "value", "out"})
      inputs.push_back(arg(name, input(name, {1, 2, 4, 8})));
    std::vector<SymInt> sums = {1, 2, 4};
    if (gives_weights) sums.push_back(4);
    inputs.push_back(arg("logsumexp", input("logsumexp", std::move(sums))));
    inputs.push_back(arg("dropout_p", 0.0));
    inputs.push_back(arg("is_causal", false));
    const TensorMeta gradient = builder.tensor(Dtype::float32, {1, 2, 4, 8});
    const std::vector<ValueId> results = builder.call_many(
        "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default",
        std::move(inputs), {gradient, gradient, gradient});
    for (const ValueId result : results) builder.output(result);
    const Program program = std::move(builder).finish().value();
    const Diagnostics findings = pt2::verify_program(program, "program", Level::full, kOptions);
    EXPECT_EQ(lines(findings).find("it is given the weights of the attention") != std::string::npos,
              gives_weights)
        << lines(findings);
    EXPECT_EQ(findings.empty(), !gives_weights) << lines(findings);
  }
}

// torchaudio 2.11 returns the tensor that it writes; 2.10 and earlier return nothing.
TEST(VerifyOperators, PackagesMayGiveBackWhatTheyWrite) {
  for (const size_t results : {size_t{0}, size_t{1}, size_t{2}}) {
    ProgramBuilder builder;
    const auto input = [&](const char* name, std::vector<SymInt> sizes) {
      return builder.input(name, builder.tensor(Dtype::float32, std::move(sizes)));
    };
    std::vector<NamedArgument> inputs{arg("input_signal_windows", input("windows", {1, 2, 3})),
                                      arg("a_coeff_flipped", input("coefficients", {2, 2})),
                                      arg("padded_output_waveform", input("waveform", {1, 2, 4}))};
    const TensorMeta written = builder.tensor(Dtype::float32, {1, 2, 4});
    builder.call_many("torch.ops.torchaudio._lfilter_core_loop.default", std::move(inputs),
                      std::vector(results, written));
    builder.output(builder.call("torch.ops.aten.clone.default", {arg("self", input("x", {1}))},
                                builder.tensor(Dtype::float32, {1})));
    const Program program = std::move(builder).finish().value();
    const Diagnostics findings = pt2::verify_program(program, "program", Level::full, kOptions);
    EXPECT_EQ(findings.empty(), results < 2) << lines(findings);
  }
}

}  // namespace
}  // namespace pt2
