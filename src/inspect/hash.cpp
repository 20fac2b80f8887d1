#include "pt2/tools/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/hash/sha256.h"
#include "base/hash/text_hash.h"
#include "base/text.h"
#include "inspect/input_roles.h"
#include "inspect/plain_text.h"
#include "inspect/spelling.h"
#include "ir/target.h"
#include "lower/written_memory.h"
#include "package/read_budget.h"

namespace pt2 {
namespace {

std::vector<size_t> first_numbers(size_t count) {
  std::vector<size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), size_t{0});
  return numbers;
}

class GraphHasher {
 public:
  GraphHasher(const Graph& graph, bool is_nested)
      : graph_(graph),
        values_(graph.value_count()),
        memory_(graph, is_nested && writes(graph)),
        classes_(memory_classes(graph)) {}

  // The inputs' roles identify them, not their positions. `outputs` is the order of the outputs.
  std::string run(const std::vector<std::string>& inputs, const std::vector<size_t>& outputs) {
    for (size_t i = 0; i < graph_.inputs().size(); ++i)
      for_each_value(graph_.inputs()[i], [&](ValueId id) {
        append_json_string(values_[static_cast<size_t>(id)], told_apart(inputs[i]));
      });
    // Nodes without results, such as assertions, count too. Order matters only among nodes that
    // touch the same memory, if a node writes to that memory.
    std::vector<Sha256Digest> nodes;
    std::map<uint32_t, Sha256> in_order;
    for (const NodeId id : graph_.nodes()) {
      if (says_nothing(graph_.node(id))) continue;
      const Sha256Digest digest = hash_node(id);
      const std::set<uint32_t> touched = written_classes(graph_.node(id));
      for (const uint32_t memory : touched) in_order[memory].add(digest);
      if (touched.empty()) nodes.push_back(digest);
    }
    std::vector<Sha256Digest> sequences;
    for (auto& [memory, sequence] : in_order) sequences.push_back(sequence.digest());
    Sha256 sum;
    for (auto* digests : {&nodes, &sequences}) {
      std::ranges::sort(*digests);
      sum.add(digests->size());
      for (const Sha256Digest& each : *digests) sum.add(each);
    }
    for (const size_t i : outputs) sum.add_text(text(graph_.outputs()[i]));
    return sum.hex();
  }

  std::string text(const Argument& argument) const {
    std::string out;
    append_argument(out, argument, names_);
    return out;
  }

 private:
  Sha256Digest hash_node(NodeId id) {
    const Node& node = graph_.node(id);
    Sha256 sum;
    sum.add_text(target_text(node));
    for (const NamedArgument& input : node.inputs) {
      if (says_nothing(node, input)) continue;
      sum.add_text(input.name);
      sum.add_text(text(input.arg));
    }
    const Sha256Digest digest = sum.digest();
    const std::string name = Sha256::hex(digest);
    size_t index = 0;
    for (const Argument& output : node.outputs)
      for_each_value(output, [&](ValueId value) {
        values_[static_cast<size_t>(value)] = fmt::format("{}.{}", name, index++);
      });
    return digest;
  }

  // Releases place higher-order operators in different modules.
  static std::string target_text(const Node& node) {
    return target_form(node.target) == TargetForm::higher_order
               ? fmt::format("torch.ops.higher_order.{}", last_part(node.target))
               : node.target;
  }

  // Returns the classes of memory that the node touches and that any node writes to.
  std::set<uint32_t> written_classes(const Node& node) const {
    std::set<uint32_t> found;
    const auto look = [&](ValueId id) {
      if (memory_.may_hold(id)) found.insert(classes_[static_cast<size_t>(id)]);
    };
    for (const NamedArgument& input : node.inputs) for_each_value(input.arg, look);
    for (const Argument& output : node.outputs) for_each_value(output, look);
    return found;
  }

  std::string subgraph_text(SubgraphId id) const {
    const Graph& nested = graph_.subgraph(id);
    std::vector<std::string> inputs;
    for (size_t i = 0; i < nested.inputs().size(); ++i)
      inputs.push_back(fmt::format("input {}", i));
    return GraphHasher(nested, true).run(inputs, first_numbers(nested.outputs().size()));
  }

  const Graph& graph_;
  std::vector<std::string> values_;  // description of each value
  const WrittenMemory memory_;
  const std::vector<uint32_t> classes_;
  ArgumentNames names_{[this](ValueId id) { return values_[static_cast<size_t>(id)]; },
                       [this](SubgraphId id) { return subgraph_text(id); }};
};

// PyTorch's canonical form keeps the order of positional inputs, and sorts named constants by name.
bool is_positional(const Program& program, size_t input) {
  const auto& specs = program.signature.input_specs;
  if (input >= specs.size()) return true;
  const ArgumentSpec& argument = specs[input].arg;
  return specs[input].kind == InputKind::user_input &&
         !(argument.is_constant() && !argument.name.empty());
}

// Returns positional inputs in the order of the call, then other inputs by name, because releases
// order those differently.
std::vector<size_t> inputs_in_order(const Program& program, const std::vector<std::string>& roles) {
  std::vector<size_t> order = first_numbers(roles.size());
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (is_positional(program, a) != is_positional(program, b)) return is_positional(program, a);
    return !is_positional(program, a) && roles[a] < roles[b];
  });
  return order;
}

