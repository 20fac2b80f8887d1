#include <fmt/format.h>

#include <algorithm>

#include "change/contents.h"
#include "pt2/format/pickle_write.h"
#include "pt2/tools/weights.h"

namespace pt2 {
namespace {

// Metadata that is removed. It tells where a node comes from, with paths of somebody's machine. The
// names of modules stay, because people find their way by them.
constexpr std::string_view kTraces[] = {"stack_trace", "from_node", "source_fn_stack", "custom"};

// Strips one graph, without its nested graphs; returns the number of bytes removed.
size_t strip_traces(Graph& graph) {
  size_t bytes = 0;
  for (const NodeId id : graph.nodes()) {
    Metadata kept;
    for (const auto& entry : graph.node(id).metadata) {
      if (std::ranges::find(kTraces, entry.first) == std::end(kTraces))
        kept.push_back(entry);
      else
        bytes += entry.second.size();
    }
    if (kept.size() != graph.node(id).metadata.size()) graph.set_node_metadata(id, std::move(kept));
  }
  graph.stack_traces.reset();
  return bytes;
}

bool is_weight(InputKind kind) {
  return kind == InputKind::parameter || kind == InputKind::buffer ||
         kind == InputKind::constant_tensor;
}

// Removes graph inputs of weights that nothing uses or writes. True if there were any.
bool drop_unused_inputs(Program& program) {
  const std::set<std::string> written = written_targets(program);
  std::vector<Argument> inputs;
  std::vector<InputSpec> specs;
  std::vector<ValueId> dropped;
  const auto& all = program.signature.input_specs;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto* id = program.graph.inputs()[i].get_if<ValueId>();
    if (id != nullptr && is_weight(all[i].kind) && program.graph.uses(*id).empty() &&
        !written.contains(all[i].target.value_or(""))) {
      dropped.push_back(*id);
      continue;
    }
    inputs.push_back(program.graph.inputs()[i]);
    specs.push_back(all[i]);
  }
  if (dropped.empty()) return false;
  program.graph.set_inputs(std::move(inputs));
  program.signature.input_specs = std::move(specs);
  for (const ValueId id : dropped) program.graph.erase_value(id).value();
  return true;
}

class Stripper {
 public:
  Stripper(SavedProgram& saved, const StripOptions& options) : saved_(saved), options_(options) {}

  Result<ChangeLines> run() {
    if (options_.example_inputs) strip_example_inputs();
    if (!options_.unused && !options_.metadata) return std::move(lines_);
    PT2_TRY(Program program, decode_saved(saved_));
    bool changed = false;
    if (options_.metadata) changed |= strip_metadata(program);
    if (options_.unused) {
      PT2_TRY_VOID(list_tensors(saved_));
      changed |= program.signature.input_specs.size() == program.graph.inputs().size() &&
                 drop_unused_inputs(program);
      strip_unused(program);
      if (!reads_whole_storages(program.graph)) shrink_storages();
    }
    if (changed) saved_.json = program_json(program);
    return std::move(lines_);
  }

 private:
  bool strip_metadata(Program& program) {
    size_t bytes = 0;
    for_each_graph(program.graph, [&](Graph& graph) { bytes += strip_traces(graph); });
    if (bytes == 0) return false;
    lines_.push_back(fmt::format("{}: {} bytes of stack traces and origins", saved_.name, bytes));
    return true;
  }

  void strip_unused(const Program& program) {
    std::set<std::string> used;
    for (const InputSpec& spec : program.signature.input_specs)
      if (spec.target) used.insert(*spec.target);
    for (std::vector<SavedTensor>* tensors : {&state_of(saved_), &constants_of(saved_)})
      std::erase_if(*tensors, [&](const SavedTensor& each) {
        if (used.contains(each.name)) return false;
        lines_.push_back(fmt::format("{}: unused", each.name));
        return true;
      });
  }

  // as_strided, in all its forms, finds elements by their place in the storage, also elements that
  // the tensor does not show.
  static bool reads_whole_storages(const Graph& graph) {
    const auto is_strided = [&](NodeId id) {
      return graph.node(id).target.find("as_strided") != std::string::npos;
    };
    return std::ranges::any_of(graph.nodes(), is_strided) ||
           std::ranges::any_of(graph.subgraphs(), reads_whole_storages);
  }

  // A storage is written whole. If its only tensor uses a part of it, the tensor gets a storage of
  // its own.
  void shrink_storages() {
    std::map<const Storage*, std::vector<SavedTensor*>> groups;
    for_each_tensor(saved_, [&](SavedTensor& each) {
      if (each.tensor.defined() && each.pickled.empty() && !each.is_fake)
        groups[each.tensor.storage().get()].push_back(&each);
    });
    for (const auto& [storage, tensors] : groups) {
      SavedTensor& only = *tensors.front();
      if (tensors.size() > 1 || static_cast<uint64_t>(only.tensor.nbytes()) >= storage->size() ||
          only.tensor.numel() == 0)
        continue;
      lines_.push_back(fmt::format("{}: {} of {} bytes of its storage are used", only.name,
                                   only.tensor.nbytes(), storage->size()));
      only.tensor = packed(only.tensor);
    }
  }

  // Empties the record: releases from 2.8 on refuse a file without it.
  void strip_example_inputs() {
    if (saved_.sample_inputs.bytes.empty()) return;
    lines_.push_back(fmt::format("{}: {} bytes of example inputs", saved_.name,
                                 saved_.sample_inputs.bytes.size()));
    saved_.sample_inputs = {};
  }

  SavedProgram& saved_;
  const StripOptions& options_;
  ChangeLines lines_;
};

}  // namespace

Result<ChangeLines> strip(PackageContents& contents, const StripOptions& options) {
  ChangeLines lines;
  std::vector<SavedProgram> programs = contents.programs;
  for (SavedProgram& saved : programs) {
    PT2_TRY(ChangeLines own, Stripper(saved, options).run());
    lines.insert(lines.end(), own.begin(), own.end());
  }
  if (!lines.empty()) contents.programs = std::move(programs);
  return lines;
}

}  // namespace pt2
