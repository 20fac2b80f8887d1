// Conversions that replace nodes: libpt2 runs the converted programs and compares the recorded
// results. interop/convert_matrix.py checks all conversions with real PyTorch.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/mapped_file.h"
#include "convert/edited.h"
#include "convert/load_obstacles.h"
#include "corpus_operators.h"
#include "package/corpus.h"
#include "pt2/conversion.h"
#include "pt2/format/schema_json.h"
#include "pt2/ir/edit.h"
#include "pt2/model.h"
#include "pt2/tools/replay.h"

namespace pt2 {
namespace {

using test::blockers;
using test::corpus_file;
using test::edited;
using test::saved;

constexpr std::string_view kWithOtherNodes[] = {
    "complex_scalars",     "constant_results", "cpu_attention", "empty_regions",
    "functional_form",     "guards",           "jvp",           "map_operands",
    "metadata_assertions", "scan_operands",    "vmap"};

class ConvertedRun : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(test::add_corpus_operators(operators_)); }

  void expect_recorded_results(Package package, const std::string& path) {
    const auto model = Model::from_package(std::make_shared<const Package>(std::move(package)),
                                           {.operators = operators_});
    ASSERT_TRUE(model) << model.error().text();
    std::filesystem::path recorded = path;
    recorded.replace_extension(".safetensors");
    const auto file = MappedFile::open(recorded.string()).value();
    const auto calls = read_recorded_calls(read_safetensors({file->bytes(), file}).value()).value();
    Session session(*model);
    for (const RecordedCall& call : calls.calls)
      for (const std::string& difference : replay(session, call).differences)
        ADD_FAILURE() << difference;
  }

  CustomOperators operators_;
};

TEST_F(ConvertedRun, GivesTheRecordedResults) {
  std::map<std::string_view, int> runs;
  for (const corpus::File& file : corpus::files()) {
    const Package original = Package::open(file.path).value();
    for (const std::string_view target : {"2.2", "2.6", "2.8", "2.15"}) {
      SCOPED_TRACE(file.path + " for " + std::string(target));
      const Conversion conversion =
          convert(original, {.target = conversion_target(target).value()}).value();
      if (!conversion.blockers.empty()) continue;
      const auto is_of_interest = [&](std::string_view name) {
        return std::ranges::find(conversion.rewritten, name) != conversion.rewritten.end();
      };
      if (std::ranges::none_of(kWithOtherNodes, is_of_interest)) continue;
      expect_recorded_results(saved(conversion.contents), file.path);
      for (const std::string_view name : kWithOtherNodes) runs[name] += is_of_interest(name);
    }
  }
  for (const std::string_view name : kWithOtherNodes) EXPECT_GT(runs[name], 0) << name;
}

TEST(Convert, NamesSymbolicInputsBefore2_7) {
  EXPECT_EQ(
      blockers("2.8.0/symint_io", "2.6"),
      "input: .graph_module.graph.inputs[1]: the symbolic number n; needs PyTorch 2.7 or later\n"
      "input: .graph_module.graph.inputs[2]: the symbolic number k; needs PyTorch 2.7 or later\n");
  EXPECT_EQ(blockers("2.8.0/symint_io", "2.7"), "");
}

TEST(Convert, LeavesTheDialectToTheReaderOf2_1) { EXPECT_EQ(blockers("2.15.0/mlp", "2.1"), ""); }

TEST(Convert, NamesSmallSizesBefore2_4) {
  EXPECT_EQ(blockers("2.15.0/dynamic_batch", "2.3"),
            "small_size: .range_constraints.s77: the range of s77 has sizes below 2; needs PyTorch "
            "2.4 or later\n");
  EXPECT_EQ(blockers("2.15.0/dynamic_batch", "2.4"), "");
  EXPECT_EQ(blockers("2.15.0/dynamic_range", "2.3"), "");
}

TEST(Convert, ClampsAnOpenRangeOfTheLargestSize) {
  const Package source = edited("2.15.0/dynamic_batch", [](Program& program) {
    for (RangeConstraint& constraint : program.range_constraints)
      constraint.range = {.min = INT64_MAX, .max = std::nullopt};
  });
  const Conversion conversion =
      convert(source, {.target = conversion_target("2.4").value()}).value();
  const Package converted = saved(conversion.contents);
  EXPECT_EQ((*converted.program())->range_constraints[0].range,
            (SymRange{.min = INT64_MAX, .max = INT64_MAX}));
}

NodeId find_node(const Graph& graph, std::string_view target) {
  for (const NodeId id : graph.nodes())
    if (graph.node(id).target == target) return id;
  ADD_FAILURE() << target;
  return {};
}

size_t count_nodes(const Graph& graph, std::string_view target) {
  size_t count = 0;
  for (const NodeId id : graph.nodes()) count += graph.node(id).target == target;
  for (const Graph& nested : graph.subgraphs()) count += count_nodes(nested, target);
  return count;
}

constexpr std::string_view kBegin = "torch._functorch.predispatch._vmap_increment_nesting";

