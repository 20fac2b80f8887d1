#include "pt2/tools/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/platform.h"
#include "base/printable.h"
#include "inspect/plain_text.h"
#include "inspect/products.h"
#include "ir/symbols/sym_int.h"
#include "ir/target.h"
#include "package/held_tensors.h"
#include "pt2/ir/modules.h"
#include "pt2/ir/type_text.h"

namespace pt2 {
namespace {

class StatsReader {
 public:
  StatsReader(const Program& program, const Payloads* payloads)
      : program_(program), payloads_(payloads) {}

  ProgramStats read() {
    read_weights();
    const ModuleHierarchy hierarchy = module_hierarchy(program_);
    read_graph(program_.graph);
    out_.peak_bytes = peak(program_.graph);
    for (auto& [target, each] : operators_) out_.operators.push_back(std::move(each));
    std::ranges::stable_sort(out_.operators, [](const OperatorStats& a, const OperatorStats& b) {
      return std::pair(a.multiply_adds, a.calls) > std::pair(b.multiply_adds, b.calls);
    });
    read_modules(hierarchy);
    return std::move(out_);
  }

 private:
  uint64_t number(const SymInt& size) {
    out_.assumed_sizes = out_.assumed_sizes || size.is_symbolic();
    return estimated_size(size);
  }
  void note_sizes(const TensorMeta* meta) {
    if (meta != nullptr)
      for (const SymInt& size : meta->sizes)
        out_.assumed_sizes = out_.assumed_sizes || size.is_symbolic();
  }
  uint64_t elements(const TensorMeta* meta) {
    if (meta == nullptr) return 0;
    uint64_t count = 1;
    for (const SymInt& size : meta->sizes) count = saturating_product(count, number(size));
    return count;
  }
  uint64_t bytes(const TensorMeta* meta) {
    if (meta == nullptr) return 0;
    const auto dtype = meta->dtype.dtype();
    return saturating_product(elements(meta),
                              dtype ? static_cast<uint64_t>(dtype_size(*dtype)) : 1);
  }

  HeldStats* held_as(InputKind kind) {
    switch (kind) {
      case InputKind::parameter:
        return &out_.parameters;
      case InputKind::buffer:
        return &out_.buffers;
      case InputKind::constant_tensor:
        return &out_.constants;
      case InputKind::user_input:
      case InputKind::custom_obj:
      case InputKind::token:
        return nullptr;
    }
    return nullptr;
  }

  static void add(HeldStats& held, uint64_t elements, uint64_t bytes) {
    held.elements = saturating_sum(held.elements, elements);
    held.bytes = saturating_sum(held.bytes, bytes);
  }

  void read_weights() {
    SeenStorages seen;
    for (const InputSpec& spec : program_.signature.input_specs) {
      HeldStats* held = held_as(spec.kind);
      if (held == nullptr) continue;
      ++held->tensors;
      const auto id = program_.graph.find_value(spec.arg.name);
      const TensorMeta* meta = id ? program_.graph.value(*id).tensor() : nullptr;
      const PayloadTensor* payload = payloads_ == nullptr ? nullptr : payloads_->bound_to(spec);
      if (meta == nullptr) continue;
      const bool is_new = payload != nullptr && !payload->parts.empty()
                              ? read_parts(*payload, *meta, seen, *held)
                              : read_whole(payload, *meta, seen, *held);
      if (is_new && spec.kind == InputKind::parameter)
        own_parameters_[spec.target.value_or("")] = elements(meta);
    }
  }

  // These functions return false for a payload that shares its memory with earlier tensors.
  bool read_whole(const PayloadTensor* payload, const TensorMeta& meta, SeenStorages& seen,
                  HeldStats& held) {
    if (payload != nullptr && payload->tensor.defined() && !seen.add(payload->tensor)) return false;
    HeldStats& dtype = out_.dtypes[dtype_text(meta.dtype)];
    ++dtype.tensors;
    for (HeldStats* each : {&held, &dtype}) add(*each, elements(&meta), bytes(&meta));
    return true;
  }

  // Counts the tensor's elements and the bytes of its parts.
  bool read_parts(const PayloadTensor& payload, const TensorMeta& meta, SeenStorages& seen,
                  HeldStats& held) {
    uint64_t bytes = 0;
    for (const Tensor& part : held_tensors(payload)) {
      if (!seen.add(part)) continue;
      const auto own = static_cast<uint64_t>(part.nbytes());
      HeldStats& dtype = out_.dtypes[std::string(dtype_info(part.dtype()).short_name)];
      ++dtype.tensors;
      add(dtype, static_cast<uint64_t>(part.numel()), own);
      bytes = saturating_sum(bytes, own);
    }
    if (bytes == 0) return false;
    add(held, elements(&meta), bytes);
    return true;
  }

