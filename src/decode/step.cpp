#include "decode/step.h"

#include <algorithm>
#include <limits>
#include <new>

#include "ops/loops.h"
#include "run/model_shared.h"

namespace pt2::decode {
namespace {

Error at_input(std::string text, const ModelValue& input) {
  return {ErrorCode::unsupported, std::move(text), "input '" + input.name + "'"};
}

// Sizes of which all but the last are 1: batches of one sequence.
Result<Tensor> make_row(const ModelValue& input, std::span<const int64_t> values) {
  const TensorMeta& meta = *input.tensor;
  const auto dtype = meta.dtype.dtype();
  if (!dtype || dtype_category(*dtype) != DtypeCategory::integer || meta.sizes.size() > 3)
    return at_input("found " + input.type + ", expected integers [1, tokens]", input);
  Sizes sizes(meta.sizes.size(), 1);
  // Positions of images and texts, [3, 1, tokens], are the same for texts.
  if (sizes.size() == 3 && !meta.sizes[0].is_symbolic()) sizes[0] = meta.sizes[0].literal();
  if (sizes.empty() || meta.sizes.back() == 1) values = values.first(1);
  if (!sizes.empty()) sizes.back() = static_cast<int64_t>(values.size());
  if (const auto count = checked_numel(sizes); !count || *count > (int64_t{1} << 32))
    return at_input("found " + input.type + ", expected integers [1, tokens]", input);
  Tensor out = Tensor::zeros(*dtype, std::move(sizes));
  const Tensor row =
      Tensor::from<int64_t>(Dtype::int64, {static_cast<int64_t>(values.size())}, values);
  ops::copy_elements(out, out.dim() == 0 ? row.with_view({}, {}, 0) : row);
  return out;
}

// A size that the program fixes, or that follows from other inputs; else `otherwise`.
int64_t size_of(const SymInt& size, const SymbolBindings& symbols, int64_t otherwise) {
  const Result<int64_t> known = evaluate(size, symbols);
  return known ? *known : otherwise;
}

}  // namespace

Error at_program(Error error, const std::string& name) {
  const std::string step = "program '" + name + (error.where.empty() ? "'" : "', ");
  return at(std::move(error), step);
}

ProgramStep::ProgramStep(Model model, ProgramRoles roles, const StepSettings& settings)
    : model_(std::move(model)),
      roles_(std::move(roles)),
      settings_(settings),
      session_(model_, {.threads = settings.threads}) {
  stateless_ = roles_.cache.empty() && roles_.cache_outputs.empty() &&
               model_.shared()->written_storages().empty();
}

Result<ProgramStep> ProgramStep::make(Model model, const std::string& name,
                                      const StepSettings& settings) {
  Result<ProgramRoles> roles = find_roles(model.shared()->convention);
  if (!roles) return at_program(std::move(roles).error(), name);
  return ProgramStep(std::move(model), *std::move(roles), settings);
}

std::optional<int64_t> ProgramStep::tokens_at_once() const {
  const std::vector<SymInt>& sizes = model_.inputs()[roles_.ids].tensor->sizes;
  if (sizes.empty()) return 1;
  return sizes.back().is_symbolic() ? std::nullopt : std::optional(sizes.back().literal());
}

std::optional<int64_t> ProgramStep::vocabulary() const {
  const std::vector<SymInt>& sizes = model_.outputs()[roles_.logits].tensor->sizes;
  if (sizes.empty() || sizes.back().is_symbolic()) return std::nullopt;
  return sizes.back().literal();
}

int64_t ProgramStep::moving_window() const {
  int64_t out = 0;
  for (const CacheLayer& layer : roles_.layers)
    if (layer.moves_up) out = std::max(out, *layer.length);
  return out;
}

std::optional<int64_t> ProgramStep::window_of(const ModelValue& mask) const {
  const auto slides = [](const CacheLayer& layer) { return layer.window.has_value(); };
  const auto layer = std::ranges::find_if(roles_.layers, slides);
  const bool all_slide = layer != roles_.layers.end() && std::ranges::all_of(roles_.layers, slides);
  // Where layers differ each kind has a mask.
  if (!all_slide && mask.name.find("sliding") == mask.name.npos) return std::nullopt;
  return layer == roles_.layers.end() ? settings_.sliding_window : layer->window;
}

int64_t ProgramStep::first_tokens(int64_t count, const ProgramStep& next) const {
  SymRange range;
  const std::vector<SymInt>& sizes = model_.inputs()[roles_.ids].tensor->sizes;
  if (!sizes.empty() && sizes.back().is_symbolic()) {
    const RangeConstraint* found = find_range(model_.program(), sizes.back().expr());
    if (found != nullptr) range = found->range;
  } else {
    range = {1, sizes.empty() ? 1 : sizes.back().literal()};
  }
  if (range.max) count = std::min(count, *range.max);
  // Exporters take every size for two or more.
  const int64_t least = range.min.value_or(0) <= 2 ? 1 : *range.min;
  // A window that moves up has the latest tokens last, and one that is not full has not.
  return count < std::max(least, next.moving_window()) ? 0 : count;
}

std::optional<int64_t> ProgramStep::capacity(const Cache& cache) const {
  const bool grows = std::ranges::any_of(
      roles_.cache, [](const CacheEntry& entry) { return entry.growing.has_value(); });
  if (grows) return std::nullopt;
  // A window that neither moves up nor can be made larger.
  const bool is_filled_once = std::ranges::any_of(roles_.cache, [&](const CacheEntry& entry) {
    return entry.layer && entry.layer->window && entry.layer->length && !entry.layer->moves_up &&
           model_.inputs()[entry.input].tensor->sizes.size() > 1 && !open_dim(entry);
  });
  const SymbolBindings symbols = bind_sizes(1, cache);
  for (size_t i = 0; i < roles_.inputs.size(); ++i) {
    const ModelValue& input = model_.inputs()[i];
    if (roles_.inputs[i] != Role::mask || input.tensor->sizes.size() != 4 ||
        (window_of(input) && !is_filled_once))
      continue;
    if (const Result<int64_t> size = evaluate(input.tensor->sizes.back(), symbols)) return *size;
  }
  return std::nullopt;
}

Result<void> ProgramStep::start_cache(Cache& cache) const {
  for (size_t i = 0; i < roles_.cache.size(); ++i) {
    const CacheEntry& entry = roles_.cache[i];
    const ModelValue& input = model_.inputs()[entry.input];
    const auto dtype = input.tensor->dtype.dtype();
    if (!dtype) return at_input("its dtype is not known: " + input.type, input);
    Sizes sizes;
    for (size_t dim = 0; dim < input.tensor->sizes.size(); ++dim) {
      const SymInt& size = input.tensor->sizes[dim];
      const int64_t open = entry.growing == dim                 ? 0
                           : dim == 0                           ? 1
                           : entry.layer && entry.layer->length ? *entry.layer->length
                                                                : settings_.cache_length;
      sizes.push_back(size.is_symbolic() ? open : size.literal());
    }
    if (!checked_numel(sizes)) throw std::bad_alloc();
    Tensor value = Tensor::zeros(*dtype, std::move(sizes));
    if (entry.initial) ops::fill_elements(value, Scalar(*entry.initial));
    cache.set(i, std::move(value), entry.growing);
  }
  return {};
}

std::optional<size_t> ProgramStep::open_dim(const CacheEntry& entry) const {
  const std::vector<SymInt>& sizes = model_.inputs()[entry.input].tensor->sizes;
  for (size_t dim = 1; dim < sizes.size(); ++dim)
    if (sizes[dim].is_symbolic()) return dim;
  return std::nullopt;
}

void ProgramStep::make_room(Cache& cache, int64_t tokens) const {
  for (size_t i = 0; i < roles_.cache.size(); ++i) {
    const CacheEntry& entry = roles_.cache[i];
    if (!entry.layer || !entry.layer->window || !entry.layer->length || entry.layer->moves_up)
      continue;
    const std::optional<size_t> dim = open_dim(entry);
    if (dim && cache.value(i).size(static_cast<int64_t>(*dim)) < tokens)
      cache.enlarge(i, *dim, 2 * tokens);
  }
}

SymbolBindings ProgramStep::bind_sizes(int64_t count, const Cache& cache) const {
  SymbolBindings out;
  const auto bind = [&](const SymInt& size, int64_t value) {
    if (size.is_symbolic() && size.expr()->op == ExprOp::symbol)
      for (const SymbolId symbol : free_symbols(size.expr()))
        if (out.find(symbol) == nullptr) out.bind(symbol, Number(value));
  };
  const std::vector<SymInt>& ids = model_.inputs()[roles_.ids].tensor->sizes;
  for (size_t dim = 0; dim < ids.size(); ++dim) bind(ids[dim], dim + 1 == ids.size() ? count : 1);
  for (size_t i = 0; i < roles_.cache.size() && i < cache.size(); ++i) {
    const std::vector<SymInt>& sizes = model_.inputs()[roles_.cache[i].input].tensor->sizes;
    const Sizes& found = cache.value(i).sizes();
    for (size_t dim = 0; dim < sizes.size() && dim < found.size(); ++dim)
      bind(sizes[dim], found[dim]);
  }
  return out;
}

// [1, keys] says which tokens there are; [1, 1, tokens, keys] which of them a token may look at,
// as bools or as what is added to scores.
Result<Tensor> ProgramStep::make_mask(const ModelValue& input, int64_t count, int64_t position,
                                      const SymbolBindings& symbols) const {
  const TensorMeta& meta = *input.tensor;
  const auto dtype = meta.dtype.dtype();
  const size_t rank = meta.sizes.size();
  if (!dtype || (rank != 2 && rank != 4))
    return at_input("found " + input.type + ", expected [1, keys] or [1, 1, tokens, keys]", input);
  const int64_t keys = size_of(meta.sizes.back(), symbols, position + count);
  const int64_t rows = rank == 2 ? 1 : size_of(meta.sizes[2], symbols, count);
  Sizes sizes = rank == 2 ? Sizes{1, keys} : Sizes{1, 1, rows, keys};
  if (rank == 4) sizes[1] = size_of(meta.sizes[1], symbols, 1);
  if (keys < 0 || rows < 0 || sizes[1] < 0 || !checked_numel(sizes)) throw std::bad_alloc();
  Tensor out = Tensor::zeros(*dtype, sizes);
  const bool is_added = dtype_category(*dtype) == DtypeCategory::floating && rank == 4;
  const std::optional<int64_t> window = rank == 4 ? window_of(input) : std::nullopt;
  // A cache of the latest tokens alone has these last.
  const int64_t dropped = position + count - keys;
  const int64_t offset = !window               ? 0
                         : moving_window() > 0 ? dropped
                                               : std::max<int64_t>(dropped, 0);
  std::vector<uint8_t> keeps(static_cast<size_t>(rows * keys));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t last = rank == 2 ? position + count - 1 : position + row;
    const int64_t first = window ? std::max<int64_t>(last - *window + 1, 0) : 0;
    for (int64_t key = 0; key < keys; ++key)
      keeps[static_cast<size_t>(row * keys + key)] =
          key + offset >= first && key + offset <= last ? 1 : 0;
  }
  Tensor keep = Tensor::from<uint8_t>(Dtype::uint8, {rows, keys}, keeps);
  if (!is_added) {
    ops::copy_elements(out, keep);
    return out;
  }
  std::vector<float> added;
  for (const uint8_t each : keeps)
    added.push_back(each ? 0 : -std::numeric_limits<float>::infinity());
  ops::copy_elements(out, Tensor::from<float>(Dtype::float32, {rows, keys}, added));
  return out;
}

