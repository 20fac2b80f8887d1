// Edits programs in memory.
#include "pt2/ir/edit_program.h"

#include <gtest/gtest.h>

#include <ctime>
#include <optional>

#include "change/corpus_files.h"
#include "pt2/ir/builder.h"
#include "pt2/ir/program_text.h"
#include "pt2/ops/verify_operators.h"
#include "pt2/verify.h"

namespace pt2 {
namespace {

using test::corpus, test::open;

Program program_of(const std::string& path) { return *open(path).program().value(); }

void expect_sound(const Program& program) {
  const Diagnostics findings =
      verify_program(program, "edited", Level::full, {.operators = check_operators});
  for (const Diagnostic& finding : findings.all())
    EXPECT_EQ(finding.severity(), Severity::warning) << finding.line();
}

std::string type_of(const Program& program, std::string_view value) {
  const GraphValue& found = program.graph.value(*program.graph.find_value(value));
  std::string out;
  for (const SymInt& size : found.tensor()->sizes) out += print(size) + " ";
  return out;
}

TEST(EditProgram, FixesAndFreesSizes) {
  Program program = program_of(corpus("2.15.0/dynamic_batch.pt2"));
  ASSERT_TRUE(fix_dim(program, "x", 0, 4).has_value());
  EXPECT_EQ(type_of(program, "linear_1"), "4 4 ");
  EXPECT_TRUE(program.range_constraints.empty());
  expect_sound(program);
  EXPECT_EQ(fix_dim(program, "x", 0, 5).error().code, ErrorCode::argument);
  EXPECT_EQ(free_dim(program, "x", 0, "pi", {1, 64}).error().code, ErrorCode::argument);
  ASSERT_TRUE(free_dim(program, "x", 0, "batch", {1, 64}).has_value());
  EXPECT_EQ(type_of(program, "linear_1"), "batch 4 ");
  expect_sound(program);
  // The weights fix the number of features.
  EXPECT_EQ(free_dim(program, "x", 1, "features", {1, 64}).error().code, ErrorCode::unsupported);
  EXPECT_EQ(type_of(program, "linear_1"), "batch 4 ");
  EXPECT_EQ(set_range(program, "x", 0, {0, 64}).error().code, ErrorCode::argument);
  EXPECT_TRUE(set_range(program, "x", 0, {2, 32}).has_value());
}

// The program was exported with 3 as the size.
TEST(EditProgram, KeepsHintsWithinANarrowerRange) {
  Program program = program_of(corpus("2.15.0/dynamic_batch.pt2"));
  ASSERT_TRUE(set_range(program, "x", 0, {20, 32}).has_value());
  for (const std::string_view name : {"x", "linear_1"}) {
    const GraphValue& value = program.graph.value(*program.graph.find_value(name));
    EXPECT_EQ(value.tensor()->sizes[0].hint(), 20) << name;
  }
  expect_sound(program);
}

// A size that holds both symbols is their product or their sum, and -1 stands for what a call
// computes of them. torch.export.load loads such programs, and they compute what the model does.
TEST(EditProgram, FreesASizeBesideOtherSymbols) {
  std::vector<Error> errors;
  Program program = parse_program(R"(program schema 8.20 {
  torch "2.15.0"
  dialect "TRAINING"
  opset aten 10
  symbol s0 = 2 (positive, integer)
  range s0 [2, 64]

  graph(
      %x: f32[s0, 7, 4]
  ) {
    %flat: f32[7*s0, 4] = aten.flatten.using_ints(self=%x, start_dim=0, end_dim=1)
    %column: f32[s0, 4] strides=[28, 1] = aten.select.int(self=%x, dim=1, index=0)
    %row: f32[7, 4] = aten.select.int(self=%x, dim=0, index=0)
    %both: f32[s0 + 7, 4] = aten.cat.default(tensors=[%column, %row])
    %n: SymInt[s0] = aten.sym_size.int(self=%x, dim=0)
    %lines: f32[s0, 28] = aten.view.default(self=%x, size=[%n, 28])
    %m: SymInt[7*s0] = _operator.mul(a=%n, b=7)
    %rows: f32[7*s0, 4] = aten.reshape.default(self=%x, shape=[%m, 4])
    return %flat, %both, %lines, %rows
  }

  call "" {
    in_spec '[1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": "builtins.tuple", "context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []}]}, {"type": "builtins.dict", "context": "[]", "children_spec": []}]}]'
    out_spec '[1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}]}]'
  }
}
)",
                                  "text", errors)
                        .value();
  ASSERT_TRUE(free_dim(program, "x", 1, "seq", {1, 64}).has_value());
  EXPECT_EQ(type_of(program, "flat"), "s0*seq 4 ");
  EXPECT_EQ(type_of(program, "both"), "s0 + seq 4 ");
  EXPECT_EQ(type_of(program, "lines"), "s0 4*seq ");
  EXPECT_EQ(type_of(program, "rows"), "s0*seq 4 ");
  expect_sound(program);
}