// The region computes y = x.sin() for each x of the batch.
TEST(Convert, NamesWhatKeepsVmapRegions) {
  const auto with_randomness = [](std::string_view randomness, std::string_view target) {
    return edited("2.15.0/vmap_forms", [&](Program& program) {
      Graph& graph = program.graph;
      const NodeId sine = find_node(graph, "torch.ops.aten.sin.default");
      graph.set_node_target(sine, std::string(target));
      for (const NodeId id : graph.nodes())
        if (graph.node(id).target == kBegin)
          graph.set_node_input(id, 1, Argument(std::string(randomness)));
    });
  };
  const std::string uniform = "torch.ops.aten.rand_like.default";
  const std::string dirichlet = "torch.ops.aten._sample_dirichlet.default";
  EXPECT_EQ(blockers(with_randomness("different", uniform), "2.8"), "");
  EXPECT_EQ(blockers(with_randomness("different", dirichlet), "2.8"),
            "function: %_vmap_increment_nesting_2 "
            "(torch._functorch.predispatch._vmap_increment_nesting): a vmap region with "
            "torch.ops.aten._sample_dirichlet.default, whose random numbers are drawn for all "
            "elements at "
            "once; needs PyTorch 2.13 or later\n");
  EXPECT_EQ(blockers(with_randomness("different", "torch.ops.aten.cos.default"), "2.8"), "");
  // With randomness="same" there must not be a draw for each element.
  EXPECT_NE(blockers(with_randomness("same", uniform), "2.8"), "");
  // With randomness="different" one call draws for all three elements of the batch.
  const Conversion conversion =
      convert(with_randomness("different", uniform), {.target = conversion_target("2.8").value()})
          .value();
  const Package written = saved(conversion.contents);
  const Graph& graph = (*written.program())->graph;
  EXPECT_EQ(count_nodes(graph, uniform), 1u);
  const Node& drawn = graph.node(find_node(graph, uniform));
  EXPECT_EQ(graph.value(*drawn.outputs[0].get_if<ValueId>()).tensor()->sizes[0].literal(), 3);
}

TEST(Convert, NamesVmapRegionsThatPyTorchDoesNotWrite) {
  const auto ends_with_result = edited("2.15.0/vmap_forms", [&](Program& program) {
    const NodeId remove =
        find_node(program.graph, "torch._functorch.predispatch._remove_batch_dim");
    program.graph.set_node_target(remove, "torch._functorch.predispatch._vmap_decrement_nesting");
  });
  EXPECT_NE(blockers(ends_with_result, "2.8")
                .find("a vmap region whose torch._functorch.predispatch._vmap_decrement_nesting "
                      "has a result"),
            std::string::npos);
}

TEST(Convert, ReadsVmapRegionsToADepth) {
  const auto within = [](size_t depth) {
    return edited("2.15.0/vmap_forms", [&](Program& program) {
      Graph& graph = program.graph;
      const Node begin = graph.node(find_node(graph, kBegin));
      const NodeId first = *graph.nodes().begin();
      for (size_t i = 0; i < depth; ++i)
        graph.insert_node({.target = begin.target, .inputs = begin.inputs}, first);
      for (size_t i = 0; i < depth; ++i)
        graph.insert_node({.target = "torch._functorch.predispatch._vmap_decrement_nesting"},
                          first);
    });
  };
  EXPECT_EQ(blockers(within(64), "2.8"), "");
  EXPECT_NE(blockers(within(65), "2.8").find("a vmap region deeper than 64"), std::string::npos);
}

size_t count_maps(const Package& package) {
  const Conversion conversion =
      convert(package, {.target = conversion_target("2.8").value()}).value();
  EXPECT_TRUE(conversion.blockers.empty());
  const Package written = saved(conversion.contents);
  return count_nodes((*written.program())->graph, "torch.ops.higher_order.map_impl");
}

// Changes the batch size of the first region and of the tensor that it iterates over.
void set_batch(Graph& graph, int64_t size) {
  const NodeId begin = find_node(graph, kBegin);
  graph.set_node_input(begin, 0, Argument(size));
  std::vector<NodeId> adds;
  bool inside = false;
  for (const NodeId id : graph.nodes()) {
    const std::string& target = graph.node(id).target;
    if (inside && (target == kBegin || target.ends_with("_vmap_decrement_nesting"))) break;
    inside = inside || id == begin;
    if (inside && target.ends_with("_add_batch_dim")) adds.push_back(id);
  }
  for (const NodeId id : adds) {
    const Node node = graph.node(id);
    TensorMeta meta = *graph.value(*node.inputs[0].arg.get_if<ValueId>()).tensor();
    const int64_t dim = *node.inputs[1].arg.get_if<int64_t>();
    meta.sizes[static_cast<size_t>(dim)] = SymInt(size);
    const ValueId resized =
        graph.add_value({.name = graph.unused_name("resized"), .meta = meta}).value();
    graph.insert_node(
        {.target = "torch.ops.aten.alias.default",
         .inputs = {{.name = "self", .arg = node.inputs[0].arg, .kind = ArgumentKind::positional}},
         .outputs = {Argument(resized)}},
        begin);
    graph.set_node_input(id, 0, Argument(resized));
  }
}

