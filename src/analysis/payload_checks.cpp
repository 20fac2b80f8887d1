#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analysis/program_checks.h"
#include "base/printable.h"
#include "ir/values/record.h"

namespace pt2 {
namespace {

bool needs_tensor(InputKind kind) {
  return kind == InputKind::parameter || kind == InputKind::buffer ||
         kind == InputKind::constant_tensor;
}

std::string sizes_text(const Sizes& sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

std::string sizes_text(const std::vector<SymInt>& sizes) {
  std::string text = "[";
  for (const SymInt& size : sizes) text += (text.size() > 1 ? ", " : "") + print(size);
  return text + "]";
}

class PayloadChecks {
 public:
  PayloadChecks(const Program& program, const Payloads& payloads, const ProgramPlace& place,
                Diagnostics& findings)
      : program_(program), payloads_(payloads), place_(place), findings_(findings) {}

  void run() {
    const std::vector<InputSpec>& specs = program_.signature.input_specs;
    for (size_t i = 0; i < specs.size(); ++i) check_spec(specs[i], i);
    collect_objects(program_.graph);
    check_unused();
  }

 private:
  void add(Rule rule, size_t spec, std::string text) {
    findings_.add(rule,
                  fmt::format("{}.graph_module.signature.input_specs[{}]", place_.program, spec),
                  std::move(text));
  }

  void check_spec(const InputSpec& spec, size_t index) {
    if (!spec.target || spec.target->empty()) return;
    const std::string what = fmt::format("{} '{}'", input_kind_name(spec.kind), *spec.target);
    used_names_.insert(*spec.target);
    if (spec.kind == InputKind::custom_obj && payloads_.find_object(*spec.target) == nullptr) {
      add(Rule::missing_payload, index, what + " has no payload");
    }
    if (!needs_tensor(spec.kind)) return;
    const PayloadTensor* payload = payloads_.bound_to(spec);
    if (is_misplaced(spec, payload)) {
      add(Rule::payload_place, index,
          fmt::format("{} lies among the {}", what,
                      belongs_to_constants(spec) ? "weights" : "constants"));
    } else if (payload == nullptr) {
      add(Rule::missing_payload, index, what + " has no payload");
    }
    if (payload == nullptr) return;
    ++specs_of_group_[payload->storage_group];
    if (spec.kind == InputKind::parameter && !payload->is_parameter) {
      add(Rule::parameter_class, index, what + " is a plain tensor, expected an nn.Parameter");
    }
    check_meta(spec, *payload, what, index);
  }

  static bool belongs_to_constants(const InputSpec& spec) {
    return spec.kind == InputKind::constant_tensor ||
           (spec.kind == InputKind::buffer && spec.persistent == false);
  }

  // True if the tensor is only among the payloads of the other kind, or if a non-persistent buffer
  // is among both.
  bool is_misplaced(const InputSpec& spec, const PayloadTensor* payload) const {
    const bool constant = belongs_to_constants(spec);
    const PayloadKind other = constant ? PayloadKind::weight : PayloadKind::constant;
    if (payloads_.find(other, *spec.target) == nullptr) return false;
    return payload == nullptr || (constant && spec.kind == InputKind::buffer);
  }

  void check_meta(const InputSpec& spec, const PayloadTensor& payload, const std::string& what,
                  size_t index) {
    const auto id = program_.graph.find_value(spec.arg.name);
    const TensorMeta* meta = id ? program_.graph.value(*id).tensor() : nullptr;
    if (meta == nullptr) return;
    const bool is_unknown = meta->dtype.number == 0;  // ScalarType.UNKNOWN
    // Schema 1 records nothing about constants.
    if (is_unknown && program_.schema_version.major <= 1) return;
    // A number that no known dtype has may be the payload's: a newer schema has more of them.
    const auto dtype = meta->dtype.dtype();
    const std::string_view recorded = is_unknown ? "UNKNOWN" : dtype ? dtype_name(*dtype) : "";
    if (!recorded.empty() && !payload.dtype.empty() && payload.dtype != recorded) {
      add(Rule::payload_meta_differs, index,
          fmt::format("{} has dtype {} in its payload, {} in the graph", what, payload.dtype,
                      recorded));
    }
    if (!fit_sizes(payload.sizes, *meta)) {
      add(Rule::payload_meta_differs, index,
          fmt::format("{} has sizes {} in its payload, {} in the graph", what,
                      bounded(sizes_text(payload.sizes)), recorded_sizes(*meta)));
    }
  }

  // The text is bounded and kept: it can be as long as the file, and any number of specs can name
  // the value.
  const std::string& recorded_sizes(const TensorMeta& meta) {
    auto [entry, is_new] = recorded_sizes_.try_emplace(&meta);
    if (is_new) entry->second = bounded(sizes_text(meta.sizes));
    return entry->second;
  }

  // Custom objects may be arguments of nodes without being inputs.
  void collect_objects(const Graph& graph) {
    for (NodeId id : graph.nodes()) {
      for (const NamedArgument& input : graph.node(id).inputs) {
        if (const auto* object = input.arg.get_if<CustomObject>()) used_names_.insert(object->name);
      }
    }
    for (const Graph& subgraph : graph.subgraphs()) collect_objects(subgraph);
  }

  // One finding for all: strict exports keep a counter of each batch norm that the graph lacks.
  void check_unused() {
    std::vector<std::string> names;
    std::string first_record;
    const auto add_unused = [&](const std::string& name, const std::string& record) {
      if (names.empty()) first_record = record;
      names.push_back(fmt::format("'{}'", name));
    };
    std::map<size_t, size_t> names_of_group;
    for (const PayloadTensor& tensor : payloads_.tensors()) ++names_of_group[tensor.storage_group];
    for (const PayloadTensor& tensor : payloads_.tensors()) {
      if (used_names_.contains(tensor.name)) continue;
      // In files of 2.5 to 2.7 the inputs of tied weights share one name. Such a group has as many
      // inputs as names, although not every name has an input.
      const auto specs = specs_of_group_.find(tensor.storage_group);
      if (specs != specs_of_group_.end() && specs->second >= names_of_group[tensor.storage_group])
        continue;
      add_unused(tensor.name, tensor.record);
    }
    for (const PayloadObject& object : payloads_.objects()) {
      if (used_names_.contains(object.name)) continue;
      add_unused(object.name, object.record);
    }
    if (names.empty()) return;
    constexpr size_t kShown = 3;
    const std::span<const std::string> shown(names.data(), std::min(names.size(), kShown));
    findings_.add(
        Rule::unused_payload, fmt::format("{}!{}", place_.file, first_record),
        fmt::format("nothing in the program names {}{}; 'pt2 strip' leaves {} out",
                    fmt::join(shown, ", "),
                    names.size() > kShown ? fmt::format(" and {} more", names.size() - kShown) : "",
                    names.size() == 1 ? "it" : "them"));
  }

  const Program& program_;
  const Payloads& payloads_;
  const ProgramPlace& place_;
  Diagnostics& findings_;
  std::set<std::string> used_names_;
  std::map<size_t, size_t> specs_of_group_;
  std::map<const TensorMeta*, std::string> recorded_sizes_;
};

}  // namespace

void check_payloads(const Program& program, const Payloads& payloads, const ProgramPlace& place,
                    Diagnostics& findings) {
  PayloadChecks(program, payloads, place, findings).run();
}

}  // namespace pt2