// 4, 2 and 3 heads of keys divide the 12 heads of the query, but the trial with 5 fails.
TEST(EditProgram, FreesOnlyWhatOperatorsTakeInTheWholeRange) {
  ProgramBuilder builder;
  const auto input = [&](const char* name, int64_t heads) {
    return builder.input(name, builder.tensor(Dtype::float32, {1, heads, 6, 8}));
  };
  const ValueId query = input("query", 12), key = input("key", 4);
  builder.output(builder.call(
      "torch.ops.aten.scaled_dot_product_attention.default",
      {arg("query", query), arg("key", key), arg("value", key), kwarg("enable_gqa", true)},
      builder.tensor(Dtype::float32, {1, 12, 6, 8})));
  const Program program = std::move(builder).finish().value();
  Program freed = program;
  const auto refused = free_dim(freed, "key", 1, "h", {1, 64});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().message.find("with h = 5: "), std::string::npos)
      << refused.error().message;
  // The refused edit left nothing behind: its name is still free.
  const auto done = free_dim(freed, "key", 1, "h", {1, 4});
  ASSERT_TRUE(done) << done.error().text();
  expect_sound(freed);
}

// x[:224] of 224 rows: the trials with 224, 2 and 3 rows give as many rows, but no more than 224.
TEST(EditProgram, FreesNoSizeBeyondTheEndOfASlice) {
  ProgramBuilder builder;
  const TensorMeta meta = builder.tensor(Dtype::float32, {224, 3});
  const ValueId x = builder.input("x", meta);
  builder.output(builder.call("torch.ops.aten.slice.Tensor",
                              {arg("self", x), arg("dim", 0), arg("start", 0), arg("end", 224)},
                              meta));
  const Program program = std::move(builder).finish().value();
  // An operator refuses no size of 2^40 rows because memory holds none.
  for (const std::optional<int64_t> high :
       {std::optional<int64_t>(), std::optional(int64_t{1} << 40)}) {
    Program freed = program;
    const auto refused = free_dim(freed, "x", 0, "n", {0, high});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
    EXPECT_NE(refused.error().message.find("with n = 256: "), std::string::npos)
        << refused.error().message;
  }
  Program freed = program;
  EXPECT_TRUE(free_dim(freed, "x", 0, "n", {0, 224}));
}

// expand accepts -1 only at the last place. Each trial costs time in proportion to the list, so the
// number of trials is bounded.
TEST(EditProgram, TriesOnlySoManyPlacesForAFreedSize) {
  const auto freed = [](size_t rank) {
    ProgramBuilder builder;
    const ValueId x = builder.input("x", builder.tensor(Dtype::float32, {1}));
    builder.output(builder.call("torch.ops.aten.expand.default",
                                {arg("self", x), arg("size", ints(Sizes(rank, 1)))},
                                builder.tensor(Dtype::float32, std::vector<SymInt>(rank, 1))));
    Program program = std::move(builder).finish().value();
    return free_dim(program, "x", 0, "n", {1, 64});
  };
  EXPECT_TRUE(freed(64));
  ASSERT_FALSE(freed(65));
  EXPECT_EQ(freed(65).error().code, ErrorCode::unsupported);
}

// A file may have fewer input specs than inputs.
TEST(EditProgram, CutsNothingOutOfAProgramWithoutSpecs) {
  Program program = program_of(corpus("2.15.0/mlp.pt2"));
  program.signature.input_specs.pop_back();
  const std::string relu = "relu";
  EXPECT_EQ(extract(program, {}, {&relu, 1}).error().code, ErrorCode::invalid);
  EXPECT_EQ(extract_module(program, "fc1").error().code, ErrorCode::invalid);
}

// The freed size of 0 must not be used as a divisor.
TEST(EditProgram, FreesASizeOfZero) {
  ProgramBuilder builder;
  const ValueId x = builder.input("x", builder.tensor(Dtype::float32, {0, 10}));
  builder.output(builder.call("torch.ops.aten.view.default",
                              {arg("self", x), arg("size", ints({10, 0}))},
                              builder.tensor(Dtype::float32, {10, 0})));
  Program program = std::move(builder).finish().value();
  const auto refused = free_dim(program, "x", 0, "n", {0, 10});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
}