// Batches of few elements, of many, and of symbolic size.
TEST(Convert, MapsVmapRegionsOfManyElements) {
  const auto with_size = [](int64_t size) {
    return edited("2.15.0/vmap_forms", [&](Program& program) { set_batch(program.graph, size); });
  };
  EXPECT_EQ(count_maps(with_size(300)), 0u);
  EXPECT_EQ(count_maps(with_size(int64_t{1} << 62)), 1u);
  EXPECT_EQ(count_maps(corpus_file("2.15.0/vmap_dynamic")), 3u);
  // The batch is small, but its nodes have too much text to repeat for each element.
  const auto large = edited("2.15.0/vmap_forms", [](Program& program) {
    Graph& graph = program.graph;
    set_batch(graph, 300);
    graph.set_node_metadata(find_node(graph, "torch._functorch.predispatch._add_batch_dim"),
                            {{"stack_trace", std::string(size_t{4} << 20, 'x')}});
  });
  EXPECT_EQ(count_maps(large), 1u);
}

TEST(Convert, NamesWhatIsNotMapped) {
  const auto with = [](std::string_view old_target, std::string_view target) {
    return edited("2.15.0/vmap_dynamic", [&](Program& program) {
      program.graph.set_node_target(find_node(program.graph, old_target), std::string(target));
    });
  };
  const std::string product = "torch.ops.aten.mul.Tensor";
  EXPECT_EQ(blockers(with(product, "torch.ops.aten.gather.default"), "2.8"),
            "function: %_vmap_increment_nesting "
            "(torch._functorch.predispatch._vmap_increment_nesting): a vmap region of many "
            "elements, or of a symbolic number, with torch.ops.aten.gather.default, which map_impl "
            "would call on uninitialized numbers; needs PyTorch 2.13 or later\n");
  EXPECT_EQ(
      blockers(with(product, "torch.ops.aten.mul_.Tensor"), "2.8"),
      "function: %_vmap_increment_nesting (torch._functorch.predispatch._vmap_increment_nesting): "
      "a vmap region of many elements, or of a symbolic number, that writes with "
      "torch.ops.aten.mul_.Tensor; needs PyTorch 2.13 or later\n");
}

TEST(Convert, NamesVmapRegionsWhoseResultsShareWrittenMemory) {
  // Another node writes to the tensor that the region iterates over. The region's result is a view
  // of that tensor, or new memory.
  const auto with_view = [](std::string_view target) {
    return edited("2.15.0/vmap_forms", [&](Program& program) {
      Graph& graph = program.graph;
      const NodeId sine = find_node(graph, "torch.ops.aten.sin.default");
      const Argument element = graph.node(sine).inputs[0].arg;
      const NodeId add = graph.value(*element.get_if<ValueId>()).definition.node;
      Node write{.target = "torch.ops.aten.neg_.default",
                 .inputs = {{.name = "self",
                             .arg = graph.node(add).inputs[0].arg,
                             .kind = ArgumentKind::positional}}};
      GraphValue value{.name = "written",
                       .meta = *graph.value(*element.get_if<ValueId>()).tensor()};
      write.outputs = {Argument(graph.add_value(std::move(value)).value())};
      graph.add_node(std::move(write));
      for (const NodeId id : {sine, find_node(graph, "torch.ops.aten.add_.Tensor")})
        graph.set_node_target(id, std::string(target));
    });
  };
  EXPECT_EQ(blockers(with_view("torch.ops.aten.cos.default"), "2.8"), "");
  EXPECT_NE(blockers(with_view("torch.ops.aten.detach.default"), "2.8")
                .find("a vmap region whose results may share memory with a tensor that is written"),
            std::string::npos);
}

// The results of constant_outputs are a tensor, 7, 2.5, true, None and -1.
TEST(Convert, ComputesConstantResults) {
  const auto targets = [](const Package& package, std::string_view target) {
    const Conversion conversion =
        convert(package, {.target = conversion_target(target).value()}).value();
    const Package written = saved(conversion.contents);
    const Program& program = **written.program();
    std::vector<std::string> out;
    for (size_t i = 0; i < program.graph.outputs().size(); ++i) {
      const auto* value = program.graph.outputs()[i].get_if<ValueId>();
      if (value == nullptr) continue;
      EXPECT_EQ(program.signature.output_specs[i].arg.name, program.graph.value(*value).name);
      out.push_back(program.graph.node(program.graph.value(*value).definition.node).target);
    }
    return out;
  };
  const std::string tensor = "torch.ops.aten.add.Tensor";
  EXPECT_EQ(targets(corpus_file("2.15.0/constant_outputs"), "2.7"), std::vector{tensor});
  EXPECT_EQ(targets(corpus_file("2.15.0/constant_outputs"), "2.6"),
            (std::vector<std::string>{tensor, "torch.sym_ite"}));
  EXPECT_EQ(blockers("2.15.0/constant_outputs", "2.3"),
            "output: .graph_module.graph.outputs[4]: None; needs PyTorch 2.4 or later\n");
  const Package without_none = edited("2.15.0/constant_outputs", [](Program& program) {
    std::vector<Argument> outputs(program.graph.outputs().begin(), program.graph.outputs().end());
    outputs[4] = program.signature.output_specs[4].arg.value = int64_t{4};
    program.graph.set_outputs(std::move(outputs));
  });
  EXPECT_EQ(targets(without_none, "2.3"),
            (std::vector<std::string>{tensor, "_operator.add", "_operator.mul", "torch.sym_ite",
                                      "_operator.add", "_operator.add"}));
}

