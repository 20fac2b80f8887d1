#include "decode/step.h"

#include <algorithm>
#include <limits>
#include <new>

#include "decode/cache_room.h"
#include "ops/loops.h"
#include "run/model_shared.h"

namespace pt2::decode {
namespace {

// Exporters mark a size that may be any as this or more.
constexpr int64_t kAnySize = 2;

Error at_input(std::string text, const ModelValue& input) {
  return {ErrorCode::unsupported, std::move(text), "input '" + input.name + "'"};
}

// A number that the dtype does not hold would stand for another one.
Result<void> check_range(const ModelValue& input, Dtype dtype, std::span<const int64_t> values) {
  if (dtype == Dtype::int64) return {};
  const auto count = static_cast<int64_t>(values.size());
  Tensor stored = Tensor::zeros(dtype, {count}), loaded = Tensor::zeros(Dtype::int64, {count});
  ops::copy_elements(stored, Tensor::from<int64_t>(Dtype::int64, {count}, values));
  ops::copy_elements(loaded, stored);
  const auto wrong = std::ranges::mismatch(values, loaded.as<int64_t>()).in1;
  if (wrong == values.end()) return {};
  return Error{ErrorCode::argument,
               "found " + std::to_string(*wrong) + ", expected " + std::string(dtype_name(dtype)),
               "input '" + input.name + "'"};
}

// Returns [sequences, tokens]. For a program without that rank or size: one row for all sequences,
// or one token for each sequence.
Result<Tensor> make_rows(const ModelValue& input, std::span<const int64_t> values,
                         int64_t sequences) {
  const TensorMeta& meta = *input.tensor;
  const auto dtype = meta.dtype.dtype();
  const size_t rank = meta.sizes.size();
  if (!dtype || dtype_category(*dtype) != DtypeCategory::integer || rank > 3)
    return at_input("found " + input.type + ", expected integers [sequences, tokens]", input);
  const auto count = static_cast<int64_t>(values.size()) / sequences;
  const bool is_one_row = rank < 2 || meta.sizes[rank - 2] == 1;
  const bool is_one_token = rank == 0 || meta.sizes.back() == 1;
  const Tensor rows =
      Tensor::from<int64_t>(Dtype::int64, {sequences, count}, values)
          .with_view({is_one_row ? 1 : sequences, is_one_token ? 1 : count}, {count, 1}, 0);
  Sizes sizes = rows.sizes();
  if (rank < 2) sizes.erase(sizes.begin(), sizes.end() - static_cast<ptrdiff_t>(rank));
  // Positions for images and texts, [3, sequences, tokens], are the same for texts in all 3 rows.
  if (rank == 3)
    sizes.insert(sizes.begin(), meta.sizes[0].is_symbolic() ? 1 : meta.sizes[0].literal());
  if (const auto numel = checked_numel(sizes); !numel || *numel > (int64_t{1} << 32))
    return at_input("found " + input.type + ", expected integers [sequences, tokens]", input);
  const Tensor source = rank < 2 ? rows.with_view(sizes, Sizes(rank, 1), 0) : rows;
  PT2_TRY_VOID(check_range(input, *dtype, values));
  Tensor out = Tensor::zeros(*dtype, std::move(sizes));
  ops::copy_elements(out, source);
  return out;
}

// Returns a mask of the attended keys, as bools or integers; as a summand of the scores if
// `is_added`.
Tensor mask_of(Dtype dtype, const Tensor& keeps, bool is_added) {
  Tensor out = Tensor::zeros(dtype, keeps.sizes());
  if (!is_added) {
    ops::copy_elements(out, keeps);
    return out;
  }
  Tensor added = Tensor::zeros(Dtype::float32, keeps.sizes());
  std::ranges::transform(keeps.as<uint8_t>(), added.data<float>(), [](uint8_t each) {
    return each != 0 ? 0.0f : -std::numeric_limits<float>::infinity();
  });
  ops::copy_elements(out, added);
  return out;
}
bool is_added(Dtype dtype, size_t rank) {
  return dtype_category(dtype) == DtypeCategory::floating && rank == 4;
}

// Positions in the text do not count padding; positions in the cache do.
bool is_place_in_text(const ModelValue& positions) {
  return positions.name.find("position_ids") != positions.name.npos;
}

// Returns a size that the program fixes or that follows from other inputs; else `otherwise`.
int64_t size_of(const SymInt& size, const SymbolBindings& symbols, int64_t otherwise) {
  const Result<int64_t> known = evaluate(size, symbols);
  return known ? *known : otherwise;
}

// Binds the symbol that a size consists of, unless it is bound already.
void bind_symbol(SymbolBindings& symbols, const SymInt& size, int64_t value) {
  if (size.is_symbolic() && size.expr()->op == ExprOp::symbol)
    for (const SymbolId symbol : free_symbols(size.expr()))
      if (symbols.find(symbol) == nullptr) symbols.bind(symbol, Number(value));
}

// Returns the range of a dimension's size.
SymRange range_of(const SymInt& size, const Program& program) {
  if (!size.is_symbolic()) return {size.literal(), size.literal()};
  const RangeConstraint* found = find_range(program, size.expr());
  return found == nullptr ? SymRange{} : found->range;
}

// Returns the encoder's result for an input. Matches by name, "last_hidden_state" for
// "encoder_outputs.last_hidden_state"; else takes the first result if it is floating point.
const Tensor* find_encoded(const ModelValue& input, const NamedTensors& encoded) {
  const auto is_called = [&](const auto& each) {
    return input.name == each.first || input.name.ends_with("." + each.first);
  };
  const auto found = std::ranges::find_if(encoded, is_called);
  if (found != encoded.end()) return &found->second;
  const bool is_states =
      dtype_category(encoded.empty() ? Dtype::bool_ : encoded[0].second.dtype()) ==
      DtypeCategory::floating;
  return is_states ? &encoded[0].second : nullptr;
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
  // An output cache without a matching input is unused.
  stateless_ = roles_.cache.empty() && model_.shared()->written_storages().empty();
  std::vector<size_t> positions;
  for (size_t i = 0; i < roles_.inputs.size(); ++i)
    if (roles_.inputs[i] == Role::positions)
      positions.push_back(model_.shared()->convention.input_positions[i]);
  const Graph& graph = model_.program().graph;
  room_ = cache_room(graph, positions);
  // A position that is a number may be as great as its range says.
  for (const size_t position : positions)
    for_each_value(graph.inputs()[position], [&](ValueId id) {
      const auto* number = std::get_if<SymInt>(&graph.value(id).meta);
      if (number == nullptr) return;
      const std::optional<int64_t> most = range_of(*number, model_.program()).max;
      if (most && *most < std::numeric_limits<int64_t>::max())
        room_ = std::min(room_.value_or(*most + 1), *most + 1);
    });
  // A call takes a cache of the greatest size, and one more token.
  for (const CacheEntry& entry : roles_.cache)
    if (const auto most = greatest_size(entry))
      room_ = std::min(room_.value_or(*most + 1), *most + 1);
}

Result<ProgramStep> ProgramStep::make(Model model, const std::string& name,
                                      const StepSettings& settings) {
  Result<ProgramRoles> roles = find_roles(model.shared()->convention);
  if (!roles) return at_program(std::move(roles).error(), name);
  return ProgramStep(std::move(model), *std::move(roles), settings);
}

Result<void> ProgramStep::check_keeps_cache() const {
  const Model::Shared& shared = *model_.shared();
  const auto is_kept = [&](const CacheEntry& entry) {
    return entry.output || shared.written[shared.convention.input_positions[entry.input]];
  };
  // What an encoder made may stay as it is beside what the program writes.
  if (roles_.cache.empty() || std::ranges::any_of(roles_.cache, is_kept)) return {};
  Result<std::vector<size_t>> matched = match_caches(roles_.cache_outputs, roles_.cache);
  if (matched) return {};
  Error error = std::move(matched).error();
  error.message += ": return them as 'past_key_values', or alone behind the logits";
  return error;
}

std::optional<int64_t> ProgramStep::tokens_at_once() const {
  const std::vector<SymInt>& sizes = model_.inputs()[roles_.ids].tensor->sizes;
  return sizes.empty() ? 1 : range_of(sizes.back(), model_.program()).max;
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
  // If layers differ, each kind has its own mask.
  if (!all_slide && mask.name.find("sliding") == mask.name.npos) return std::nullopt;
  return layer == roles_.layers.end() ? settings_.sliding_window : layer->window;
}

SymRange ProgramStep::sequences_at_once() const {
  const std::vector<SymInt>& sizes = model_.inputs()[roles_.ids].tensor->sizes;
  return sizes.size() < 2 ? SymRange{1, 1} : range_of(sizes[sizes.size() - 2], model_.program());
}

bool ProgramStep::knows_padding() const {
  // One row for all sequences has room for the padding of one.
  const SymRange sequences = sequences_at_once();
  const bool is_one = sequences.min == 1 && sequences.max == 1;
  const auto is_of_each = [&](const std::vector<SymInt>& sizes, size_t dim) {
    return is_one || (dim < sizes.size() && !(sizes[dim] == SymInt(1)));
  };
  bool hides = false, counts = false;
  for (size_t i = 0; i < roles_.inputs.size(); ++i) {
    const ModelValue& input = model_.inputs()[i];
    if (roles_.inputs[i] == Role::mask) {
      hides = true;
      if (!is_of_each(input.tensor->sizes, 0)) return false;
    }
    if (roles_.inputs[i] == Role::positions && is_place_in_text(input) && input.tensor != nullptr) {
      counts = true;
      if (!is_of_each(input.tensor->sizes, input.tensor->sizes.size() - 2)) return false;
    }
  }
  return hides && counts;
}

int64_t ProgramStep::least_keys() const {
  int64_t out = 1;
  for (size_t i = 0; i < roles_.inputs.size(); ++i) {
    if (roles_.inputs[i] != Role::mask) continue;
    const std::vector<SymInt>& sizes = model_.inputs()[i].tensor->sizes;
    if (sizes.size() != 2 || !sizes[1].is_symbolic()) continue;
    const int64_t least = range_of(sizes[1], model_.program()).min.value_or(0);
    if (least > kAnySize) out = std::max(out, least);
  }
  return out;
}

std::vector<std::string> ProgramStep::given_names() const {
  std::vector<std::string> out;
  for (size_t i = 0; i < roles_.inputs.size(); ++i)
    if (roles_.inputs[i] == Role::given || roles_.inputs[i] == Role::given_mask)
      out.push_back(model_.inputs()[i].name);
  return out;
}

int64_t ProgramStep::first_tokens(int64_t count, const ProgramStep& next) const {
  const std::vector<SymInt>& sizes = model_.inputs()[roles_.ids].tensor->sizes;
  const SymRange range = sizes.empty() ? SymRange{1, 1} : range_of(sizes.back(), model_.program());
  if (range.max) count = std::min(count, *range.max);
  const int64_t least =
      range.min.value_or(0) <= kAnySize || range.min == range.max ? 1 : *range.min;
  // A window that moves up holds the latest tokens last, which requires a full window.
  return count < std::max(least, next.moving_window()) ? 0 : count;
}

std::optional<int64_t> ProgramStep::greatest_size(const CacheEntry& entry) const {
  const std::vector<SymInt>& ids = model_.inputs()[roles_.ids].tensor->sizes;
  if (!entry.growing || ids.empty()) return std::nullopt;
  const SymInt& before = model_.inputs()[entry.input].tensor->sizes[*entry.growing];
  const SymInt& after = model_.outputs()[*entry.output].tensor->sizes[*entry.growing];
  const std::optional<int64_t> most = range_of(before, model_.program()).max;
  if (!most) return std::nullopt;
  SymbolBindings symbols;
  bind_symbol(symbols, before, *most);
  bind_symbol(symbols, ids.back(), 1);
  // A window of the latest tokens stays at its greatest size.
  const Result<int64_t> next = evaluate(after, symbols);
  return next && *next > *most ? most : std::nullopt;
}

std::optional<int64_t> ProgramStep::capacity(const Batch& batch, const Cache& cache) const {
  const bool grows = std::ranges::any_of(
      roles_.cache, [](const CacheEntry& entry) { return entry.growing.has_value(); });
  if (grows) return room_;
  // A window that neither moves up nor can be enlarged.
  const bool is_filled_once = std::ranges::any_of(roles_.cache, [&](const CacheEntry& entry) {
    return entry.layer && entry.layer->window && entry.layer->length && !entry.layer->moves_up &&
           model_.inputs()[entry.input].tensor->sizes.size() > 1 && !open_dim(entry);
  });
  const SymbolBindings symbols = bind_sizes(1, batch, cache);
  for (size_t i = 0; i < roles_.inputs.size(); ++i) {
    const ModelValue& input = model_.inputs()[i];
    if (roles_.inputs[i] != Role::mask || input.tensor->sizes.size() != 4 ||
        (window_of(input) && !is_filled_once))
      continue;
    if (const Result<int64_t> size = evaluate(input.tensor->sizes.back(), symbols))
      return std::min(room_.value_or(*size), *size);
  }
  return room_;
}

Result<void> ProgramStep::start_cache(const Batch& batch, Cache& cache) const {
  for (size_t i = 0; i < roles_.cache.size(); ++i) {
    const CacheEntry& entry = roles_.cache[i];
    const ModelValue& input = model_.inputs()[entry.input];
    const auto dtype = input.tensor->dtype.dtype();
    if (!dtype) return at_input("its dtype is not known: " + input.type, input);
    if (!entry.has_beginning)
      return Error{ErrorCode::argument,
                   "its value before the first token is not known: begin with as many tokens as "
                   "the program for the first tokens takes",
                   "input '" + input.name + "'"};
    Sizes sizes;
    for (size_t dim = 0; dim < input.tensor->sizes.size(); ++dim) {
      const SymInt& size = input.tensor->sizes[dim];
      const int64_t open = entry.growing == dim                 ? 0
                           : dim == 0                           ? batch.size
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

const Tensor* ProgramStep::find_given(const ModelValue& input, const Batch& batch) const {
  const auto found = std::ranges::find(batch.given, input.name, &NamedTensors::value_type::first);
  if (found != batch.given.end()) return &found->second;
  const bool is_states = input.tensor != nullptr && input.tensor->dtype.dtype() &&
                         dtype_category(*input.tensor->dtype.dtype()) == DtypeCategory::floating;
  return is_states ? find_encoded(input, batch.encoded) : nullptr;
}

SymbolBindings ProgramStep::bind_sizes(int64_t count, const Batch& batch,
                                       const Cache& cache) const {
  SymbolBindings out;
  const auto bind_all = [&](size_t input, const Sizes& found) {
    const std::vector<SymInt>& sizes = model_.inputs()[input].tensor->sizes;
    for (size_t dim = 0; dim < sizes.size() && dim < found.size(); ++dim)
      bind_symbol(out, sizes[dim], found[dim]);
  };
  const std::vector<SymInt>& ids = model_.inputs()[roles_.ids].tensor->sizes;
  for (size_t dim = 0; dim < ids.size(); ++dim)
    bind_symbol(out, ids[dim], dim + 1 == ids.size() ? count : batch.size);
  for (size_t i = 0; i < roles_.cache.size() && i < cache.size(); ++i)
    bind_all(roles_.cache[i].input, cache.value(i).sizes());
  for (size_t i = 0; i < roles_.inputs.size(); ++i)
    if (roles_.inputs[i] == Role::given || roles_.inputs[i] == Role::given_mask)
      if (const Tensor* given = find_given(model_.inputs()[i], batch)) bind_all(i, given->sizes());
  return out;
}

// Returns a mask. [sequences, keys] marks the keys that are tokens. [sequences, heads, tokens,
// keys] marks the keys that each token may attend to, as bools or as a summand of the scores.
Result<Tensor> ProgramStep::make_mask(const ModelValue& input, const StepTokens& tokens,
                                      const Batch& batch, const SymbolBindings& symbols) const {
  const TensorMeta& meta = *input.tensor;
  const auto dtype = meta.dtype.dtype();
  const size_t rank = meta.sizes.size();
  if (!dtype || (rank != 2 && rank != 4))
    return at_input("found " + input.type + ", expected [1, keys] or [1, 1, tokens, keys]", input);
  const int64_t end = tokens.position + tokens.count;
  const int64_t sequences = size_of(meta.sizes[0], symbols, batch.size);
  const int64_t keys = size_of(meta.sizes.back(), symbols, end);
  const int64_t rows = rank == 2 ? 1 : size_of(meta.sizes[2], symbols, tokens.count);
  const int64_t heads = rank == 2 ? 1 : size_of(meta.sizes[1], symbols, 1);
  const Sizes one_head = rank == 2 ? Sizes{sequences, keys} : Sizes{sequences, 1, rows, keys};
  if (sequences < 0 || keys < 0 || rows < 0 || heads < 0 || !checked_numel(one_head))
    throw std::bad_alloc();
  const std::optional<int64_t> window = rank == 4 ? window_of(input) : std::nullopt;
  // A cache of only the latest tokens holds them last.
  const int64_t dropped = end - keys;
  const int64_t offset = !window               ? 0
                         : moving_window() > 0 ? dropped
                                               : std::max<int64_t>(dropped, 0);
  Tensor keeps = Tensor::zeros(Dtype::uint8, one_head);
  uint8_t* next = keeps.data<uint8_t>();
  for (int64_t sequence = 0; sequence < sequences; ++sequence) {
    const int64_t padding = sequence < batch.size ? batch.padding_of(sequence) : 0;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t last = rank == 2 ? end - 1 : tokens.position + row;
      int64_t first = std::max(window ? last - *window + 1 : 0, padding);
      // Padding attends to itself: a fully masked row makes NaN, which spreads to the rows that
      // attend to it.
      if (rank == 4) first = std::min(first, last);
      for (int64_t key = 0; key < keys; ++key)
        *next++ = key + offset >= first && key + offset <= last ? 1 : 0;
    }
  }
  Tensor out = mask_of(*dtype, keeps, is_added(*dtype, rank));
  if (heads == 1) return out;
  Sizes sizes = one_head;
  sizes[1] = heads;
  if (!checked_numel(sizes)) throw std::bad_alloc();
  Tensor of_heads = Tensor::zeros(*dtype, std::move(sizes));
  ops::copy_elements(of_heads, out);
  return of_heads;
}

Result<Tensor> ProgramStep::make_given_mask(const ModelValue& input, const Batch& batch,
                                            const SymbolBindings& symbols) const {
  const TensorMeta& meta = *input.tensor;
  const auto dtype = meta.dtype.dtype();
  if (!dtype || meta.sizes.size() != 2)
    return at_input("found " + input.type + ", expected [sequences, tokens of the encoder]", input);
  if (batch.encoded_mask.defined()) {
    Tensor out = Tensor::zeros(*dtype, batch.encoded_mask.sizes());
    ops::copy_elements(out, batch.encoded_mask);
    return out;
  }
  const int64_t encoded = !batch.encoded.empty() && batch.encoded[0].second.dim() > 1
                              ? batch.encoded[0].second.size(1)
                              : 0;
  Sizes sizes = {size_of(meta.sizes[0], symbols, batch.size),
                 size_of(meta.sizes[1], symbols, encoded)};
  if (sizes[0] < 0 || sizes[1] < 0 || !checked_numel(sizes)) throw std::bad_alloc();
  Tensor out = Tensor::zeros(*dtype, std::move(sizes));
  ops::fill_elements(out, Scalar(int64_t{1}));
  return out;
}

Result<Tensor> ProgramStep::make_input(size_t index, const StepTokens& tokens, const Batch& batch,
                                       const SymbolBindings& symbols) const {
  const ModelValue& input = model_.inputs()[index];
  const Role role = roles_.inputs[index];
  if (role == Role::ids) return make_rows(input, tokens.ids, batch.size);
  if (role == Role::mask) return make_mask(input, tokens, batch, symbols);
  if (role == Role::given || role == Role::given_mask) {
    if (const Tensor* given = find_given(input, batch)) return *given;
    if (role == Role::given_mask) return make_given_mask(input, batch, symbols);
    return Error{ErrorCode::argument, "found nothing given for it, expected " + input.type,
                 "input '" + input.name + "'"};
  }
  const bool in_text = is_place_in_text(input);
  std::vector<int64_t> positions;
  for (int64_t sequence = 0; sequence < batch.size; ++sequence)
    for (int64_t i = 0; i < tokens.count; ++i)
      positions.push_back(
          std::max<int64_t>(tokens.position + i - (in_text ? batch.padding_of(sequence) : 0), 0));
  return make_rows(input, positions, batch.size);
}

Result<std::vector<Value>> ProgramStep::run(const StepTokens& tokens, const Batch& batch,
                                            Cache& cache, const CallOptions& options) {
  if (cache.is_empty()) PT2_TRY_VOID(start_cache(batch, cache));
  cache.make_room(tokens.count);
  make_room(cache, tokens.position + tokens.count);
  std::vector<Value> inputs(roles_.inputs.size());
  std::vector<GrowingInput> growing;
  for (size_t i = 0; i < roles_.cache.size(); ++i) {
    inputs[roles_.cache[i].input] = Value(cache.value(i));
    if (auto room = cache.growing(i, roles_.cache[i].input)) growing.push_back(*std::move(room));
  }
  const SymbolBindings symbols = bind_sizes(tokens.count, batch, cache);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (roles_.inputs[i] == Role::cache) continue;
    if (roles_.inputs[i] == Role::constant) {
      inputs[i] = model_.shared()->convention.constants[i].value_or(Value());
      continue;
    }
    if (model_.inputs()[i].tensor == nullptr) {  // the first position, as a number
      inputs[i] = Value(tokens.position);
      continue;
    }
    PT2_TRY(Tensor input, make_input(i, tokens, batch, symbols));
    inputs[i] = Value(std::move(input));
  }
  CallOptions call = options;
  call.growing = growing;
  PT2_TRY(std::vector<Value> results, session_.run(inputs, call));
  for (size_t i = 0; i < roles_.cache.size(); ++i)
    if (!roles_.cache[i].output)  // at most written in place
      if (const auto* written = inputs[roles_.cache[i].input].get_if<Tensor>())
        cache.set(i, *written, std::nullopt);
  return results;
}

Result<Tensor> ProgramStep::logits(const std::vector<Value>& results, const Batch& batch) const {
  const auto* scores = results[roles_.logits].get_if<Tensor>();
  const auto fail = [&] {
    return Error{ErrorCode::unsupported,
                 "found " + results[roles_.logits].type_text() + ", expected scores of tokens",
                 "output '" + model_.outputs()[roles_.logits].name + "'"};
  };
  if (scores == nullptr || scores->dim() == 0 || scores->numel() == 0) return fail();
  // The last token of each sequence; for one sequence, the last row of all dimensions.
  const bool has_sequences = batch.size > 1;
  if (has_sequences && (scores->dim() < 2 || scores->size(0) != batch.size)) return fail();
  int64_t offset = scores->storage_offset();
  for (int64_t dim = has_sequences ? 1 : 0; dim + 1 < scores->dim(); ++dim)
    offset += (scores->size(dim) - 1) * scores->stride(dim);
  const int64_t count = scores->sizes().back();
  Tensor out = Tensor::zeros(Dtype::float32, {batch.size, count});
  ops::copy_elements(
      out, scores->with_view({batch.size, count},
                             {has_sequences ? scores->stride(0) : count, scores->strides().back()},
                             offset));
  return out;
}

void ProgramStep::reset() { session_ = Session(model_, {.threads = settings_.threads}); }

}  // namespace pt2::decode
