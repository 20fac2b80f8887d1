#include "decode/roles.h"

#include <algorithm>
#include <iterator>

namespace pt2::decode {
namespace {

struct KnownName {
  std::string_view name;
  Role role;
};
// Arguments of forward in Transformers ("past_key_values" or "cache_params", in later releases
// "cache"), in ExecuTorch's recipes and in torchtune.
constexpr KnownName kInputs[] = {
    {"decoder_input_ids", Role::ids},
    {"input_ids", Role::ids},
    {"tokens", Role::ids},
    {"token_ids", Role::ids},
    {"decoder_position_ids", Role::positions},
    {"position_ids", Role::positions},
    {"cache_position", Role::positions},
    {"input_pos", Role::positions},
    {"start_pos", Role::positions},
    {"positions", Role::positions},
    {"pos", Role::positions},
    {"decoder_attention_mask", Role::mask},
    {"attention_mask", Role::mask},
    {"encoder_attention_mask", Role::given_mask},
    {"encoder_hidden_states", Role::given},
    {"encoder_outputs", Role::given},
    {"past_key_values", Role::cache},
    {"past_key_value", Role::cache},
    {"cache_params", Role::cache},
    {"layer_past", Role::cache},
    {"cache", Role::cache},
};
constexpr KnownName kOutputs[] = {
    {"logits", Role::logits},      {"past_key_values", Role::cache},
    {"cache_params", Role::cache}, {"present_key_values", Role::cache},
    {"cache", Role::cache},        {"last_hidden_state", Role::other},
};

// Returns "past_key_values" for "past_key_values[3]". Returns "args" for "args[0]", which has no
// name of its own.
std::string_view root_of(std::string_view name) {
  if (!name.empty() && name.front() == '.') name.remove_prefix(1);
  return name.substr(0, name.find_first_of(".["));
}
// True if a name is that of a cache and a number: "past_key_values_3".
bool is_numbered(std::string_view root, const KnownName& cache) {
  if (cache.role != Role::cache || !root.starts_with(cache.name)) return false;
  root.remove_prefix(cache.name.size());
  return root.size() > 1 && root[0] == '_' && root[1] >= '0' && root[1] <= '9';
}
std::optional<Role> known(std::span<const KnownName> names, std::string_view name) {
  const std::string_view root = root_of(name);
  const auto found = std::ranges::find_if(
      names, [&](const KnownName& each) { return each.name == root || is_numbered(root, each); });
  return found == names.end() ? std::nullopt : std::optional(found->role);
}

// Returns the role of an input in a program whose tokens are called `ids`. Beside
// "decoder_input_ids", "input_ids" and "attention_mask" belong to the encoder
// (T5ForConditionalGeneration.forward).
Role input_role(std::string_view name, std::string_view ids) {
  constexpr std::string_view kDecoder = "decoder_";
  const Role role = known(kInputs, name).value_or(Role::given);
  if (!ids.starts_with(kDecoder) || root_of(name).starts_with(kDecoder)) return role;
  if (role == Role::ids) return Role::given;
  return role == Role::mask ? Role::given_mask : role;
}

// Returns the first known name of token ids that an input has.
std::string_view name_of_ids(std::span<const ModelValue> inputs) {
  for (const KnownName& each : kInputs)
    for (const ModelValue& input : inputs)
      if (each.role == Role::ids && root_of(input.name) == each.name) return each.name;
  return "";
}

bool is_of(DtypeCategory category, const ModelValue& value) {
  const auto dtype = value.tensor == nullptr ? std::nullopt : value.tensor->dtype.dtype();
  return dtype && dtype_category(*dtype) == category;
}

// Returns the dimensions whose sizes a step changes; nothing if it changes their number.
std::optional<std::vector<size_t>> changed_dims(const ModelValue& before, const ModelValue& after) {
  if (before.tensor == nullptr || after.tensor == nullptr ||
      before.tensor->sizes.size() != after.tensor->sizes.size())
    return std::nullopt;
  std::vector<size_t> out;
  for (size_t dim = 0; dim < before.tensor->sizes.size(); ++dim)
    if (!(before.tensor->sizes[dim] == after.tensor->sizes[dim])) out.push_back(dim);
  return out;
}

// Returns the only dimension whose size a step changes.
std::optional<size_t> growing_dim(const ModelValue& before, const ModelValue& after) {
  const auto changed = changed_dims(before, after);
  return changed && changed->size() == 1 ? std::optional((*changed)[0]) : std::nullopt;
}

// True if an output may be the next value of an input: it has the input's dtype and sizes, except
// one that may grow. A state has no size that is the number of the new tokens.
bool may_follow(const ModelValue& before, const ModelValue& after, const ModelValue& ids) {
  const auto changed = changed_dims(before, after);
  if (!changed || changed->size() > 1 ||
      before.tensor->dtype.dtype() != after.tensor->dtype.dtype())
    return false;
  if (!changed->empty() && !after.tensor->sizes[(*changed)[0]].is_symbolic()) return false;
  if (ids.tensor->sizes.empty() || !ids.tensor->sizes.back().is_symbolic()) return true;
  return std::ranges::find(before.tensor->sizes, ids.tensor->sizes.back()) ==
         before.tensor->sizes.end();
}

// Finds the caches that no name of an output tells: as many outputs beside the scores as the
// program takes caches or, if it has its own names for these, inputs that each output in its place
// may follow.
void find_unnamed_caches(std::span<const ModelValue> inputs, std::span<const ModelValue> outputs,
                         ProgramRoles& out) {
  const auto caches = static_cast<size_t>(std::ranges::count(out.inputs, Role::cache));
  if (caches + 1 == outputs.size())
    for (size_t i = 0; i < outputs.size(); ++i)
      if (i != out.logits) out.outputs[i] = Role::cache;
  if (caches > 0) return;
  std::vector<size_t> taken, returned;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (out.inputs[i] == Role::given && !known(kInputs, inputs[i].name)) taken.push_back(i);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (i != out.logits && outputs[i].tensor != nullptr) returned.push_back(i);
  if (taken.size() != returned.size()) return;
  for (size_t i = 0; i < taken.size(); ++i)
    if (inputs[taken[i]].name.find("mask") != std::string::npos ||
        !may_follow(inputs[taken[i]], outputs[returned[i]], inputs[out.ids]))
      return;
  for (const size_t i : taken) out.inputs[i] = Role::cache;
  for (const size_t i : returned) out.outputs[i] = Role::cache;
}

// Binds a step's outputs to the inputs that they replace in the next step.
void bind_cache(std::span<const ModelValue> inputs, std::span<const ModelValue> outputs,
                ProgramRoles& out) {
  const Result<std::vector<size_t>> sources = match_caches(out.cache_outputs, out.cache);
  if (!sources) return;
  for (size_t i = 0; i < out.cache.size(); ++i) {
    CacheEntry& entry = out.cache[i];
    entry.output = (*sources)[i];
    entry.growing = growing_dim(inputs[entry.input], outputs[*entry.output]);
    entry.has_beginning = entry.growing || known(kInputs, inputs[entry.input].name);
  }
}

// Returns names and initial values for the tensors that are a cache.
std::vector<CacheLeaf> input_leaves(const run::CallingConvention& convention) {
  std::vector<CacheLeaf> out;
  for (const CallArgument& argument : convention.arguments)
    std::ranges::move(cache_leaves(argument.spec), std::back_inserter(out));
  out.resize(convention.inputs.size());
  return out;
}

// One leaf for each of the caller's outputs; gradients are not leaves of the result.
std::vector<CacheLeaf> output_leaves(const run::CallingConvention& convention) {
  std::vector<CacheLeaf> out = cache_leaves(convention.result);
  out.resize(convention.outputs.size());
  return out;
}

std::vector<CacheLayer> layers_of(std::span<const CacheLeaf> leaves) {
  std::vector<CacheLayer> out;
  for (const CacheLeaf& leaf : leaves)
    if (leaf.layer && std::ranges::find(out, *leaf.layer) == out.end()) out.push_back(*leaf.layer);
  return out;
}

// "; the first input is 'x', f32[2, 3]", or nothing if there is none.
std::string first_of(std::span<const ModelValue> values, std::string_view what) {
  if (values.empty()) return "";
  return "; the first " + std::string(what) + " is '" + values[0].name + "', " + values[0].type;
}

// Gives each input its role, and finds the token ids.
Result<void> assign_inputs(const run::CallingConvention& convention, ProgramRoles& out) {
  const std::vector<ModelValue>& inputs = convention.inputs;
  const std::string_view ids_name = name_of_ids(inputs);
  const auto integers = std::ranges::count_if(inputs, [](const ModelValue& each) {
    return is_of(DtypeCategory::integer, each) && !known(kInputs, each.name);
  });
  std::optional<size_t> ids;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ModelValue& input = inputs[i];
    Role role = input.tensor == nullptr ? Role::constant : input_role(input.name, ids_name);
    // A number that differs from call to call: forward(tokens, start_pos).
    if (role == Role::constant && !convention.constants[i] &&
        known(kInputs, input.name) == Role::positions)
      role = Role::positions;
    // The only integers of a program that takes tokens and returns scores, under any name.
    if (role == Role::given && integers == 1 && ids_name.empty() &&
        is_of(DtypeCategory::integer, input))
      role = Role::ids;
    if (role == Role::ids) {
      if (ids || !is_of(DtypeCategory::integer, input))
        return Error{
            ErrorCode::unsupported,
            "found " + input.type +
                (ids ? ", expected one input of token ids" : ", expected integers: token ids"),
            "input '" + input.name + "'"};
      ids = i;
    }
    out.inputs.push_back(role);
  }
  if (!ids)
    return Error{ErrorCode::unsupported,
                 "found no input of token ids, expected 'input_ids'" + first_of(inputs, "input"),
                 ""};
  out.ids = *ids;
  return {};
}

// Gives each output its role, and finds the scores.
Result<void> assign_outputs(std::span<const ModelValue> outputs, ProgramRoles& out) {
  std::optional<size_t> logits;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Role role = known(kOutputs, outputs[i].name).value_or(Role::other);
    out.outputs.push_back(outputs[i].tensor == nullptr ? Role::other : role);
    if (out.outputs.back() == Role::logits && !logits) logits = i;
  }
  // In a program that returns a tuple, scores come first and caches follow.
  if (!logits && !outputs.empty() && is_of(DtypeCategory::floating, outputs[0]) &&
      !known(kOutputs, outputs[0].name)) {
    logits = 0;
    out.outputs[0] = Role::logits;
  }
  if (!logits || !is_of(DtypeCategory::floating, outputs[*logits]))
    return Error{
        ErrorCode::unsupported,
        "found no output of scores of tokens, expected 'logits'" + first_of(outputs, "output"), ""};
  out.logits = *logits;
  return {};
}

}  // namespace