void add_inputs(Sha256& sum, const Program& program, const std::vector<std::string>& roles,
                SymbolNames& symbols) {
  const ArgumentNames names{
      [&](ValueId id) { return plain_type(program.graph.value(id), symbols); },
      [](SubgraphId) { return std::string("graph"); }};
  for (const size_t i : inputs_in_order(program, roles)) {
    // Quantized exports keep the unused weights of the float program.
    if (is_unused_weight(program, i)) continue;
    std::string text;
    append_argument(text, program.graph.inputs()[i], names);
    sum.add_text(roles[i]);
    sum.add_text(text);
  }
}

struct OutputRole {
  std::string_view kind;
  std::string target;
  auto operator<=>(const OutputRole&) const = default;
};

// Returns one role for each output.
std::vector<OutputRole> output_roles(const Program& program,
                                     const std::vector<std::string>& inputs) {
  const auto& specs = program.signature.input_specs;
  TextMap<std::string_view, const std::string*> user_inputs;  // roles by name
  for (size_t i = 0; i < std::min(specs.size(), inputs.size()); ++i)
    if (specs[i].kind == InputKind::user_input)
      user_inputs.try_emplace(specs[i].arg.name, &inputs[i]);
  std::vector<OutputRole> roles;
  for (const OutputSpec& spec : program.signature.output_specs) {
    std::string target = spec.target.value_or("");
    // A buffer may have the name of a user input.
    const bool is_of_input = spec.kind == OutputKind::user_input_mutation ||
                             spec.kind == OutputKind::gradient_to_user_input;
    if (const auto found = user_inputs.find(target); is_of_input && found != user_inputs.end())
      target = *found->second;
    roles.push_back({output_kind_name(spec.kind), std::move(target)});
  }
  return roles;
}

// Returns written outputs by name, then results in the order of the call.
std::vector<size_t> outputs_in_order(const Program& program, const std::vector<OutputRole>& roles) {
  std::vector<size_t> order = first_numbers(program.graph.outputs().size());
  if (roles.size() != order.size()) return order;
  const auto is_result = [&](size_t i) {
    return program.signature.output_specs[i].kind == OutputKind::user_output;
  };
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    if (is_result(a) != is_result(b)) return is_result(b);
    return !is_result(a) && roles[a] < roles[b];
  });
  return order;
}

void add_ranges(Sha256& sum, const Program& program, SymbolNames& symbols) {
  const auto ranges = telling_ranges(program, symbols);
  sum.add(ranges.size());
  for (const auto& [name, range] : ranges)
    sum.add_text(
        fmt::format("{} {} {}", name, range.min.value_or(2), range.max.value_or(INT64_MAX - 1)));
}

Result<void> add_tensor(Sha256& sum, const std::string& name, const PayloadTensor& payload,
                        ReadBudget& budget) {
  if (!payload.missing.empty() && payload.parts.empty())
    return Error{ErrorCode::unsupported, payload.missing, name};
  const std::span<const Tensor> tensors =
      payload.missing.empty() ? std::span(&payload.tensor, 1) : std::span(payload.parts);
  for (const Tensor& tensor : tensors) {
    PT2_TRY_VOID(budget.check(name, tensor));
    const Tensor elements = tensor.contiguous();
    sum.add_text(name);
    sum.add_text(elements.type_text());  // determines how many bytes follow
    sum.add({elements.raw_data(), static_cast<size_t>(elements.nbytes())});
  }
  return {};
}

}  // namespace

std::vector<std::string> input_roles(const Program& program) {
  std::vector<std::string> roles;
  size_t positional = 0;
  for (size_t i = 0; i < program.graph.inputs().size(); ++i) {
    if (is_positional(program, i)) {
      roles.push_back(fmt::format("input {}", positional++));
      continue;
    }
    const InputSpec& spec = program.signature.input_specs[i];
    roles.push_back(
        spec.kind == InputKind::user_input
            ? fmt::format("input {}", spec.arg.name)
            : fmt::format("{} {}", input_kind_name(spec.kind), spec.target.value_or("")));
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
  const std::vector<OutputRole> results = output_roles(program, roles);
  const std::vector<size_t> order = outputs_in_order(program, results);
  sum.add(GraphHasher(program.graph, false).run(roles, order));
  for (const size_t i : order) {
    if (i >= results.size()) continue;
    sum.add_text(results[i].kind);
    sum.add_text(results[i].target);
  }
  return sum.hex();
}

Result<std::string> hash_weights(const Program& program, const Payloads& payloads) {
  std::map<std::string, const PayloadTensor*> used;
  const auto& specs = program.signature.input_specs;
  for (size_t i = 0; i < std::min(specs.size(), program.graph.inputs().size()); ++i)
    if (const PayloadTensor* payload = payloads.bound_to(specs[i]);
        payload && !is_unused_weight(program, i))
      used.emplace(specs[i].target.value_or(""), payload);
  Sha256 sum;
  ReadBudget budget(payloads);
  for (const auto& [name, payload] : used) PT2_TRY_VOID(add_tensor(sum, name, *payload, budget));
  return sum.hex();
}

}  // namespace pt2