// Each stride is the product of all later sizes: with many dimensions its expression is long.
TEST(EditProgram, BoundsTheStridesOfAFreedSize) {
  const auto freed = [](size_t rank) {
    ProgramBuilder builder;
    std::vector<SymInt> sizes{2};
    for (size_t i = 1; i < rank; ++i)
      sizes.push_back(builder.dim("s" + std::to_string(i), {1, 100}, 1));
    TensorMeta meta = builder.tensor(Dtype::float32, std::vector<SymInt>(rank, 1));
    meta.sizes = sizes;
    const ValueId x = builder.input("x", meta);
    builder.output(builder.call("torch.ops.aten.relu.default", {arg("self", x)}, meta));
    Program program = std::move(builder).finish().value();
    return free_dim(program, "x", 0, "n", {1, 64});
  };
  EXPECT_TRUE(freed(64));
  const auto refused = freed(2000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::limit);
}

// The time that a node takes grows with the expressions of its sizes, and any number of nodes may
// read one long size.
TEST(EditProgram, BoundsTheTimeOfLongSizes) {
  const auto freed = [](size_t nodes) {
    ProgramBuilder builder;
    const SymInt wide = builder.dim(std::string(20'000, 's'), {2, 64}, 3);
    const ValueId x = builder.input("x", builder.tensor(Dtype::float32, {1, wide}));
    ValueId sum = x;
    for (size_t i = 0; i < nodes; ++i)
      sum = builder.call("torch.ops.aten.sum.dim_IntList", {arg("self", x), arg("dim", ints({1}))},
                         builder.tensor(Dtype::float32, {1}));
    builder.output(sum);
    Program program = std::move(builder).finish().value();
    return free_dim(program, "x", 0, "n", {1, 64});
  };
  EXPECT_TRUE(freed(100));
  const auto refused = freed(2000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::limit);
}

// Dim.AUTO makes a constant of a size that the program does not let vary, and guards it.
TEST(EditProgram, FreesASizeOfItsOwnGuard) {
  Program program = program_of(corpus("2.15.0/mlp.pt2"));
  const std::string own = "L['x'].size()[0] == 2", other = "L['x'].size()[1] == 8",
                    wider = "L['x'].size()[0] <= 32";
  program.guards_code = {own, other, wider};
  ASSERT_TRUE(free_dim(program, "x", 0, "batch", {1, 64}).has_value());
  EXPECT_EQ(program.guards_code, (std::vector<std::string>{other, wider}));
  expect_sound(program);
}

// Neither batch can be freed alone: the product takes equal ones.
TEST(EditProgram, FreesSizesOfSeveralInputsTogether) {
  ProgramBuilder builder;
  const TensorMeta meta = builder.tensor(Dtype::float32, {2, 3});
  const ValueId x = builder.input("x", meta), y = builder.input("y", meta);
  builder.output(
      builder.call("torch.ops.aten.mul.Tensor", {arg("self", x), arg("other", y)}, meta));
  Program program = std::move(builder).finish().value();
  const Error alone = free_dim(program, "x", 0, "batch", {1, 64}).error();
  EXPECT_EQ(alone.code, ErrorCode::unsupported);
  EXPECT_TRUE(
      alone.message.ends_with("; other inputs have the size 2, too: "
                              "x.0,y.0=batch:LOW..HIGH makes one symbol of all"))
      << alone.message;
  const InputDim unequal[] = {{"x", 0}, {"y", 1}}, batches[] = {{"x", 0}, {"y", 0}};
  EXPECT_EQ(free_dims(program, unequal, "batch", {1, 64}).error().message,
            "size 1 of y is 3, expected 2, as the other sizes");
  ASSERT_TRUE(free_dims(program, batches, "batch", {1, 64}).has_value());
  for (const ValueId id : program.graph.values())
    EXPECT_EQ(type_of(program, program.graph.value(id).name), "batch 3 ");
  expect_sound(program);
  EXPECT_EQ(free_dims(program, batches, "rows", {1, 64}).error().message,
            "size 0 of x is batch, expected a fixed size");
}

// Eight times the inputs take about eight times as long, not 64 times: a decoder has a cache or two
// for each layer, and all have the same batch.
TEST(EditProgram, FreesSizesOfManyInputsInProportion) {
  const auto seconds = [](size_t count) {
    ProgramBuilder builder;
    const TensorMeta meta = builder.tensor(Dtype::float32, {2, 3});
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.push_back("x" + std::to_string(i));
    std::vector<InputDim> batches;
    for (const std::string& name : names) {
      const ValueId x = builder.input(name, meta);
      builder.output(builder.call("torch.ops.aten.relu.default", {arg("self", x)}, meta));
      batches.push_back({name, 0});
    }
    Program program = std::move(builder).finish().value();
    const std::clock_t start = std::clock();
    EXPECT_TRUE(free_dims(program, batches, "batch", {1, 64}).has_value());
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(seconds(4000), 24 * seconds(500) + 0.02);
}

// With a size that a guard excludes, no call would run.
TEST(EditProgram, SizesKeepTheGuards) {
  ProgramBuilder builder;
  const TensorMeta meta = builder.tensor(Dtype::float32, {builder.dim("s0", {2, 64}, 4), 3});
  const ValueId x = builder.input("x", meta);
  builder.output(builder.call("torch.ops.aten.relu.default", {arg("self", x)}, meta));
  Program program = std::move(builder).finish().value();
  program.guards_code = {"(L['x'].size()[0] % 2) == 0", "L['x'].size()[0] <= 32"};
  for (const int64_t size : {7, 34}) {
    const auto fixed = fix_dim(program, "x", 0, size);
    ASSERT_FALSE(fixed) << size;
    EXPECT_EQ(fixed.error().code, ErrorCode::argument);
    EXPECT_TRUE(fixed.error().message.starts_with("every call would break a guard: "))
        << fixed.error().message;
  }
  EXPECT_EQ(set_range(program, "x", 0, {33, 64}).error().code, ErrorCode::argument);
  EXPECT_TRUE(set_range(program, "x", 0, {3, 40}));
  EXPECT_TRUE(fix_dim(program, "x", 0, 8));
}

TEST(EditProgram, RenamesInputsAndOutputs) {
  Program program = program_of(corpus("2.15.0/mlp.pt2"));
  ASSERT_TRUE(rename_input(program, "x", "image").has_value());
  ASSERT_TRUE(rename_output(program, "0", "scores").has_value());
  EXPECT_EQ(user_input_names(program), std::vector<std::string>{"image"});
  EXPECT_TRUE(program.graph.find_value("scores").has_value());
  expect_sound(program);
  EXPECT_EQ(rename_input(program, "image", "a b").error().code, ErrorCode::argument);
  EXPECT_EQ(rename_input(program, "image", "scores").error().code, ErrorCode::argument);
  EXPECT_EQ(rename_input(program, "x", "y").error().code, ErrorCode::argument);
}

// PyTorch generates a function from the program. It has the arguments of forward, also those that
// are no values, and its code uses some names itself.
TEST(EditProgram, GivesNoNameThatAnArgumentOrGeneratedCodeHas) {
  Program constants = program_of(corpus("2.15.0/constant_inputs.pt2"));
  for (const char* name : {"i", "self", "torch", "pytree"}) {
    EXPECT_EQ(rename_input(constants, "x", name).error().code, ErrorCode::argument) << name;
    EXPECT_EQ(rename_output(constants, "add", name).error().code, ErrorCode::argument) << name;
  }
  Program program = program_of(corpus("2.15.0/odd_inputs.pt2"));
  for (ModuleCallEntry& entry : program.module_call_graph)
    if (entry.fqn.empty()) (*entry.signature->forward_arg_names)[1] = "other";
  EXPECT_EQ(rename_input(program, "scalar", "other").error().message,
            "the name 'other' is taken: an argument has it");
  EXPECT_TRUE(rename_input(program, "scalar", "one").has_value());
}

// Of a loss and of gradients callers know other names than the graph ("loss", "grad.w").
TEST(EditProgram, RenamesALossAndGradients) {
  for (const bool by_position : {false, true}) {
    ProgramBuilder builder;
    const TensorMeta vector = builder.tensor(Dtype::float32, {3});
    const ValueId w = builder.input("w", vector);
    builder.output(builder.call("torch.ops.aten.sum.default", {arg("self", w)},
                                builder.tensor(Dtype::float32, {})));
    builder.output(builder.call("torch.ops.aten.ones_like.default", {arg("self", w)}, vector));
    Program program = std::move(builder).finish().value();
    std::vector<OutputSpec>& specs = program.signature.output_specs;
    specs[0].kind = OutputKind::loss_output;
    specs[1].kind = OutputKind::gradient_to_user_input;
    specs[1].target = "w";
    EXPECT_EQ(graph_output_names(program), (std::vector<std::string>{"loss", "grad.w"}));
    ASSERT_TRUE(rename_output(program, by_position ? "0" : "loss", "total").has_value());
    ASSERT_TRUE(rename_output(program, by_position ? "1" : "grad.w", "slope").has_value());
    EXPECT_EQ(specs[0].arg.name, "total");
    EXPECT_EQ(specs[1].arg.name, "slope");
    EXPECT_EQ(rename_output(program, "2", "more").error().message,
              "there is no output '2'; the program returns: loss, grad.w");
  }
}

TEST(EditProgram, RenamesTheKeyOfAResult) {
  Program program = program_of(corpus("2.15.0/pytree_nested.pt2"));
  ASSERT_TRUE(rename_output(program, "sum", "scores").has_value());
  EXPECT_EQ(user_output_names(program)[0], "scores");
  expect_sound(program);
  EXPECT_EQ(rename_output(program, "scores", "list").error().code, ErrorCode::argument);
}

TEST(EditProgram, RenamesNoFieldOfAResult) {
  Program program = program_of(corpus("2.3.1/pytree_namedtuple.pt2"));
  EXPECT_EQ(rename_output(program, "left", "first").error().code, ErrorCode::unsupported);
}

TEST(EditProgram, RenamesNoPartOfAnInput) {
  Program program = program_of(corpus("2.15.0/pytree_nested.pt2"));
  EXPECT_EQ(rename_input(program, user_input_names(program)[0], "least").error().code,
            ErrorCode::unsupported);
}

TEST(EditProgram, ReturnsNoTruthValue) {
  Program program = program_of(corpus("2.8.0/dynamic_derived.pt2"));
  EXPECT_EQ(add_output(program, "eq").error().code, ErrorCode::unsupported);
  const std::vector<std::string> nothing, to{"eq"};
  EXPECT_EQ(extract(program, nothing, to).error().code, ErrorCode::unsupported);
}

TEST(EditProgram, SaysThatAValueIsInANestedGraph) {
  Program program = program_of(corpus("2.15.0/cond.pt2"));
  EXPECT_EQ(add_output(program, "cos").error().message,
            "value 'cos' is in a nested graph, expected one of the outer graph");
}

TEST(EditProgram, TakesAPartOut) {
  const Program whole = program_of(corpus("2.15.0/mlp.pt2"));
  Program head = whole;
  const std::vector<std::string> from{"x"}, middle{"relu"}, to{"linear_1"};
  ASSERT_TRUE(extract(head, from, middle).has_value());
  EXPECT_EQ(head.graph.nodes().size(), 2u);
  expect_sound(head);
  Program tail = whole;
  ASSERT_TRUE(extract(tail, middle, to).has_value());
  EXPECT_EQ(tail.graph.nodes().size(), 1u);
  EXPECT_EQ(user_input_names(tail), std::vector<std::string>{"relu"});
  expect_sound(tail);
  EXPECT_EQ(extract(tail, from, to).error().code, ErrorCode::argument);
}

TEST(EditProgram, ExposesValuesAndSetsArguments) {
  Program program = program_of(corpus("2.15.0/mlp.pt2"));
  ASSERT_TRUE(add_output(program, "%relu").has_value());
  EXPECT_EQ(program.signature.user_outputs().size(), 2u);
  expect_sound(program);
  EXPECT_EQ(add_output(program, "ghost").error().code, ErrorCode::argument);
  EXPECT_EQ(set_argument(program, "relu.self", "3").error().code, ErrorCode::argument);
  EXPECT_EQ(set_argument(program, "relu.ghost", "3").error().code, ErrorCode::argument);
  EXPECT_EQ(set_argument(program, "linear.ghost", "3").error().message,
            "the node has no argument 'ghost'; it has: input, weight, bias");
  EXPECT_EQ(set_argument(program, "x.self", "3").error().code, ErrorCode::argument);
  Program dropout = program_of(corpus("2.15.0/dropout_train.pt2"));
  NodeId with_p{};
  for (const NodeId id : dropout.graph.nodes())
    if (dropout.graph.node(id).find_input("p") != nullptr) with_p = id;
  const Node& found = dropout.graph.node(with_p);
  const std::string name =
      dropout.graph.value(*found.outputs[0].get_if<ValueId>()).name + std::string(".p");
  ASSERT_TRUE(set_argument(dropout, name, "0.25").has_value());
  EXPECT_EQ(*dropout.graph.node(with_p).find_input("p")->get_if<double>(), 0.25);
  // The node leaves alpha at its default of 1.
  Program sum = program_of(corpus("2.15.0/dim_auto.pt2"));
  ASSERT_TRUE(set_argument(sum, "add.alpha", "3").has_value());
  const NodeId add = sum.graph.value(*sum.graph.find_value("add")).definition.node;
  EXPECT_EQ(*sum.graph.node(add).find_input("alpha")->get_if<int64_t>(), 3);
  expect_sound(sum);
}

TEST(EditProgram, ExposesAfterWhatIsWritten) {
  Program program = program_of(corpus("2.15.0/buffer_mutation_functional.pt2"));
  auto& specs = program.signature.output_specs;
  ASSERT_EQ(specs.size(), 3u);
  specs.pop_back();
  const auto outputs = program.graph.outputs();
  program.graph.set_outputs({outputs[0], outputs[1]});
  program.module_call_graph[0].signature->out_spec = print_tree_spec(make_tuple_spec({}));
  ASSERT_TRUE(add_output(program, "mul").has_value());
  EXPECT_EQ(specs.back().kind, OutputKind::user_output);
  expect_sound(program);
}

TEST(EditProgram, TakesOutWhatAModuleComputes) {
  const Program whole = program_of(corpus("2.15.0/module_calls.pt2"));
  Program part = whole;
  ASSERT_TRUE(extract_module(part, "inner").has_value());
  EXPECT_EQ(part.graph.nodes().size(), 3u);
  EXPECT_EQ(user_input_names(part).size(), 1u);
  expect_sound(part);
  // A module that is called twice has one name for each call.
  for (const char* name : {"shared", "shared@1"}) {
    Program call = whole;
    ASSERT_TRUE(extract_module(call, name).has_value()) << name;
    EXPECT_EQ(call.graph.nodes().size(), 1u) << name;
    expect_sound(call);
  }
  for (const char* name : {"", "ghost", "inner.fc"})
    EXPECT_EQ(extract_module(part, name).error().code, ErrorCode::argument) << name;
}

// The nodes at the begin and the end of a vmap have no results, so no value depends on them.
TEST(EditProgram, TakesNoPieceOfAVmap) {
  Program program = program_of(corpus("2.15.0/vmap_forms.pt2"));
  std::vector<std::string> to;
  for (const NodeId id : program.graph.nodes())
    if (program.graph.node(id).target.ends_with("._remove_batch_dim"))
      for_each_value(program.graph.node(id).outputs[0],
                     [&](ValueId value) { to = {program.graph.value(value).name}; });
  ASSERT_FALSE(to.empty());
  EXPECT_EQ(extract(program, {}, to).error().code, ErrorCode::unsupported);
}

// A value that is overwritten later cannot become a result: at the end it has other elements.
TEST(EditProgram, ExposesNothingThatIsWrittenLater) {
  ProgramBuilder builder;
  const auto type = [&] { return builder.tensor(Dtype::float32, {2, 3}); };
  const ValueId x = builder.input("x", type());
  const ValueId copy = builder.call("torch.ops.aten.clone.default", {arg("self", x)}, type());
  const ValueId added =
      builder.call("torch.ops.aten.add.Tensor", {arg("self", x), arg("other", copy)}, type());
  builder.output(builder.call("torch.ops.aten.relu_.default", {arg("self", copy)}, type()));
  Program program = std::move(builder).finish().value();
  const auto name = [&](ValueId id) { return program.graph.value(id).name; };
  const auto refused = add_output(program, name(copy));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  const auto taken = add_output(program, name(added));
  EXPECT_TRUE(taken) << taken.error().text();
  const std::string before = print_program(program);
  const std::vector<std::string> names = {name(added), name(copy)};
  EXPECT_EQ(add_outputs(program, names).error().text(), refused.error().text());
  EXPECT_EQ(print_program(program), before);
}

TEST(EditProgram, ExposesSeveralValuesAsOneAfterTheOther) {
  Program program = program_of(corpus("2.15.0/mlp.pt2")), one_by_one = program;
  const std::vector<std::string> names = {"%linear", "relu", "relu", "x"};
  ASSERT_TRUE(add_outputs(program, names));
  for (const std::string& name : names) ASSERT_TRUE(add_output(one_by_one, name));
  EXPECT_EQ(print_program(program), print_program(one_by_one));
  expect_sound(program);
}

// Unknown operators have no signature: their present arguments decide which kinds are allowed.
TEST(EditProgram, KeepsTheKindsOfUnknownOperatorsArguments) {
  Program custom = program_of(corpus("2.15.0/custom_op.pt2"));
  ASSERT_TRUE(set_argument(custom, "scale_shift.a", "0.5").has_value());
  for (const char* text : {"\"abc\"", "[1, 2]", "none"})
    EXPECT_EQ(set_argument(custom, "scale_shift.a", text).error().code, ErrorCode::argument)
        << text;
  Program cond = program_of(corpus("2.15.0/cond.pt2"));
  EXPECT_EQ(set_argument(cond, "getitem.", "[1]").error().code, ErrorCode::argument);
}

TEST(EditProgram, SaysWhyAnInputOrARangeIsNoGood) {
  Program program = program_of(corpus("2.15.0/constant_inputs.pt2"));
  const auto constant = rename_input(program, "b", "c");
  EXPECT_NE(constant.error().message.find("is a constant"), std::string::npos);
  const auto empty = free_dim(program, "x", 0, "n", {9, 3});
  EXPECT_NE(empty.error().message.find("which is empty"), std::string::npos);
}

TEST(EditProgram, MovesToAnotherDevice) {
  Program program = program_of(corpus("2.15.0/mlp.pt2"));
  set_device(program, {"cuda", 0});
  EXPECT_EQ(program.graph.value(*program.graph.find_value("relu")).tensor()->device.type, "cuda");
}

// torch.export.passes.move_to_device_pass writes devices as text.
TEST(EditProgram, MovesWhatNamesItsDevice) {
  Program program = program_of(corpus("2.15.0/input_mutation_functional.pt2"));
  const NodeId arange = program.graph.value(*program.graph.find_value("arange")).definition.node;
  for (size_t i = 0; i < program.graph.node(arange).inputs.size(); ++i)
    if (program.graph.node(arange).inputs[i].name == "device")
      program.graph.set_node_input(arange, i, Argument(std::string("cpu")));
  set_device(program, {"cuda", 0});
  const Argument* moved = program.graph.node(arange).find_input("device");
  ASSERT_TRUE(moved->is<Device>());
  EXPECT_EQ(*moved->get_if<Device>(), (Device{"cuda", 0}));
}

// Other places for the freed size fit every trial, too. view(rows, [8, 5, 3, -1, 8]) would take the
// heads for the batch, and attend across the wrong rows.
TEST(EditProgram, FreesTheSizeThatAReshapeKeeps) {
  const auto freed = [](const Sizes& from, size_t dim, const Sizes& to, const Sizes& written) {
    ProgramBuilder builder;
    const auto meta = [&](const Sizes& sizes) {
      return builder.tensor(Dtype::float32, std::vector<SymInt>(sizes.begin(), sizes.end()));
    };
    const ValueId x = builder.input("x", meta(from));
    const ValueId y = builder.call("torch.ops.aten.reshape.default",
                                   {arg("self", x), arg("shape", ints(written))}, meta(to));
    builder.output(y);
    Program program = std::move(builder).finish().value();
    EXPECT_TRUE(free_dim(program, "x", dim, "n", {1, 64}).has_value());
    return type_of(program, program.graph.value(y).name);
  };
  EXPECT_EQ(freed({2, 4, 9}, 0, {8, 9}, {8, 9}), "4*n 9 ");
  EXPECT_EQ(freed({2, 3, 4}, 0, {2, 12}, {2, -1}), "n 12 ");
  EXPECT_EQ(freed({1, 3, 4}, 0, {1, 12}, {1, -1}), "n 12 ");
  EXPECT_EQ(freed({2, 20, 48}, 0, {8, 5, 3, 2, 8}, {8, 5, 3, 2, 8}), "4*n 5 3 2 8 ");
  // Attention with the sequence first: heads join the batch; later, the batch joins the sequence.
  EXPECT_EQ(freed({4, 1, 16}, 1, {4, 2, 8}, {4, 2, 8}), "4 2*n 8 ");
  EXPECT_EQ(freed({4, 1, 16}, 1, {4, 16}, {4, 16}), "4*n 16 ");
}

// Frees a size of %x in the graph that the text describes.
Program freed_graph(std::string_view graph, size_t dim) {
  std::vector<Error> errors;
  Program program = parse_program(
                        "program schema 8.20 {\n  torch \"2.15.0\"\n  dialect \"ATEN\"\n"
                        "  opset aten 10\n" +
                            std::string(graph) + "}\n",
                        "text", errors)
                        .value();
  EXPECT_TRUE(free_dim(program, "x", dim, "n", {1, 64}).has_value());
  return program;
}

// Where the batch equals the length of the sequence, only the reshape before tells which of the two
// sizes is the batch. To take the other mixes batches without a message.
TEST(EditProgram, FreesTheSizeThatAReshapeBeforeMerged) {
  constexpr std::string_view kLinear = R"(
  graph(%x: f32[4, 4, 8]) {
    %rows: f32[16, 8] = aten.view.default(self=%x, size=[16, 8])
    %relu: f32[16, 8] = aten.relu.default(self=%rows)
    %view: f32[4, 4, 8] = aten.view.default(self=%relu, size=[4, 4, 8])
    return %view
  }
)";
  EXPECT_EQ(type_of(freed_graph(kLinear, 0), "view"), "n 4 8 ");
  EXPECT_EQ(type_of(freed_graph(kLinear, 1), "view"), "4 n 8 ");
  constexpr std::string_view kWindows = R"(
  graph(%x: f32[1, 4, 4, 12]) {
    %windows: f32[4, 4, 12] = aten.view.default(self=%x, size=[-1, 4, 12])
    %heads: f32[4, 4, 3, 2, 2] = aten.view.default(self=%windows, size=[4, 4, 3, 2, 2])
    return %heads
  }
)";
  EXPECT_EQ(type_of(freed_graph(kWindows, 0), "heads"), "4*n 4 3 2 2 ");
  constexpr std::string_view kStack = R"(
  graph(%x: f32[2, 6]) {
    %cat: f32[4, 6] = aten.cat.default(tensors=[%x, %x])
    %stack: f32[2, 2, 6] = aten.view.default(self=%cat, size=[2, 2, 6])
    return %stack
  }
)";
  EXPECT_EQ(type_of(freed_graph(kStack, 0), "stack"), "2 n 6 ");
  constexpr std::string_view kRepeat = R"(
  graph(%x: f32[2, 6]) {
    %repeat: f32[4, 6] = aten.repeat.default(self=%x, repeats=[2, 1])
    %copies: f32[2, 2, 6] = aten.view.default(self=%repeat, size=[2, 2, 6])
    return %copies
  }
)";
  EXPECT_EQ(type_of(freed_graph(kRepeat, 0), "copies"), "2 n 6 ");
  constexpr std::string_view kUnflatten = R"(
  graph(%x: f32[4, 4, 8]) {
    %rows: f32[16, 8] = aten.flatten.using_ints(self=%x, start_dim=0, end_dim=1)
    %first: f32[4, 4, 8] = aten.unflatten.int(self=%rows, dim=0, sizes=[4, 4])
    %last: f32[4, 4, 8] = aten.unflatten.int(self=%rows, dim=-2, sizes=[-1, 4])
    return %first, %last
  }
)";
  EXPECT_EQ(type_of(freed_graph(kUnflatten, 1), "first"), "4 n 8 ");
  EXPECT_EQ(type_of(freed_graph(kUnflatten, 1), "last"), "4 n 8 ");
  EXPECT_EQ(type_of(freed_graph(kUnflatten, 0), "last"), "n 4 8 ");
}

