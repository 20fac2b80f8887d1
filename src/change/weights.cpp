#include "pt2/tools/weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "change/contents.h"
#include "ir/node_origins.h"
#include "ir/version_facts.h"
#include "ops/convert.h"
#include "ops/loops.h"
#include "package/read_budget.h"
#include "pt2/ir/edit.h"

namespace pt2 {
namespace {

Error refused(std::string text, const std::string& name) {
  return {ErrorCode::argument, std::move(text), name};
}

// False if the loaded tensor depends on more than its elements.
bool is_plain(const SavedTensor& saved) {
  return saved.tensor.defined() && saved.pickled.empty() && !saved.is_fake;
}

// Tensors with equal keys show the same bytes if their storages hold the same bytes.
std::string content_key(const SavedTensor& saved) {
  const Tensor& tensor = saved.tensor;
  const Storage& storage = *tensor.storage();
  return fmt::format("{} {} {} {} {}", tensor.type_text(), fmt::join(tensor.strides(), ","),
                     tensor.storage_offset(), storage.size(), saved.device);
}

// Names of tied weights have equal views: the same elements of one storage.
using ViewKey = std::pair<const Storage*, std::string>;
ViewKey view_key(const SavedTensor& saved) {
  return {saved.tensor.storage().get(), content_key(saved)};
}

using KnownWeights = std::map<std::string, SavedTensor*, std::less<>>;

// Says how a name becomes one of the program's. DataParallel and torch.compile put a prefix before
// the names of a checkpoint, and a module around the exported one before those of the program.
std::string prefix_advice(const KnownWeights& known, std::string_view name) {
  for (size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1))
    if (const std::string_view rest = name.substr(dot + 1); known.contains(rest))
      return fmt::format(", but '{}'; --prefix {}= leaves the rest of such names", rest,
                         name.substr(0, dot + 1));
  for (const auto& [longer, saved] : known)
    if (longer.ends_with(fmt::format(".{}", name)))
      return fmt::format(", but '{}'; --prefix ={} puts this before all names", longer,
                         longer.substr(0, longer.size() - name.size()));
  return "; 'pt2 weights ls' lists them";
}

class WeightSetter {
 public:
  WeightSetter(SavedProgram& saved, NamedTensors tensors, const SetOptions& options)
      : saved_(saved), tensors_(std::move(tensors)), options_(options) {}

  Result<ChangeLines> run() {
    KnownWeights known;
    for_each_tensor(saved_, [&](SavedTensor& each) { known.emplace(each.name, &each); });
    std::set<ViewKey> given;
    std::set<std::string_view> names;
    for (auto& [name, tensor] : tensors_) {
      const auto found = known.find(name);
      if (found == known.end())
        return refused("the program has no weight of this name" + prefix_advice(known, name), name);
      if (!names.insert(name).second)
        return refused("two tensors of this name are given, expected one", name);
      PT2_TRY_VOID(check(*found->second, tensor));
      if (tensor.dtype() != found->second->tensor.dtype()) {
        Tensor converted = Tensor::zeros(found->second->tensor.dtype(), tensor.sizes());
        ops::copy_elements(converted, tensor);
        tensor = std::move(converted);
      }
      given.insert(view_key(*found->second));
    }
    // weights_of does not return tensors that are not plain. PyTorch's state dicts hold no
    // constants and no buffers that do not persist, and safetensors.torch.save_model writes tied
    // weights under one of their names.
    for (const SavedTensor& saved : state_of(saved_))
      if (!options_.partial && is_plain(saved) && !given.contains(view_key(saved)))
        return refused("no tensor is given for this weight; --partial keeps such weights",
                       saved.name);
    return replace(known);
  }

 private:
  Result<void> check(const SavedTensor& saved, const Tensor& tensor) const {
    if (!is_plain(saved))
      return Error{ErrorCode::unsupported,
                   "the weight has no plain elements (it is sparse, quantized or of a subclass), "
                   "and cannot be replaced",
                   saved.name};
    if (!tensor.has_memory())
      return refused(fmt::format("found no memory for the elements of {}", tensor.type_text()),
                     saved.name);
    const bool has_size = saved.tensor.sizes() == tensor.sizes();
    if (has_size && (options_.cast || saved.tensor.dtype() == tensor.dtype())) return {};
    return refused(fmt::format("found {}, expected {}{}", tensor.type_text(),
                               saved.tensor.type_text(), has_size ? "; --cast converts it" : ""),
                   saved.name);
  }

