// What the readers of 2.1 to 2.6 do otherwise. Each test is of a file that the release refused.
#include <gtest/gtest.h>

#include "convert/edited.h"
#include "pt2/ir/edit.h"
#include "pt2/ir/program_text.h"

namespace pt2 {
namespace {

using test::blockers;
using test::corpus_file;
using test::edited;
using test::saved;

TEST(Convert, NamesConstantsThatTheReadersOf2_1And2_2DoNotTake) {
  for (const std::string_view target : {"2.1", "2.2"})
    EXPECT_NE(blockers("2.15.0/constant_inputs", target).find(": a constant;"), std::string::npos);
  EXPECT_EQ(blockers("2.15.0/constant_inputs", "2.3").find("input:"), std::string::npos);
  EXPECT_NE(blockers("2.15.0/constant_outputs", "2.1").find(": None;"), std::string::npos);
}

// torch.fx makes input_1 of the input `input`, and 2.2 to 2.4 refuse the program for that.
TEST(Convert, GivesInputsNamesThatTorchFxLeaves) {
  const Package package = edited("2.15.0/mlp", [](Program& program) {
    const auto rename = [&](std::string_view old_name, std::string name) {
      const ValueId id = program.graph.find_value(old_name).value();
      ASSERT_TRUE(rename_value(program, id, std::move(name)));
    };
    rename("x", "input");
    rename("linear", "input_1");
    rename("p_fc1_weight", "p_01");
    rename("p_fc1_bias", "p_1");
  });
  const auto names = [&](std::string_view target) {
    const Package converted =
        saved(convert(package, {.target = conversion_target(target).value()})->contents);
    const Program& program = **converted.program();
    std::vector<std::string> out;
    for (const InputSpec& spec : program.signature.input_specs) {
      EXPECT_TRUE(program.graph.find_value(spec.arg.name)) << spec.arg.name;
      out.push_back(spec.arg.name);
    }
    return out;
  };
  for (const std::string_view target : {"2.1", "2.5"})
    EXPECT_EQ(names(target),
              (std::vector<std::string>{"p_01", "p_1", "p_fc2_weight", "p_fc2_bias", "input"}));
  // 2.4 gives the input its name back, but `input_1` is taken from the value by then.
  EXPECT_EQ(names("2.4"),
            (std::vector<std::string>{"p_01", "p_1", "p_fc2_weight", "p_fc2_bias", "input_1_1"}));
  for (const std::string_view target : {"2.2", "2.3"})
    EXPECT_EQ(names(target), (std::vector<std::string>{"p_01_1", "p_1", "p_fc2_weight",
                                                       "p_fc2_bias", "input_1_1"}));
}

// PyTorch calls the constant `input` input_1. Then 2.4 calls the value of that name input_2, and
// later releases have two nodes of one name, also in files that they wrote themselves.
TEST(Convert, GivesConstantsNamesThatTorchFxLeaves) {
  const auto name = [](std::string value, std::string_view target) {
    const Package package = edited("2.15.0/mlp", [&](Program& program) {
      const ValueId last = *program.graph.outputs()[0].get_if<ValueId>();
      ASSERT_TRUE(rename_value(program, last, std::move(value)));
      std::vector<Argument> inputs(program.graph.inputs().begin(), program.graph.inputs().end());
      inputs.push_back(Argument(int64_t{3}));
      program.graph.set_inputs(std::move(inputs));
      program.signature.input_specs.push_back({.kind = InputKind::user_input,
                                               .arg = {.kind = ArgumentSpec::Kind::constant,
                                                       .name = "input",
                                                       .value = Argument(int64_t{3})}});
    });
    const Package converted =
        saved(convert(package, {.target = conversion_target(target).value()})->contents);
    return (*converted.program())->signature.input_specs.back().arg.name;
  };
  for (const std::string_view target : {"2.4", "2.6", "2.15"}) {
    EXPECT_EQ(name("input_1", target), "input_1_1");
    EXPECT_EQ(name("output_1", target), "input");
  }
}

// A process of 2.4 to 2.6 that only loads programs does not find the operator of such a region.
TEST(Convert, RegionsOfAnotherGradientModeAreNodesTo2_6) {
  const auto count = [](std::string_view target) {
    const Conversion conversion =
        convert(corpus_file("2.15.0/no_grad_region"), {.target = conversion_target(target).value()})
            .value();
    EXPECT_TRUE(conversion.blockers.empty()) << target;
    const Package converted = saved(conversion.contents);
    const Graph& graph = (*converted.program())->graph;
    return std::ranges::count_if(graph.nodes(), [&](NodeId id) {
      return graph.node(id).target.ends_with("wrap_with_set_grad_enabled");
    });
  };
  for (const std::string_view target : {"2.3", "2.4", "2.5", "2.6"}) EXPECT_EQ(count(target), 0);
  EXPECT_GT(count("2.7"), 0);
}

// Returns the corpus file with another program.
Package with_program(const std::string& file, std::string_view text) {
  return edited(file, [&](Program& program) {
    std::vector<Error> errors;
    program = parse_program(text, "text", errors).value();
  });
}

// To 2.5 sympy reads a//b as floor(a*b**-1), whose range the reader does not know: it fails with
// "Invalid ranges [0:-1]", and to 2.3 with a KeyError.
TEST(Convert, SizesDividedBySymbolsNeed2_6) {
  constexpr std::string_view kText = R"(program schema 8.20 {
  torch "2.15.0"
  dialect "TRAINING"
  opset aten 10
  symbol s77 = 6 (positive, integer)
  symbol s27 = 4 (positive, integer)
  range s77 [2, oo]
  range s27 [2, oo]

  graph(
      %x: f32[s77, s27] strides=[s27, 1]
  ) {
    %a: SymInt[s77] = aten.sym_size.int(self=%x, dim=0)
    %b: SymInt[s27] = aten.sym_size.int(self=%x, dim=1)
    %floordiv: SymInt[(s77//s27)] = _operator.floordiv(%a, %b)
    %r: f32[(s77//s27)] = aten.new_zeros.default(self=%x, size=[%floordiv], *, pin_memory=false)
    %half: SymInt[(s77//2)] = _operator.floordiv(%a, 2)
    %h: f32[(s77//2)] = aten.new_zeros.default(self=%x, size=[%half], *, pin_memory=false)
    return %r, %h
  }

  call "" {
    in_spec '[1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": "builtins.tuple", "context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []}]}, {"type": "builtins.dict", "context": "[]", "children_spec": []}]}]'
    out_spec '[1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []}, {"type": null, "context": null, "children_spec": []}]}]'
    forward_arg_names ["x"]
  }
}
)";
  const Package package = with_program("2.15.0/mlp", kText);
  for (const std::string_view target : {"2.2", "2.3", "2.4", "2.5"})
    EXPECT_EQ(blockers(package, target),
              "undecided_size: .graph_module.graph.tensor_values.r.sizes[0]: (s77//s27) divides by "
              "a symbol; needs PyTorch 2.6 or later\n")
        << target;
  EXPECT_EQ(blockers(package, "2.6"), "");
}

// A region of autocast in a file of 2.6 becomes nodes for 2.4. Neither schema has kinds of
// arguments, which the nodes of passes have.
TEST(Convert, RegionsOfAutocastAreNodesBetweenOldReleases) {
  constexpr std::string_view kText = R"(program schema 8.2 {
  torch "2.6.0"
  dialect "TRAINING"
  opset aten 10

  graph(
      %x: f32[2, 2]
  ) {
    [%getitem: bf16[2, 2]] = higher_order.wrap_with_autocast("cpu", bf16, true, none, graph submod_1(%y: f32[2, 2]) {
      %matmul: bf16[2, 2] = aten.matmul.default(self=%y, other=%y)
      return %matmul
    }, %x)
    return %getitem
  }

  call "" {
    in_spec '[1, {"type": "builtins.tuple", "context": "null", "children_spec": [{"type": "builtins.tuple", "context": "null", "children_spec": [{"type": null, "context": null, "children_spec": []}]}, {"type": "builtins.dict", "context": "[]", "children_spec": []}]}]'
    out_spec '[1, {"type": null, "context": null, "children_spec": []}]'
  }
}
)";
  const Package of_2_6 = with_program("2.6.0/mlp", kText);
  for (const std::string_view target : {"2.4", "2.5", "2.6", "2.7"})
    EXPECT_EQ(blockers(of_2_6, target), "") << target;
}

// torch.fx names the call of an operator that gives a number. 2.3 and 2.4 keep that name, and
// compare it with the signature's.
TEST(Convert, GivesNumbersOfOperatorsUnderTheirNames) {
  const Package package = edited("2.15.0/dynamic_range", [](Program& program) {
    Graph& graph = program.graph;
    const ValueId x = *graph.inputs().back().get_if<ValueId>();
    const ValueId rows = graph.add_value({.name = "rows", .meta = SymInt(int64_t{3})}).value();
    graph.add_node({.target = "torch.ops.aten.sym_size.int",
                    .inputs = {{.name = "self", .arg = Argument(x)},
                               {.name = "dim", .arg = Argument(int64_t{0})}},
                    .outputs = {Argument(rows)}});
    std::vector<Argument> outputs(graph.outputs().begin(), graph.outputs().end());
    outputs.emplace_back(rows);
    graph.set_outputs(std::move(outputs));
    program.signature.output_specs.push_back(
        {.arg = {.kind = ArgumentSpec::Kind::sym_int, .name = "rows"}});
  });
  const auto result = [&](std::string_view target) {
    const Package converted =
        saved(convert(package, {.target = conversion_target(target).value()})->contents);
    const Program& program = **converted.program();
    const GraphValue& value =
        program.graph.value(*program.graph.outputs().back().get_if<ValueId>());
    EXPECT_EQ(program.signature.output_specs.back().arg.name, value.name);
    return program.graph.node(value.definition.node).target;
  };
  for (const std::string_view target : {"2.3", "2.4"})
    EXPECT_EQ(result(target), "_operator.add") << target;
  for (const std::string_view target : {"2.2", "2.5"})
    EXPECT_EQ(result(target), "torch.ops.aten.sym_size.int") << target;
}

TEST(Convert, NamesNumbersAmongResultsThat2_2DoesNotTake) {
  EXPECT_NE(blockers("2.15.0/custom_op_returns", "2.2").find(": a number beside other results;"),
            std::string::npos);
  EXPECT_EQ(blockers("2.15.0/custom_op_returns", "2.3").find("output:"), std::string::npos);
  const Package package = edited("2.15.0/constant_outputs", [](Program& program) {
    std::vector<Argument> outputs(program.graph.outputs().begin(), program.graph.outputs().end());
    std::swap(outputs[0], outputs[1]);
    std::swap(program.signature.output_specs[0], program.signature.output_specs[1]);
    program.graph.set_outputs(std::move(outputs));
  });
  EXPECT_NE(blockers(package, "2.2").find(": a tensor behind a number;"), std::string::npos);
  EXPECT_EQ(blockers(package, "2.3").find(": a tensor behind a number;"), std::string::npos);
}

// 2.1 has registered neither of them (torch/utils/_pytree.py).
TEST(Convert, NamesContainersThat2_1HasNotRegistered) {
  const Package package = edited("2.15.0/pytree_nested", [](Program& program) {
    std::string& spec = program.module_call_graph[0].signature->out_spec;
    const size_t at = spec.find("builtins.list");
    ASSERT_NE(at, std::string::npos);
    spec.replace(at, std::string_view("builtins.list").size(), "collections.deque");
  });
  EXPECT_NE(blockers(package, "2.1").find(": collections.deque; needs PyTorch 2.2"),
            std::string::npos);
  EXPECT_EQ(blockers(package, "2.2").find("collections.deque"), std::string::npos);
}

// Strict export names the modules of self.layers[:2] by the slice. 2.2 splits at its commas.
TEST(Convert, LeavesPathsWithoutCommasTo22) {
  const Package package = edited("2.5.1/mlp", [](Program& program) {
    Graph& graph = program.graph;
    graph.set_node_metadata(graph.nodes().front(),
                            {{"nn_module_stack", "a,,M;b,fc.slice(0, 1, None).0,torch.nn.Linear"}});
  });
  const auto stack = [&](std::string_view target) {
    const Package converted =
        saved(convert(package, {.target = conversion_target(target).value()})->contents);
    const Graph& graph = (*converted.program())->graph;
    return *find_metadata(graph.node(graph.nodes().front()).metadata, "nn_module_stack");
  };
  EXPECT_EQ(stack("2.3"), "a,,M;b,fc.slice(0, 1, None).0,torch.nn.Linear");
  EXPECT_EQ(stack("2.2"), "a,,M;b,fc.slice(0 1 None).0,torch.nn.Linear");
  EXPECT_EQ(stack("2.1"), "a:(,M);b:(fc.slice(0, 1, None).0,torch.nn.Linear)");
}

}  // namespace
}  // namespace pt2