// Both states need the batch, as their second size; the first counts layers.
TEST(EditProgram, FreesTheBatchOfRecurrentStates) {
  const Program program = freed_graph(R"(
  graph(%x: f32[5, 2, 3], %w: f32[16, 3], %u: f32[16, 4], %w1: f32[16, 4], %u1: f32[16, 4]) {
    %h: f32[2, 2, 4] = aten.zeros.default(size=[2, 2, 4], *, dtype=f32, device=device cpu)
    %c: f32[2, 2, 4] = aten.zeros.default(size=[2, 2, 4], *, dtype=f32, device=device cpu)
    %y: f32[5, 2, 4], %hn: f32[2, 2, 4], %cn: f32[2, 2, 4] = aten.lstm.input(input=%x, hx=[%h, %c], params=[%w, %u, %w1, %u1], has_biases=false, num_layers=2, dropout=0.0, train=false, bidirectional=false, batch_first=false)
    return %y
  }
)",
                                      1);
  for (const std::string_view state : {"h", "c", "hn", "cn"})
    EXPECT_EQ(type_of(program, state), "2 n 4 ");
  EXPECT_EQ(type_of(program, "y"), "5 n 4 ");
}

// As models repeat a class token, and positions, for each image of a batch.
TEST(EditProgram, FreesTheSizeOfTensorsMadeForABatch) {
  std::vector<Error> errors;
  Program program = parse_program(R"(program schema 8.20 {
  torch "2.15.0"
  dialect "TRAINING"
  opset aten 10

  graph(
      %x: f32[1, 5, 6]
  ) {
    %token: f32[1, 1, 6] = aten.zeros.default(size=[1, 1, 6], *, dtype=f32, device=device cpu)
    %row: f32[6] = aten.ones.default(size=[6], *, dtype=f32, device=device cpu)
    %expand: f32[1, 2, 6] = aten.expand.default(self=%row, size=[1, 2, 6])
    %twice: f32[1, 2, 6] = aten.mul.Tensor(self=%expand, other=2)
    %cat: f32[1, 8, 6] = aten.cat.default(tensors=[%token, %x, %twice], dim=1)
    return %cat
  }

  call "" {
    in_spec '[1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": "builtins.tuple", "context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []}]}, {"type": "builtins.dict", "context": "[]", "children_spec": []}]}]'
    out_spec '[1, {"type": null, "context": null, "children_spec": []}]'
  }
}
)",
                                  "text", errors)
                        .value();
  ASSERT_TRUE(free_dim(program, "x", 0, "n", {1, 64}).has_value());
  EXPECT_EQ(type_of(program, "token"), "n 1 6 ");
  EXPECT_EQ(type_of(program, "twice"), "n 2 6 ");
  EXPECT_EQ(type_of(program, "cat"), "n 8 6 ");
  expect_sound(program);
}

}  // namespace
}  // namespace pt2
