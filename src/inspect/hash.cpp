#include "pt2/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "base/sha256.h"
#include "inspect/content.h"
#include "inspect/plain_text.h"

namespace pt2 {
namespace {

class GraphHasher {
 public:
  explicit GraphHasher(const Graph& graph) : graph_(graph), values_(graph.value_count()) {}

  GraphContent run(const std::vector<std::string>& inputs) {
    for (size_t i = 0; i < graph_.inputs().size(); ++i)
      for_each_value(graph_.inputs()[i],
                     [&](ValueId id) { values_[static_cast<size_t>(id)] = inputs[i]; });
    content_.nodes.resize(graph_.node_count());
    std::vector<uint64_t> all;
    for (const NodeId id : graph_.nodes()) {
      hash_node(id);
      all.push_back(content_.nodes[static_cast<size_t>(id)]);
    }
    // Nodes that give nothing, as assertions, count as well; their order does not.
    std::ranges::sort(all);
    Sha256 sum;
    for (const uint64_t each : all) sum.add(each);
    for (const Argument& output : graph_.outputs()) sum.add(text(output) + "\n");
    content_.digest = sum.hex();
    return std::move(content_);
  }

  std::string text(const Argument& argument) const {
    std::string out;
    append_argument(out, argument, names_);
    return out;
  }

 private:
  void hash_node(NodeId id) {
    const Node& node = graph_.node(id);
    Sha256 sum;
    sum.add(node.target);
    for (const NamedArgument& input : node.inputs) {
      sum.add(input.name.empty() ? "\n" : "\n" + input.name + "=");
      sum.add(text(input.arg));
    }
    const auto digest = sum.digest();
    uint64_t& hash = content_.nodes[static_cast<size_t>(id)];
    std::memcpy(&hash, digest.data(), sizeof hash);
    uint64_t second = 0;
    std::memcpy(&second, digest.data() + sizeof hash, sizeof second);
    size_t index = 0;
    for (const Argument& output : node.outputs)
      for_each_value(output, [&](ValueId value) {
        values_[static_cast<size_t>(value)] = fmt::format("{:x}{:x}.{}", hash, second, index++);
      });
  }

  std::string subgraph_text(SubgraphId id) const {
    const Graph& nested = graph_.subgraph(id);
    std::vector<std::string> inputs;
    for (size_t i = 0; i < nested.inputs().size(); ++i)
      inputs.push_back(fmt::format("input {}", i));
    return graph_content(nested, inputs).digest;
  }