Result<Tensor> ProgramStep::make_input(size_t index, std::span<const int64_t> ids, int64_t position,
                                       const SymbolBindings& symbols) const {
  const ModelValue& input = model_.inputs()[index];
  if (roles_.inputs[index] == Role::ids) return make_row(input, ids);
  const auto count = static_cast<int64_t>(ids.size());
  if (roles_.inputs[index] == Role::mask) return make_mask(input, count, position, symbols);
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < count; ++i) positions.push_back(position + i);
  return make_row(input, positions);
}

Result<std::vector<Value>> ProgramStep::run(std::span<const int64_t> ids, int64_t position,
                                            Cache& cache, const CallOptions& options) {
  if (cache.is_empty()) PT2_TRY_VOID(start_cache(cache));
  cache.make_room(static_cast<int64_t>(ids.size()));
  make_room(cache, position + static_cast<int64_t>(ids.size()));
  std::vector<Value> inputs(roles_.inputs.size());
  std::vector<GrowingInput> growing;
  for (size_t i = 0; i < roles_.cache.size(); ++i) {
    inputs[roles_.cache[i].input] = Value(cache.value(i));
    if (auto room = cache.growing(i, roles_.cache[i].input)) growing.push_back(*std::move(room));
  }
  const SymbolBindings symbols = bind_sizes(static_cast<int64_t>(ids.size()), cache);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (roles_.inputs[i] == Role::cache) continue;
    if (roles_.inputs[i] == Role::constant) {
      inputs[i] = model_.shared()->convention.constants[i].value_or(Value());
      continue;
    }
    PT2_TRY(Tensor input, make_input(i, ids, position, symbols));
    inputs[i] = Value(std::move(input));
  }
  CallOptions call = options;
  call.growing = growing;
  PT2_TRY(std::vector<Value> results, session_.run(inputs, call));
  for (size_t i = 0; i < roles_.cache.size(); ++i)
    if (!roles_.cache[i].output)  // written in place, if at all
      if (const auto* written = inputs[roles_.cache[i].input].get_if<Tensor>())
        cache.set(i, *written, std::nullopt);
  return results;
}

Result<Tensor> ProgramStep::logits(const std::vector<Value>& results) const {
  const auto* scores = results[roles_.logits].get_if<Tensor>();
  if (scores == nullptr || scores->dim() == 0 || scores->numel() == 0)
    return Error{ErrorCode::unsupported,
                 "found " + results[roles_.logits].type_text() + ", expected scores of tokens",
                 "output '" + model_.outputs()[roles_.logits].name + "'"};
  const int64_t count = scores->sizes().back();
  int64_t offset = scores->storage_offset();
  for (int64_t dim = 0; dim + 1 < scores->dim(); ++dim)
    offset += (scores->size(dim) - 1) * scores->stride(dim);
  Tensor out = Tensor::zeros(Dtype::float32, {count});
  ops::copy_elements(out, scores->with_view({count}, {scores->strides().back()}, offset));
  return out;
}

void ProgramStep::reset() { session_ = Session(model_, {.threads = settings_.threads}); }

}  // namespace pt2::decode