  // Views of one storage stay views of one storage: the elements are written into one copy of it.
  Result<ChangeLines> replace(const KnownWeights& known) {
    ChangeLines lines;
    std::map<const Storage*, std::vector<SavedTensor*>> views;
    for_each_tensor(saved_, [&](SavedTensor& each) {
      if (is_plain(each)) views[each.tensor.storage().get()].push_back(&each);
    });
    std::set<const Storage*> copies;
    for (const auto& [name, tensor] : tensors_) {
      SavedTensor& saved = *known.at(name);
      if (same_elements(saved.tensor, tensor)) continue;
      const Storage* old = saved.tensor.storage().get();
      if (!copies.contains(old)) {
        const std::shared_ptr<Storage> copy = Storage::allocate(old->size());
        copies.insert(copy.get());
        std::memcpy(copy->data(), old->data(), old->size());
        for (SavedTensor* view : views[old])
          view->tensor = Tensor::view_of(copy, view->tensor.dtype(), view->tensor.sizes(),
                                         view->tensor.strides(), view->tensor.storage_offset())
                             .value();
      }
      ops::copy_elements(saved.tensor, tensor);
      lines.push_back(fmt::format("{}: new elements, {}", name, tensor.type_text()));
    }
    // A later tensor may have overwritten the elements of an earlier one.
    for (const auto& [name, tensor] : tensors_)
      if (!lines.empty() && !same_elements(known.at(name)->tensor, tensor))
        return refused(
            "it shares memory with another weight, for which other elements are given; 'pt2 "
            "weights ls' lists which weights share memory",
            name);
    return lines;
  }

  // list_elements has bounded both tensors, and they have the same sizes.
  static bool same_elements(const Tensor& a, const Tensor& b) {
    const Tensor left = a.contiguous(), right = b.contiguous();
    if (left.numel() == 0) return true;
    return std::memcmp(left.raw_data(), right.raw_data(), static_cast<size_t>(left.nbytes())) == 0;
  }