// 2.1 cannot load signatures of submodule calls, not even those that it saved.
TEST(Convert, NamesScansThatLaterReleasesDoNotMake) {
  const auto with = [](size_t index, const Argument& argument) {
    return edited("2.6.0/scan", [&](Program& program) {
      const NodeId scan = find_node(program.graph, "torch.ops.higher_order.scan");
      program.graph.set_node_input(scan, index, argument);
    });
  };
  EXPECT_EQ(blockers("2.6.0/scan", "2.7"), "");
  for (const Package& other : {with(3, Argument(int64_t{1})), with(4, Argument(true))}) {
    EXPECT_EQ(blockers(other, "2.6"), "");
    for (const std::string_view target : {"2.7", "2.15"})
      EXPECT_NE(blockers(other, target).find("a scan along another dim or backwards"),
                std::string::npos);
  }
}

// Up to 2.6 associative_scan(graph, xs, dim), later associative_scan(graph, xs, others).
TEST(Convert, GivesAssociativeScansTheirDimension) {
  constexpr std::string_view kScan = "torch.ops.higher_order.associative_scan";
  const auto last_input = [&](const Package& package) {
    const auto program = package.program().value();
    return program->graph.node(find_node(program->graph, kScan)).inputs.back().arg;
  };
  const auto with = [&](const Package& package, const Argument& argument) {
    return edited(package, [&](Program& program) {
      program.graph.set_node_input(find_node(program.graph, kScan), 2, argument);
    });
  };
  const auto converted = [](const Package& package, std::string_view target) {
    return saved(convert(package, {.target = conversion_target(target).value()}).value().contents);
  };
  const Package original = Package::open(PT2_TEST_DATA "/exports/associative_scan.pt2").value();
  const Package old = converted(original, "2.6");
  const Argument dim = last_input(old), others = last_input(converted(old, "2.15"));
  ASSERT_TRUE(dim.is<int64_t>());
  EXPECT_EQ(*dim.get_if<int64_t>(), 0);
  ASSERT_TRUE(others.is<ArgumentList>());
  EXPECT_TRUE(others.get_if<ArgumentList>()->items.empty());
  EXPECT_EQ(blockers(original, "2.7"), "");
  EXPECT_NE(blockers(with(old, Argument(int64_t{1})), "2.7").find("along another dim"),
            std::string::npos);
  const auto program = original.program().value();
  const ArgumentList inputs{.kind = ListKind::tensors, .items = {program->graph.inputs()[0]}};
  EXPECT_NE(blockers(with(original, Argument(inputs)), "2.6")
                .find("additional inputs; needs PyTorch 2.7"),
            std::string::npos);
}

// The inner module's signature is preserved, and the reader reads it as it does the program's own.
TEST(Convert, NamesClassesOfTheResultsOfModules) {
  const auto with_class = edited("2.15.0/module_calls", [](Program& program) {
    for (ModuleCallEntry& entry : program.module_call_graph)
      if (entry.fqn == "inner")
        entry.signature->out_spec =
            R"([1, {"type": "torch.return_types.max", "context": "null", "children_spec": []}])";
  });
  EXPECT_EQ(blockers(with_class, "2.15"), "");
  EXPECT_EQ(blockers(with_class, "2.13"),
            "result_class: .graph_module.module_call_graph[2].signature: a class of "
            "torch.return_types; needs PyTorch 2.15 or later\n");
  // Releases before 2.9 are refused for the layout alone.
  for (const LoadObstacles& each : load_obstacles(with_class, SIZE_MAX).value())
    if (each.release->number >= 209) {
      EXPECT_EQ(std::ranges::count(each.blockers, BlockerKind::result_class, &Blocker::kind) > 0,
                each.release->number < 215)
          << release_name(*each.release);
    }
  const Conversion lossy =
      convert(with_class, {.target = conversion_target("2.13").value(), .losses = {"return-types"}})
          .value();
  ASSERT_EQ(lossy.lost.size(), 1u);
  EXPECT_EQ(lossy.lost[0].kind, BlockerKind::result_class);
  EXPECT_NE(lossy.contents.programs[0].json.find(
                R"({\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": []})"),
            std::string::npos);
}

TEST(Convert, LeavesThePathsOfModuleCallsFor2_1) {
  const Package package = corpus_file("2.15.0/module_calls");
  const auto calls = [&](std::string_view target) {
    const Conversion conversion =
        convert(package, {.target = conversion_target(target).value()}).value();
    const Package converted = saved(conversion.contents);
    std::string text;
    for (const ModuleCallEntry& entry : (*converted.program())->module_call_graph)
      text += "'" + entry.fqn + (entry.signature ? "' with a signature, " : "', ");
    return text;
  };
  EXPECT_EQ(calls("2.2"),
            "'' with a signature, 'shared', 'inner' with a signature, 'inner.fc1', "
            "'inner.fc2', ");
  EXPECT_EQ(calls("2.1"), "'' with a signature, 'shared', 'inner', 'inner.fc1', 'inner.fc2', ");
}