  void read_graph(const Graph& graph) {
    for (const NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      ++out_.nodes;
      const std::string target(short_target(node.target));
      OperatorStats& sums = operators_[target];
      sums.target = target;
      ++sums.calls;
      const uint64_t products = products_.count(graph, node);
      sums.multiply_adds = saturating_sum(sums.multiply_adds, products);
      out_.multiply_adds = saturating_sum(out_.multiply_adds, products);
      uint64_t& module = by_module_[module_path(node)];
      module = saturating_sum(module, products);
      if (products > 0)
        for (const NamedArgument& input : node.inputs)
          for_each_value(input.arg,
                         [&](ValueId value) { note_sizes(graph.value(value).tensor()); });
      for (const Argument& output : node.outputs)
        for_each_value(output, [&](ValueId value) {
          sums.result_bytes = saturating_sum(sums.result_bytes, bytes(graph.value(value).tensor()));
        });
    }
    for (const Graph& nested : graph.subgraphs()) read_graph(nested);
  }

  // Returns the peak memory of the results; each result lives from its node to its last use.
  uint64_t peak(const Graph& graph) {
    std::vector<size_t> last(graph.value_count(), 0);
    size_t place = 0;
    for (const NodeId id : graph.nodes()) {
      ++place;
      for (const NamedArgument& input : graph.node(id).inputs)
        for_each_value(input.arg, [&](ValueId value) { last[static_cast<size_t>(value)] = place; });
    }
    for (const Argument& output : graph.outputs())
      for_each_value(output, [&](ValueId value) { last[static_cast<size_t>(value)] = SIZE_MAX; });
    std::unordered_map<size_t, uint64_t> ending;
    uint64_t alive = 0, most = 0;
    place = 0;
    for (const NodeId id : graph.nodes()) {
      ++place;
      for (const Argument& output : graph.node(id).outputs)
        for_each_value(output, [&](ValueId value) {
          const uint64_t size = bytes(graph.value(value).tensor());
          alive = saturating_sum(alive, size);
          uint64_t& end = ending[std::max(last[static_cast<size_t>(value)], place)];
          end = saturating_sum(end, size);
        });
      most = std::max(most, alive);
      if (const auto found = ending.find(place); found != ending.end())
        alive -= std::min(alive, found->second);
    }
    return most;
  }

  void read_modules(const ModuleHierarchy& hierarchy) {
    const auto& modules = hierarchy.modules;
    std::vector<ModuleStats> sums(modules.size());
    for (size_t i = 0; i < modules.size(); ++i) {
      std::string path = hierarchy.fqn(i);
      const auto own = by_module_.find(path);
      sums[i].path = bounded(std::move(path));  // paths repeat the names of the modules around
      sums[i].type = modules[i].type;
      if (own != by_module_.end()) sums[i].multiply_adds = own->second;
      for (const size_t input : modules[i].inputs) {
        const auto& target = program_.signature.input_specs[input].target;
        const auto found = own_parameters_.find(target.value_or(""));
        if (found != own_parameters_.end())
          sums[i].parameters = saturating_sum(sums[i].parameters, found->second);
      }
    }
    for (size_t i = modules.size(); i-- > 1;) {
      ModuleStats& parent = sums[modules[i].parent];
      parent.parameters = saturating_sum(parent.parameters, sums[i].parameters);
      parent.multiply_adds = saturating_sum(parent.multiply_adds, sums[i].multiply_adds);
    }
    out_.modules = std::move(sums);
  }

  const Program& program_;
  const Payloads* payloads_;
  ProgramStats out_;
  ProductCounter products_;
  std::map<std::string, OperatorStats> operators_;
  std::map<std::string, uint64_t> by_module_, own_parameters_;
};

}  // namespace

ProgramStats stats(const Program& program, const Payloads* payloads) {
  return StatsReader(program, payloads).read();
}

std::string count_text(uint64_t count) {
  if (count < 1000) return std::to_string(count);
  constexpr std::string_view kUnits[] = {"k", "M", "G", "T", "P"};
  double amount = static_cast<double>(count) / 1000;
  size_t unit = 0;
  for (; amount >= 999.95 && unit + 1 < std::size(kUnits); ++unit) amount /= 1000;
  return fmt::format("{:.1f} {}", amount, kUnits[unit]);
}

}  // namespace pt2