  SavedProgram& saved_;
  NamedTensors tensors_;
  const SetOptions& options_;
};

// Returns nothing if a finite element would become infinite: where a mask holds the lowest number,
// a softmax of nothing but -inf is NaN.
std::optional<Tensor> cast(const Tensor& tensor, Dtype dtype) {
  const Tensor elements = packed(tensor);
  Tensor out = Tensor::zeros_strided(dtype, elements.sizes(), elements.strides());
  constexpr int64_t kChunk = 1024;
  double buffer[kChunk], rounded[kChunk];
  const int64_t from = dtype_size(elements.dtype()), to = dtype_size(dtype);
  for (int64_t start = 0; start < elements.numel(); start += kChunk) {
    const int64_t count = std::min(kChunk, elements.numel() - start);
    ops::load_elements(elements.raw_data() + start * from, 1, elements.dtype(), count, buffer);
    std::byte* target = out.raw_data() + start * to;
    ops::store_elements(buffer, count, dtype, 1, target);
    ops::load_elements(target, 1, dtype, count, rounded);
    for (int64_t i = 0; i < count; ++i)
      if (std::isfinite(buffer[i]) && !std::isfinite(rounded[i])) return std::nullopt;
  }
  return out;
}

// Records the weight's new dtype in the graph, and adds a node that casts it back for all users.
void cast_back(Program& program, const InputSpec& spec, Dtype stored, const Metadata& metadata) {
  Graph& graph = program.graph;
  const ValueId weight = *graph.find_value(spec.arg.name);
  TensorMeta meta = *graph.value(weight).tensor();
  const ScalarType computed = meta.dtype;
  GraphValue wide{.name = graph.unused_name(spec.arg.name + "_" + "wide"), .meta = meta};
  meta.dtype = {static_cast<int64_t>(dtype_info(stored).schema_number)};
  graph.set_value_meta(weight, meta);
  const ValueId result = graph.add_value(std::move(wide)).value();
  replace_all_uses(program, weight, result);
  Node node{.target = "torch.ops.aten.to.dtype",
            .inputs = {{.name = "self", .arg = Argument(weight)},
                       {.name = "dtype", .arg = Argument(computed)}},
            .outputs = {Argument(result)},
            .metadata = metadata};
  const int version = version_number(program.schema_version);
  for (NamedArgument& input : node.inputs) input.kind = usual_argument_kind(version);
  if (has_node_names(version)) node.name = graph.value(result).name;
  if (graph.nodes().empty())
    graph.add_node(std::move(node));
  else
    graph.insert_node(std::move(node), graph.nodes().front());
}

// Inputs of tied weights may share a name (2.5 to 2.7).
using SpecsByTarget = std::multimap<std::string_view, const InputSpec*>;

SpecsByTarget specs_by_target(const std::vector<InputSpec>& specs) {
  SpecsByTarget out;
  for (const InputSpec& spec : specs)
    if (spec.target) out.emplace(*spec.target, &spec);
  return out;
}

// True for a buffer, and for a tensor without an input. Operators may write to buffers without
// declaring it (batch_norm of a program in training), so buffers are never cast, and are only
// shared under the same name.
bool is_buffer(const SpecsByTarget& specs, const std::string& name) {
  const auto [first, last] = specs.equal_range(name);
  return first == last || std::any_of(first, last, [](const auto& spec) {
           return spec.second->kind == InputKind::buffer;
         });
}

bool is_floating(Dtype dtype) {
  return dtype_category(dtype) == DtypeCategory::floating && dtype_size(dtype) >= 2;
}

// The order of tensors with equal keys: that of the bytes of their storages.
struct LessStorageBytes {
  bool operator()(const SavedTensor* a, const SavedTensor* b) const {
    const Storage &left = *a->tensor.storage(), &right = *b->tensor.storage();
    return std::memcmp(left.data(), right.data(), left.size()) < 0;
  }
};

// The tensors of a program over one storage.
struct StorageGroup {
  std::vector<SavedTensor*> tensors{};
  // The names of buffers among them. Programs do not run on one another's buffers, so buffers must
  // have the same names.
  std::string buffers{};
  bool is_written = false;
};

// Returns the groups to which the program does not write, in the order of their first tensors.
std::vector<StorageGroup> storage_groups(SavedProgram& saved, const Program& program) {
  const std::set<std::string> written = written_targets(program);
  const SpecsByTarget specs = specs_by_target(program.signature.input_specs);
  std::vector<StorageGroup> groups;
  std::map<const Storage*, size_t> places;
  for_each_tensor(saved, [&](SavedTensor& each) {
    if (!is_plain(each) || each.tensor.numel() == 0) return;
    const auto [place, is_new] = places.emplace(each.tensor.storage().get(), groups.size());
    if (is_new) groups.emplace_back();
    StorageGroup& group = groups[place->second];
    group.tensors.push_back(&each);
    group.is_written = group.is_written || written.contains(each.name);
    if (is_buffer(specs, each.name)) group.buffers += " " + each.name;
  });
  std::erase_if(groups, &StorageGroup::is_written);
  return groups;
}

NamedTensors plain_tensors(SavedProgram& saved) {
  NamedTensors out;
  for_each_tensor(saved, [&](const SavedTensor& each) {
    if (is_plain(each)) out.emplace_back(each.name, each.tensor);
  });
  return out;
}

// Lists the tensors of a program whose elements will be read, and bounds the elements. In a file a
// few bytes may stand for more elements than any memory holds.
Result<void> list_elements(SavedProgram& saved) {
  PT2_TRY_VOID(list_tensors(saved));
  return check_elements(plain_tensors(saved));
}

}  // namespace

Result<NamedTensors> weights_of(const PackageContents& contents, std::string_view model) {
  PT2_TRY(const size_t index, find_saved(contents, model));
  SavedProgram saved = contents.programs[index];
  PT2_TRY_VOID(list_elements(saved));
  return plain_tensors(saved);
}