TEST(Convert, NamesResultsThatAnOlderSignatureHasNot) {
  EXPECT_EQ(blockers("2.4.1/script_object", "2.3"),
            "alternative: .graph_module.signature.output_specs[0]: OutputSpec token; needs PyTorch "
            "2.4 or later\n");
  EXPECT_EQ(blockers("2.3.1/input_mutation", "2.1"),
            "alternative: .graph_module.signature.output_specs[0]: OutputSpec user_input_mutation; "
            "needs PyTorch 2.3 or later\n"
            "alternative: .graph_module.signature.output_specs[1]: OutputSpec user_input_mutation; "
            "needs PyTorch 2.3 or later\n");
}

// Each guard has a few dozen bytes in the file and becomes several nodes.
TEST(Convert, AddsNoMoreAssertionsThanAllowed) {
  const Package package = edited("2.15.0/dim_auto", [](Program& program) {
    for (int i = 1; i <= 100; ++i)
      program.guards_code.push_back("L['x'].size()[0] + " + std::to_string(i) +
                                    " <= 20*L['y'].size()[0]");
  });
  const auto most = [&](uint64_t nodes) {
    return convert(
        package, {.target = conversion_target("2.6").value(), .limits = {.max_new_nodes = nodes}});
  };
  EXPECT_EQ(most(1000)->blockers.size(), 0u);
  ASSERT_FALSE(most(300));
  EXPECT_EQ(most(300).error().code, ErrorCode::limit);
  EXPECT_NE(most(300).error().text().find("max_new_nodes 300"), std::string::npos);
}

TEST(Convert, NamesTheInputsOfGuardsAsCallsDo) {
  const Package package = edited("2.15.0/dim_auto", [](Program& program) {
    program.guards_code = {
        "L['flat_args'][0].size()[0] + 2*L['flat_args'][1].size()[0] <= "
        "20*L['flat_args'][0].size()[0] + 20*L['y'].size()[0]"};
  });
  const auto done = convert(package, {.target = conversion_target("2.15").value()});
  ASSERT_TRUE(done) << done.error().text();
  const Package written = saved(done->contents);
  EXPECT_EQ((*written.program())->guards_code,
            (std::vector<std::string>{"L['x'].size()[0] + 2*L['y'].size()[0] <= "
                                      "20*L['x'].size()[0] + 20*L['y'].size()[0]"}));
}

// Strict exports guard the inner tensors of subclasses, which only a guard can name.
TEST(Convert, KeepsGuardsOfInnerTensors) {
  const std::vector<std::string> guards = {"L['x'].a.b.size()[0] == 4"};
  const Package package =
      edited("2.15.0/dynamic_batch", [&](Program& program) { program.guards_code = guards; });
  const auto newer = convert(package, {.target = conversion_target("2.9").value()});
  ASSERT_TRUE(newer) << newer.error().text();
  ASSERT_TRUE(newer->blockers.empty());
  const Package written = saved(newer->contents);
  EXPECT_EQ((*written.program())->guards_code, guards);
  const auto older = convert(package, {.target = conversion_target("2.6").value()});
  ASSERT_TRUE(older) << older.error().text();
  ASSERT_EQ(older->blockers.size(), 1u);
  EXPECT_TRUE(older->blockers[0].line().starts_with("guard: .guards_code[0]"));
}

// The recorded expression of each partial sum extends the previous one. Printing each from all its
// terms would take 16 GB.
TEST(Convert, AssertsASumOfManyTerms) {
  constexpr size_t kTerms = 10'000;
  const Package package = edited("2.15.0/dynamic_batch", [](Program& program) {
    std::string sum = "L['x'].size()[0]";
    for (size_t i = 1; i < kTerms; ++i) sum += " + L['x'].size()[0]";
    program.guards_code = {sum + " >= 2"};
  });
  const auto done = convert(package, {.target = conversion_target("2.6").value()});
  ASSERT_TRUE(done) << done.error().text();
  ASSERT_TRUE(done->blockers.empty());
  const Package written = saved(done->contents);
  EXPECT_EQ(count_nodes((*written.program())->graph, "_operator.add"), kTerms - 1);
}