std::string_view role_name(Role role) {
  switch (role) {
    case Role::ids:
      return "token ids";
    case Role::positions:
      return "positions";
    case Role::mask:
      return "mask";
    case Role::given:
      return "given";
    case Role::given_mask:
      return "mask of the encoder";
    case Role::cache:
      return "cache";
    case Role::logits:
      return "logits";
    case Role::constant:
      return "constant";
    case Role::other:
      return "";
  }
  return "";
}

Result<std::vector<size_t>> match_caches(std::span<const CacheOutput> outputs,
                                         std::span<const CacheEntry> entries) {
  const auto is_named = [](const auto& each) { return !each.name.empty(); };
  const bool by_name =
      std::ranges::all_of(outputs, is_named) && std::ranges::all_of(entries, is_named);
  std::vector<size_t> out;
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto found = by_name ? std::ranges::find(outputs, entries[i].name, &CacheOutput::name)
                       : outputs.size() == entries.size()
                           ? outputs.begin() + static_cast<ptrdiff_t>(i)
                           : outputs.end();
    if (found == outputs.end())
      return Error{ErrorCode::unsupported,
                   "found " + std::to_string(outputs.size()) +
                       " tensors of a cache among the outputs, expected the " +
                       std::to_string(entries.size()) + " that the next step takes" +
                       (by_name ? "; '" + entries[i].name + "' is missing" : ""),
                   ""};
    out.push_back(found->output);
  }
  return out;
}