  const Graph& graph_;
  std::vector<std::string> values_;  // what each is made of
  ArgumentNames names_{[this](ValueId id) { return values_[static_cast<size_t>(id)]; },
                       [this](SubgraphId id) { return subgraph_text(id); }};
  GraphContent content_;
};

bool is_user(const Program& program, size_t input) {
  const auto& specs = program.signature.input_specs;
  return input >= specs.size() || specs[input].kind == InputKind::user_input;
}

// Weights that nothing reads change nothing: quantized exports keep those of the float program.
bool is_used(const Program& program, size_t input) {
  const auto* id = program.graph.inputs()[input].get_if<ValueId>();
  return id == nullptr || !program.graph.uses(*id).empty();
}

// User inputs in the order of the call, everything else by name: releases order that in their ways.
std::vector<size_t> inputs_in_order(const Program& program, const std::vector<std::string>& roles) {
  std::vector<size_t> order(roles.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (is_user(program, a) != is_user(program, b)) return is_user(program, a);
    return !is_user(program, a) && roles[a] < roles[b];
  });
  return order;
}

void add_inputs(Sha256& sum, const Program& program, const std::vector<std::string>& roles,
                SymbolNames& symbols) {
  const ArgumentNames names{
      [&](ValueId id) { return plain_type(program.graph.value(id), symbols); },
      [](SubgraphId) { return std::string("graph"); }};
  for (const size_t i : inputs_in_order(program, roles)) {
    if (!is_user(program, i) && !is_used(program, i)) continue;
    std::string text = "\n" + roles[i] + ": ";
    append_argument(text, program.graph.inputs()[i], names);
    sum.add(text);
  }
}

void add_outputs(Sha256& sum, const Program& program, const std::vector<std::string>& roles) {
  const auto& inputs = program.signature.input_specs;
  for (const OutputSpec& spec : program.signature.output_specs) {
    std::string target = spec.target.value_or("");
    for (size_t i = 0; i < std::min(inputs.size(), roles.size()); ++i)
      if (spec.kind != OutputKind::user_output && inputs[i].kind == InputKind::user_input &&
          inputs[i].arg.name == target)
        target = roles[i];
    sum.add(fmt::format("\n{} {}", output_kind_name(spec.kind), target));
  }
}

// Of the symbols that inputs have. A lower bound of 0 to 2 says no more than that PyTorch took the
// size for none of the special ones, which it spells differently in each release.
void add_ranges(Sha256& sum, const Program& program, SymbolNames& symbols) {
  std::set<std::string> lines;
  for (const RangeConstraint& constraint : program.range_constraints) {
    if (constraint.key == nullptr || !constraint.key->expr.is_symbol()) continue;
    const int64_t min = std::max<int64_t>(constraint.range.min.value_or(0), 2);
    const int64_t max = std::min<int64_t>(constraint.range.max.value_or(INT64_MAX), INT64_MAX - 1);
    const std::string name(symbols.name(constraint.key->expr->name));
    if (min > 2 || max < INT64_MAX - 1) lines.insert(fmt::format("\n{} {} {}", name, min, max));
  }
  for (const std::string& line : lines) sum.add(line);
}

Result<void> add_tensor(Sha256& sum, const std::string& name, const PayloadTensor& payload) {
  if (!payload.missing.empty() && payload.parts.empty())
    return Error{ErrorCode::unsupported, payload.missing, name};
  const auto add = [&](const Tensor& tensor) {
    const Tensor elements = tensor.contiguous();
    sum.add(fmt::format("\n{} {}", name, elements.type_text()));
    sum.add({elements.raw_data(), static_cast<size_t>(elements.nbytes())});
  };
  if (payload.missing.empty())
    add(payload.tensor);
  else
    std::ranges::for_each(payload.parts, add);
  return {};
}

}  // namespace

GraphContent graph_content(const Graph& graph, const std::vector<std::string>& inputs) {
  return GraphHasher(graph).run(inputs);
}

std::vector<std::string> input_roles(const Program& program) {
  std::vector<std::string> roles;
  size_t users = 0;
  for (size_t i = 0; i < program.graph.inputs().size(); ++i) {
    if (is_user(program, i)) {
      roles.push_back(fmt::format("input {}", users++));
    } else {
      const InputSpec& spec = program.signature.input_specs[i];
      roles.push_back(fmt::format("{} {}", input_kind_name(spec.kind), spec.target.value_or("")));
    }
  }
  return roles;
}

std::string hash_file(const Package& package) {
  Sha256 sum;
  sum.add(package.archive().zip().bytes());
  return sum.hex();
}

std::string hash_program(const Program& program) {
  const std::vector<std::string> roles = input_roles(program);
  SymbolNames symbols(program);
  symbols.number_the_rest();
  Sha256 sum;
  add_inputs(sum, program, roles, symbols);
  add_ranges(sum, program, symbols);
  sum.add(graph_content(program.graph, roles).digest);
  add_outputs(sum, program, roles);
  return sum.hex();
}

Result<std::string> hash_weights(const Program& program, const Payloads& payloads) {
  std::map<std::string, const PayloadTensor*> used;
  const auto& specs = program.signature.input_specs;
  for (size_t i = 0; i < std::min(specs.size(), program.graph.inputs().size()); ++i)
    if (const PayloadTensor* payload = payloads.bound_to(specs[i]); payload && is_used(program, i))
      used.emplace(specs[i].target.value_or(""), payload);
  Sha256 sum;
  for (const auto& [name, payload] : used) PT2_TRY_VOID(add_tensor(sum, name, *payload));
  return sum.hex();
}

}  // namespace pt2