// Releases without a field for guards have nodes for comparisons but not for `and`, `or`, `not`.
TEST(Convert, AssertsGuardsThatJoinComparisons) {
  const std::string a = "L['x'].size()[0]", b = "L['y'].size()[0]";
  using Holds = bool (*)(int64_t, int64_t);
  const std::vector<std::pair<std::string, Holds>> guards{
      {a + " >= 4 or " + b + " < 3", [](int64_t x, int64_t y) { return x >= 4 || y < 3; }},
      {a + " == 3 and not " + b + " == 5", [](int64_t x, int64_t y) { return x == 3 && y != 5; }},
      {"not (" + a + " > 3 and " + a + " <= 2*" + b + ")",
       [](int64_t x, int64_t y) { return !(x > 3 && x <= 2 * y); }},
      {"not (" + a + " != 4 or " + b + " % 2 == 1)",
       [](int64_t x, int64_t y) { return x == 4 && y % 2 == 0; }},
      {a + " == 2 or " + b + " // (" + a + " - 1) == 1",
       [](int64_t x, int64_t y) { return x == 2 || y / (x - 1) == 1; }},
      {"7*" + a + " / 16 <= 1.75", [](int64_t x, int64_t) { return x <= 4; }},
      {a + " / 8 < 0.7 and " + a + " / 4 >= 0.6",
       [](int64_t x, int64_t) { return x < 6 && x >= 3; }},
      {a + " / 2 > 1.5 or " + b + " / 4 == 1",
       [](int64_t x, int64_t y) { return x > 3 || y == 4; }},
      // Python does not divide if the first comparison decides. Otherwise a division by 0 fails.
      {a + " <= 3 or " + b + " // (" + a + " - 2) == 1",
       [](int64_t x, int64_t y) { return x <= 3 || y / (x - 2) == 1; }},
      {b + " == 4 or " + b + " // (" + a + " - 2) == 1 or " + a + " == 2",
       [](int64_t x, int64_t y) { return y == 4 || (x > 2 && y / (x - 2) == 1); }},
      {"not (" + b + " == 4 or (" + b + " >= 3 and " + b + " % (" + a + " - 2) == 1))",
       [](int64_t x, int64_t y) { return y != 4 && (y < 3 || (x > 2 && y % (x - 2) != 1)); }},
      {b + " // (" + a + " - 2) == 1 or " + a + " == 2",
       [](int64_t x, int64_t y) { return x > 2 && y / (x - 2) == 1; }}};
  for (const auto& [text, holds] : guards) {
    SCOPED_TRACE(text);
    const Package package =
        edited("2.15.0/dim_auto", [&](Program& program) { program.guards_code.push_back(text); });
    const auto done = convert(package, {.target = conversion_target("2.6").value()});
    ASSERT_TRUE(done) << done.error().text();
    ASSERT_TRUE(done->blockers.empty());
    const Model model =
        Model::from_package(std::make_shared<const Package>(saved(done->contents))).value();
    for (int64_t x = 2; x < 7; ++x)
      for (int64_t y = 2; y < 7; ++y)
        EXPECT_EQ(static_cast<bool>(model.run({{"x", Tensor::zeros(Dtype::float32, {x, y})},
                                               {"y", Tensor::zeros(Dtype::float32, {y, 4})}})),
                  holds(x, y))
            << x << " " << y;
  }
}

// Each level repeats the conditions under which its inner levels divide. Written out, the guard
// would have 2^60 terms.
TEST(Convert, AssertsNoGuardThatGrowsWithEachLevel) {
  const Package package = edited("2.15.0/dim_auto", [&](Program& program) {
    std::string text = "L['y'].size()[0] == 4";
    for (int i = 3; i < 63; ++i)
      text = "(L['y'].size()[0] == " + std::to_string(i) + " or (L['y'].size()[0] // " +
             "(L['x'].size()[0] - 2) == " + std::to_string(i) + " and " + text + "))";
    program.guards_code.push_back(text);
  });
  const auto done = convert(package, {.target = conversion_target("2.6").value()});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->blockers.size(), 1u);
}

// Python does not divide if the first comparison holds. Nodes would always divide, and the divisor
// may be 0.
TEST(Convert, AssertsNoGuardThatCouldDivideByAnything) {
  const Package package = edited("2.15.0/dim_auto", [&](Program& program) {
    program.guards_code.push_back(
        "L['x'].size()[0] == 2 or L['y'].size()[0] // (L['x'].size()[0] - 3) == 1");
  });
  const auto done = convert(package, {.target = conversion_target("2.6").value()});
  ASSERT_TRUE(done);
  ASSERT_EQ(done->blockers.size(), 1u);
  EXPECT_EQ(done->blockers[0].kind, BlockerKind::guard);
}

// PyTorch makes a node of each input, constants included, and two nodes cannot have one name.
TEST(Convert, LeavesConstantsAmongTheInputsTheirNames) {
  const Package package = edited("2.15.0/constant_inputs", [](Program& program) {
    rename_value(program, *program.graph.find_value("mul"), "i").value();
    rename_value(program, *program.graph.find_value("add"), "f").value();
  });
  const auto done = convert(package, {.target = conversion_target("2.6").value()});
  ASSERT_TRUE(done) << done.error().text();
  ASSERT_TRUE(done->blockers.empty());
  const Package written = saved(done->contents);
  const Program& program = **written.program();
  EXPECT_FALSE(program.graph.find_value("i"));
  EXPECT_FALSE(program.graph.find_value("f"));
  EXPECT_TRUE(program.graph.find_value("i_1"));
  EXPECT_EQ(program.signature.output_specs[0].arg.name, "f_1");
  EXPECT_EQ(program.signature.input_specs[1].arg.name, "i");
}

// The functions that assertions of guards need exist since 2.3, before the field for guards.
TEST(Convert, NamesTheFirstReleaseThatCanAssertAGuard) {
  const Package package = edited("2.15.0/dim_auto", [](Program& program) {
    program.guards_code = {"Max(L['x'].size()[0], 3) <= 20*L['y'].size()[0]"};
  });
  const std::vector<Blocker> blockers =
      convert(package, {.target = conversion_target("2.1").value()})->blockers;
  const auto guard = std::ranges::find(blockers, BlockerKind::guard, &Blocker::kind);
  ASSERT_NE(guard, blockers.end());
  EXPECT_EQ(guard->first, find_release("2.3"));
}