Result<ProgramRoles> find_roles(const run::CallingConvention& convention) {
  const std::vector<ModelValue>&inputs = convention.inputs, &outputs = convention.outputs;
  ProgramRoles out;
  PT2_TRY_VOID(assign_inputs(convention, out));
  PT2_TRY_VOID(assign_outputs(outputs, out));
  const bool names_caches = std::ranges::count(out.outputs, Role::cache) > 0;
  if (!names_caches) find_unnamed_caches(inputs, outputs, out);
  std::vector<CacheLeaf> taken = input_leaves(convention), given = output_leaves(convention);
  // A first step without an input cache returns one. Other programs return the cache after the
  // step, with the same layers.
  out.layers = layers_of(taken);
  if (out.layers.empty()) out.layers = layers_of(given);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (out.inputs[i] == Role::cache)
      out.cache.push_back({.input = i,
                           .name = std::move(taken[i].path),
                           .initial = taken[i].initial,
                           .layer = taken[i].layer});
  // A first step takes no cache, and may call those that it returns as it likes.
  const bool is_unnamed = out.cache.empty() && !names_caches;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (out.outputs[i] == Role::cache ||
        (is_unnamed && out.outputs[i] == Role::other && outputs[i].tensor != nullptr))
      out.cache_outputs.push_back({i, std::move(given[i].path)});
  bind_cache(inputs, outputs, out);
  return out;
}

}  // namespace pt2::decode