Result<ChangeLines> set_weights(PackageContents& contents, std::string_view model,
                                const NamedTensors& tensors, const SetOptions& options) {
  PT2_TRY(const size_t index, find_saved(contents, model));
  SavedProgram changed = contents.programs[index];
  PT2_TRY_VOID(list_elements(changed));
  PT2_TRY(ChangeLines lines, WeightSetter(changed, tensors, options).run());
  if (!lines.empty()) contents.programs[index] = std::move(changed);
  return lines;
}

Result<ChangeLines> cast_weights(PackageContents& contents, std::string_view model,
                                 const CastOptions& options) {
  if (!is_floating(options.from) || !is_floating(options.to))
    return Error{ErrorCode::argument,
                 fmt::format("found {} and {}, expected two floating dtypes of at least 16 bits",
                             dtype_name(options.from), dtype_name(options.to))};
  PT2_TRY(const size_t index, find_saved(contents, model));
  SavedProgram changed = contents.programs[index];
  PT2_TRY_VOID(list_elements(changed));
  PT2_TRY(Program program, decode_saved(changed));
  const std::set<std::string> written = written_targets(program);
  ChangeLines lines;
  // Casts equal views only once.
  std::map<ViewKey, std::optional<Tensor>> done;
  const std::vector<InputSpec> all_specs = program.signature.input_specs;
  const SpecsByTarget specs = specs_by_target(all_specs);
  // torch.export.unflatten fails if a node has no stack of modules.
  const Metadata metadata = root_metadata(program.graph);
  for_each_tensor(changed, [&](SavedTensor& saved) {
    if (!is_plain(saved) || saved.tensor.dtype() != options.from || written.contains(saved.name) ||
        is_buffer(specs, saved.name))
      return;
    const auto [first, last] = specs.equal_range(saved.name);
    const auto has_tensor = [&](const auto& spec) {
      const auto id = program.graph.find_value(spec.second->arg.name);
      return id && program.graph.value(*id).tensor() != nullptr;
    };
    if (!std::all_of(first, last, has_tensor)) return;
    const auto [view, is_new] = done.try_emplace(view_key(saved));
    if (is_new) view->second = cast(saved.tensor, options.to);
    if (!view->second) return;
    lines.push_back(
        fmt::format("{}: {} -> {}", saved.name, dtype_name(options.from), dtype_name(options.to)));
    saved.tensor = *view->second;
    for (auto spec = first; spec != last; ++spec)
      cast_back(program, *spec->second, options.to, metadata);
  });
  // A weight's other names, which no input has (2.5 to 2.7), stay names of the same tensor.
  for_each_tensor(changed, [&](SavedTensor& saved) {
    if (!is_plain(saved) || specs.contains(saved.name)) return;
    const auto view = done.find(view_key(saved));
    if (view != done.end() && view->second) saved.tensor = *view->second;
  });
  if (lines.empty()) return lines;
  changed.json = program_json(program);
  contents.programs[index] = std::move(changed);
  return lines;
}

Result<ChangeLines> share_weights(PackageContents& contents) {
  ChangeLines lines;
  std::vector<SavedProgram> programs = contents.programs;
  std::map<std::string, std::set<const SavedTensor*, LessStorageBytes>> known;
  for (SavedProgram& saved : programs) {
    PT2_TRY_VOID(list_tensors(saved));
    PT2_TRY(const Program program, decode_saved(saved));
    for (const StorageGroup& group : storage_groups(saved, program)) {
      // Tensors over one storage move together or not at all: they would lose their common memory.
      std::vector<const SavedTensor*> equal;
      std::set<const Storage*> storages;
      for (const SavedTensor* each : group.tensors) {
        equal.push_back(*known[content_key(*each) + group.buffers].insert(each).first);
        storages.insert(equal.back()->tensor.storage().get());
      }
      if (storages.size() != 1 || *storages.begin() == group.tensors[0]->tensor.storage().get())
        continue;
      for (size_t i = 0; i < equal.size(); ++i) {
        lines.push_back(fmt::format("{}: shared with {}", group.tensors[i]->name, equal[i]->name));
        group.tensors[i]->tensor = equal[i]->tensor;
      }
    }
  }
  if (lines.empty()) return lines;
  contents.programs = std::move(programs);
  contents.shares_storages = contents.era == Era::raw_payloads;
  return lines;
}

}  // namespace pt2