// An assertion on device and layout is removed only if the recorded metadata proves it.
TEST(Convert, KeepsAnAssertionThatTheFileContradicts) {
  const Package package = corpus_file("2.15.0/dtypes_float");
  const auto blocked = [&](std::string_view asserted) {
    PackageContents contents = package_contents(package).value();
    std::string& json = contents.programs[0].json;
    constexpr std::string_view kAsserted = R"("as_device": {"type": "cpu", "index": null})";
    const size_t place = json.find(kAsserted);
    EXPECT_NE(place, json.npos);
    json.replace(place, kAsserted.size(), asserted);
    return convert(saved(contents), {.target = conversion_target("2.5").value()})->blockers;
  };
  EXPECT_EQ(blocked(R"("as_device": {"type": "cpu", "index": null})").size(), 0u);
  EXPECT_EQ(blocked(R"("as_string": "cpu")").size(), 0u);
  for (const std::string_view other :
       {R"("as_device": {"type": "cuda", "index": null})", R"("as_string": "cuda")"}) {
    ASSERT_EQ(blocked(other).size(), 1u);
    EXPECT_EQ(
        blocked(other)[0].text,
        "the argument device of torch.ops.aten._assert_tensor_metadata.default came with 2.6");
  }
}

// 2.6 and 2.7 compare the device of a traced tensor with "meta".
TEST(Convert, AssertsNoDeviceThatTracingContradicts) {
  const Package package = corpus_file("2.15.0/dtypes_float");
  const auto asserted = [&](std::string_view target, std::string_view argument) {
    const Package converted =
        saved(convert(package, {.target = conversion_target(target).value()})->contents);
    const Graph& graph = (*converted.program())->graph;
    return graph.node(find_node(graph, "torch.ops.aten._assert_tensor_metadata.default"))
               .find_input(argument) != nullptr;
  };
  for (const std::string_view target : {"2.6", "2.7", "2.8"}) {
    EXPECT_EQ(asserted(target, "device"), target == "2.8") << target;
    EXPECT_TRUE(asserted(target, "layout")) << target;
    EXPECT_TRUE(asserted(target, "dtype")) << target;
  }
}

// 2.6 cannot load a call whose only result is None.
TEST(Convert, LeavesOutQueriesWithoutAnswer) {
  constexpr std::string_view kQuery = "torch.ops.aten.promote_types.default",
                             kOther = "torch.ops.custom.tell.default";
  const Package package = edited("2.15.0/mlp", [&](Program& program) {
    const NodeId front = program.graph.nodes().front();
    const auto insert = [&](std::string_view target) {
      program.graph.insert_node({.target = std::string(target),
                                 .inputs = {{.name = "type1", .arg = ScalarType{7}},
                                            {.name = "type2", .arg = ScalarType{5}}},
                                 .outputs = {Argument(None{})}},
                                front);
    };
    insert(kQuery);
    insert(kOther);
  });
  for (const std::string_view target : {"2.4", "2.6", "2.7", "2.15"}) {
    const Package converted =
        saved(convert(package, {.target = conversion_target(target).value()})->contents);
    const Graph& graph = (*converted.program())->graph;
    const bool has_reader = target == "2.7" || target == "2.15";
    EXPECT_EQ(count_nodes(graph, kQuery), has_reader ? 1u : 0u) << target;
    EXPECT_EQ(count_nodes(graph, kOther), 1u) << target;
  }
}

// The assertion of (a & b) & a is split. If another node uses a & b, it remains as a blocker.
TEST(Convert, SplitsAssertionsOfJointConditions) {
  constexpr std::string_view kAnd = "_operator.and_",
                             kAssert = "torch.ops.aten._assert_scalar.default";
  const auto with_joint = [&](bool is_result) {
    return edited("2.15.0/dynamic_batch", [&](Program& program) {
      Graph& graph = program.graph;
      const auto add = [&](std::string_view target, std::vector<NamedArgument> inputs,
                           GraphValue value) {
        const ValueId id = graph.add_value(std::move(value)).value();
        graph.add_node({.target = std::string(target),
                        .inputs = std::move(inputs),
                        .outputs = {Argument(id)}});
        return id;
      };
      const auto x = *graph.inputs().back().get_if<ValueId>();
      const SymInt size = graph.value(x).tensor()->sizes[0];
      const ValueId rows =
          add("torch.ops.aten.sym_size.int",
              {{.name = "self", .arg = Argument(x)}, {.name = "dim", .arg = Argument(int64_t{0})}},
              {.name = "rows", .meta = size});
      const auto condition = [&](std::string_view target, std::string name, Argument a,
                                 Argument b) {
        return add(target, {{.name = "a", .arg = std::move(a)}, {.name = "b", .arg = std::move(b)}},
                   {.name = std::move(name), .meta = SymBool(true)});
      };
      const ValueId low = condition("_operator.ge", "low", Argument(rows), Argument(int64_t{1}));
      const ValueId high = condition("_operator.le", "high", Argument(rows), Argument(int64_t{9}));
      const ValueId both = condition(kAnd, "both", Argument(low), Argument(high));
      const ValueId all = condition(kAnd, "all", Argument(both), Argument(low));
      graph.add_node({.target = std::string(kAssert),
                      .inputs = {{.name = "self", .arg = Argument(all)},
                                 {.name = "assert_msg", .arg = Argument(std::string("no"))}}});
      if (is_result) condition("torch.sym_not", "none", Argument(both), Argument(both));
    });
  };
  const auto counts = [&](const Package& package, std::string_view target) {
    const Package converted =
        saved(convert(package, {.target = conversion_target(target).value()})->contents);
    const Graph& graph = (*converted.program())->graph;
    return std::vector{count_nodes(graph, kAnd), count_nodes(graph, kAssert)};
  };
  EXPECT_EQ(counts(with_joint(false), "2.6"), (std::vector<size_t>{0, 2}));
  EXPECT_EQ(counts(with_joint(false), "2.7"), (std::vector<size_t>{2, 1}));
  EXPECT_NE(blockers(with_joint(true), "2.6").find("_operator.and_ came with 2.7"),
            std::string::npos);
}

// torch.export.unflatten needs the module of every node.
TEST(Convert, GivesNewNodesTheOutermostModule) {
  const auto modules = [](const Package& package, std::string_view target) {
    const Package converted =
        saved(convert(package, {.target = conversion_target("2.6").value()})->contents);
    const Graph& graph = (*converted.program())->graph;
    const std::string* found =
        find_metadata(graph.node(find_node(graph, target)).metadata, "nn_module_stack");
    return found == nullptr ? "none" : *found;
  };
  const Package guarded = edited("2.15.0/dynamic_batch", [](Program& program) {
    program.guards_code = {"5*L['x'].size()[0] >= 12"};
  });
  for (const std::string_view target :
       {"torch.ops.aten.sym_size.int", "_operator.mul", "torch.ops.aten._assert_scalar.default"})
    EXPECT_EQ(modules(guarded, target), "L__self__,,__main__.MLP") << target;
  EXPECT_EQ(modules(corpus_file("2.15.0/constant_outputs"), "torch.sym_ite"),
            "L__self__,,__main__.module.<locals>.Fn");
}

// The operator is registered since 2.7. Its namespace, export, is one of PyTorch's own.
TEST(Convert, NamesOperatorsOfTheExportNamespace) {
  const Package package = edited("2.15.0/mlp", [](Program& program) {
    Graph& graph = program.graph;
    graph.set_node_target(graph.nodes().front(),
                          "torch.ops.export.access_subclass_inner_tensor.default");
  });
  EXPECT_NE(blockers(package, "2.6").find("access_subclass_inner_tensor.default came with 2.7"),
            std::string::npos);
  EXPECT_EQ(blockers(package, "2.7").find("access_subclass_inner_tensor"), std::string::npos);
}

// PyTorch saves a str among the results, but no release loads it.
TEST(Convert, NamesTextAmongTheResults) {
  const Package package = edited("2.15.0/constant_outputs", [](Program& program) {
    std::vector<Argument> outputs(program.graph.outputs().begin(), program.graph.outputs().end());
    outputs[1] = program.signature.output_specs[1].arg.value = std::string("sum");
    program.graph.set_outputs(std::move(outputs));
  });
  for (const std::string_view target : {"2.6", "2.9", "2.14"})
    EXPECT_EQ(blockers(package, target), "output: .graph_module.graph.outputs[1]: a constant str\n")
        << target;
}

TEST(Convert, NamesConstantInputs) {
  const Package package = corpus_file("2.3.1/pytree_none");
  const Conversion conversion =
      convert(package, {.target = conversion_target("2.6").value()}).value();
  const Package converted = saved(conversion.contents);
  std::vector<std::string> names;
  for (const InputSpec& spec : (*converted.program())->signature.input_specs)
    names.push_back(spec.arg.name);
  EXPECT_EQ(names, (std::vector<std::string>{"arg0_1", "arg1_1", "arg2_1"}));
}

// A region of CUDA's autocast casts nothing if no tensor is there. On a tensor of that device it
// casts, and is no region that can be left out.
TEST(Convert, RegionsOfAutocastAreNodesWhereTheCastsAreKnown) {
  const Package on_cpu =
      Package::open(std::string(PT2_TEST_DATA) + "/exports/autocast_absent.pt2").value();
  // A process of 2.5 or 2.6 that only loads programs does not find the operator.
  for (const std::string_view target : {"2.4", "2.5", "2.6", "2.7"}) {
    const Conversion conversion =
        convert(on_cpu, {.target = conversion_target(target).value()}).value();
    EXPECT_TRUE(conversion.blockers.empty()) << target;
    const Package converted = saved(conversion.contents);
    const Graph& graph = (*converted.program())->graph;
    const bool is_region = target == "2.7";
    EXPECT_EQ(count_nodes(graph, "torch.ops.higher_order.wrap_with_autocast"), is_region ? 1u : 0u)
        << target;
    EXPECT_EQ(count_nodes(graph, "torch.ops.aten.matmul.default"), 1u) << target;
  }

  const Package on_cuda = edited(on_cpu, [](Program& program) {
    const auto x = program.graph.find_value("x");
    TensorMeta meta = *program.graph.value(x.value()).tensor();
    meta.device.type = "cuda";
    program.graph.set_value_meta(x.value(), std::move(meta));
  });
  for (const std::string_view target : {"2.3", "2.4"})
    EXPECT_NE(blockers(on_cuda, target).find("wrap_with_autocast"), std::string::npos) << target;
}

}  // namespace
}  // namespace pt2
