#include "pt2/decoder.h"

#include <algorithm>
#include <new>

#include "base/platform.h"
#include "base/text.h"
#include "decode/encoder.h"
#include "decode/exported_folder.h"
#include "decode/shared_weights.h"
#include "decode/step.h"
#include "run/call_budget.h"
#include "run/model_shared.h"

namespace pt2 {

using decode::Batch;
using decode::Cache;
using decode::CacheEntry;
using decode::ExportedFolder;
using decode::ProgramStep;
using decode::StepTokens;

struct Decoder::State {
  GenerationSettings settings;
  Limits limits;
  unsigned threads = 0;
  std::optional<Model> encoder;
  std::optional<ProgramStep> first;  // for a batch's first tokens; absent if no program is for them
  std::optional<ProgramStep> next;   // always present
  std::vector<size_t> sources;       // outputs of `first` with the first cache values of `next`
  Batch batch;
  Cache cache;
  std::vector<std::vector<int64_t>> history;  // of each sequence, for stateless programs
  int64_t position = 0;
  uint64_t shared_bytes = 0;

  // Runs the same number of tokens for each sequence of the batch. Returns scores [sequences,
  // vocabulary].
  Result<Tensor> feed(std::span<const int64_t> ids, const CallOptions& options);
  Result<Tensor> feed_checked(std::span<const int64_t> ids, const CallOptions& options);
  // Error `limit` if the ids of the batch take more memory than a call may hold.
  Result<void> check_batch(size_t tokens) const;
  Result<Tensor> feed_first(const StepTokens& tokens, const CallOptions& options);
  Result<Tensor> feed_next(const StepTokens& tokens, const CallOptions& options);
  Result<Tensor> feed_all(const StepTokens& tokens, const CallOptions& options);
  void reset();
  std::vector<std::string> encoder_inputs() const;
  // Returns the names for all programs.
  std::vector<std::string> given_names() const;
  // Returns how many of `count` sequences can run together.
  int64_t sequences_at_once(int64_t count) const;
  bool knows_padding() const;
  // Returns how many tokens a text must begin with, padding included.
  size_t least_tokens() const;
  // Returns how many tokens may follow the prompts. Error `argument` if the options or settings are
  // out of range, or the prompts too long for the settings.
  Result<int64_t> new_tokens(std::span<const std::vector<int64_t>> prompts,
                             const GenerateOptions& options) const;
  // Fills `out` with the continuation of each prompt, of at most `most` tokens; `number` is the
  // index of the first prompt. False if a callback ended the generation.
  Result<bool> generate(std::span<const std::vector<int64_t>> prompts, size_t number, int64_t most,
                        const GenerateOptions& options, std::span<Generated> out);
  std::optional<Error> unknown_token(std::span<const int64_t> ids) const;
};

namespace {

constexpr int64_t kDefaultNewTokens = 64;

// All tokens together may compute as much as this many calls, for each kDefaultNewTokens tokens
// that the caller asks for. The file alone may ask for any number.
constexpr uint64_t kCallsForTokens = 2;

struct NamedModel {
  std::string name;
  std::shared_ptr<const Package> package;
  std::string model;  // name within the package
};

Result<std::shared_ptr<const Package>> open_package(const std::string& path, const Limits& limits) {
  PT2_TRY(Package package, Package::open(path, limits));
  return std::make_shared<const Package>(std::move(package));
}

std::string list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& each : names) out += (out.empty() ? "" : ", ") + each;
  return out;
}

template <class Named>
Error no_decoder(const std::vector<Named>& programs, const std::string& path) {
  std::vector<std::string> names;
  for (const Named& each : programs) names.push_back(each.name);
  return {ErrorCode::unsupported,
          "expected one program, or programs called 'prefill' and 'decode', and 'encoder' if there "
          "is one; found " +
              list(names),
          path};
}

// Opens the programs of a folder or a file.
Result<std::vector<NamedModel>> open_programs(const std::string& path,
                                              const DecoderOptions& options,
                                              ExportedFolder& folder) {
  std::vector<NamedModel> out;
  if (decode::is_folder(path)) {
    PT2_TRY(folder, decode::read_exported_folder(path));
    // No more are used. A manifest may name one file thousands of times.
    constexpr size_t kMostPrograms = 3;
    if (folder.programs.size() > kMostPrograms) return no_decoder(folder.programs, path);
    for (const decode::FolderProgram& program : folder.programs) {
      PT2_TRY(auto package, open_package(program.path, options.limits));
      out.push_back({program.name, std::move(package), ""});
    }
    return out;
  }
  PT2_TRY(const auto package, open_package(path, options.limits));
  for (const std::string& name : package->models()) out.push_back({name, package, name});
  return out;
}

const NamedModel* find_model(const std::vector<NamedModel>& models, std::string_view name) {
  const auto found = std::ranges::find(models, name, &NamedModel::name);
  return found == models.end() ? nullptr : &*found;
}

Result<Tensor> tensor_of(Value& value, const std::string& name) {
  if (auto* tensor = value.get_if<Tensor>()) return std::move(*tensor);
  return Error{ErrorCode::unsupported, "found " + value.type_text() + ", expected a tensor",
               "output '" + name + "'"};
}

}  // namespace

std::string_view stop_reason_name(StopReason reason) {
  switch (reason) {
    case StopReason::max_new_tokens:
      return "max_new_tokens";
    case StopReason::stop_id:
      return "stop_id";
    case StopReason::cache_full:
      return "cache_full";
    case StopReason::callback:
      return "callback";
  }
  return "";
}

Decoder::Decoder(std::unique_ptr<State> state) : state_(std::move(state)) {}
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;
Decoder::~Decoder() = default;

Result<Decoder> Decoder::open(const std::string& path, const DecoderOptions& options) {
  ExportedFolder folder;
  PT2_TRY(const std::vector<NamedModel> models, open_programs(path, options, folder));
  const NamedModel* next = find_model(models, "decode");
  if (next == nullptr) next = find_model(models, "decoder");
  const NamedModel* first = next == nullptr ? nullptr : find_model(models, "prefill");
  const NamedModel* encoder = next == nullptr ? nullptr : find_model(models, decode::kEncoder);
  if (next == nullptr && models.size() == 1) next = &models[0];
  const size_t used = 1u + (first != nullptr) + (encoder != nullptr);
  if (next == nullptr || models.size() > used) return no_decoder(models, path);

  const decode::StepSettings settings{.threads = options.threads,
                                      .cache_length = options.cache_length,
                                      .sliding_window = folder.sliding_window};
  decode::SharedWeights weights;
  const auto load = [&](const NamedModel& named) -> Result<Model> {
    const LoadOptions load_options{.limits = options.limits,
                                   .model = named.model,
                                   .operators = options.operators,
                                   .engine = options.engine};
    PT2_TRY(auto payloads, named.package->payloads(named.model));
    Result<Model> model =
        run::make_model(named.package, load_options, run::engine_factory(options.engine),
                        [&](const PayloadTensor& weight) { return weights.find(weight); });
    if (!model) return decode::at_program(std::move(model).error(), named.name);
    weights.add(std::move(payloads));
    return model;
  };
  const auto load_step = [&](const NamedModel& named) -> Result<ProgramStep> {
    PT2_TRY(Model model, load(named));
    return ProgramStep::make(std::move(model), named.name, settings);
  };
  auto state = std::make_unique<State>();
  // Loads `next` first: it runs for most tokens, and its weights are used directly from its file.
  PT2_TRY(state->next, load_step(*next));
  if (const Result<void> keeps = state->next->check_keeps_cache(); !keeps)
    return decode::at_program(keeps.error(), next->name);
  if (first != nullptr) {
    PT2_TRY(state->first, load_step(*first));
    PT2_TRY(state->sources,
            decode::match_caches(state->first->roles().cache_outputs, state->next->roles().cache));
  }
  if (encoder != nullptr) {
    PT2_TRY(state->encoder, load(*encoder));
  }
  state->settings = std::move(folder.settings);
  state->threads = options.threads;
  state->limits = options.limits;
  state->shared_bytes = weights.shared_bytes();
  state->batch.size = state->sequences_at_once(1);
  return Decoder(std::move(state));
}

const GenerationSettings& Decoder::settings() const { return state_->settings; }
int64_t Decoder::position() const { return state_->position; }
uint64_t Decoder::copied_bytes() const { return state_->cache.copied_bytes(); }
uint64_t Decoder::shared_bytes() const { return state_->shared_bytes; }

std::optional<int64_t> Decoder::capacity() const {
  return state_->next->capacity(state_->batch, state_->cache);
}

void Decoder::State::reset() {
  batch.size = sequences_at_once(1);
  batch.padding.clear();
  cache.clear();
  history.clear();
  position = 0;
  next->reset();
  if (first) first->reset();
}
void Decoder::reset() { state_->reset(); }

std::vector<std::string> Decoder::State::encoder_inputs() const {
  std::vector<std::string> out;
  if (encoder)
    for (const ModelValue& input : encoder->inputs())
      if (input.tensor != nullptr) out.push_back(input.name);
  return out;
}

std::vector<std::string> Decoder::State::given_names() const {
  std::vector<std::string> out = encoder_inputs();
  for (const ProgramStep* step : {first ? &*first : nullptr, &*next})
    if (step != nullptr)
      for (std::string& name : step->given_names())
        if (std::ranges::find(out, name) == out.end()) out.push_back(std::move(name));
  return out;
}

std::vector<std::string> Decoder::given_names() const {
  return state_->encoder ? state_->encoder_inputs() : state_->given_names();
}

Result<void> Decoder::give(NamedTensors inputs, const CallOptions& options) {
  const std::vector<std::string> names = state_->given_names();
  for (const auto& [name, tensor] : inputs)
    if (std::ranges::find(names, name) == names.end())
      return Error{ErrorCode::argument,
                   names.empty() ? "no program has such an input: they take nothing beside tokens"
                                 : "no program has such an input, expected " + list(names),
                   "input '" + name + "'"};
  reset();
  Batch batch{.size = state_->batch.size, .given = std::move(inputs)};
  if (state_->encoder) {
    const MemoryAccount::Scope scope(
        run::open_account(state_->limits, state_->encoder->shared()->file_bytes));
    Result<void> done = within_memory(
        [&] { return decode::encode(*state_->encoder, state_->threads, options, batch); });
    if (!done) return decode::at_program(std::move(done).error(), std::string(decode::kEncoder));
  }
  state_->batch = std::move(batch);
  return {};
}

Result<Tensor> Decoder::State::feed_first(const StepTokens& tokens, const CallOptions& options) {
  Cache before;
  PT2_TRY(std::vector<Value> results, first->run(tokens, batch, before, options));
  PT2_TRY(Tensor logits, first->logits(results, batch));
  for (size_t i = 0; i < sources.size(); ++i) {
    PT2_TRY(Tensor value,
            tensor_of(results[sources[i]], first->model().outputs()[sources[i]].name));
    cache.set(i, std::move(value), next->roles().cache[i].growing);
  }
  position += tokens.count;
  return logits;
}

Result<Tensor> Decoder::State::feed_next(const StepTokens& tokens, const CallOptions& options) {
  PT2_TRY(std::vector<Value> results, next->run(tokens, batch, cache, options));
  PT2_TRY(Tensor logits, next->logits(results, batch));
  const std::vector<CacheEntry>& entries = next->roles().cache;
  // An error must leave all entries as they are.
  std::vector<Tensor> values(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].output) continue;
    const size_t output = *entries[i].output;
    PT2_TRY(values[i], tensor_of(results[output], next->model().outputs()[output].name));
  }
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i].output) cache.set(i, std::move(values[i]), entries[i].growing);
  position += tokens.count;
  return logits;
}

Result<Tensor> Decoder::State::feed_all(const StepTokens& tokens, const CallOptions& options) {
  std::vector<std::vector<int64_t>> sequences = history;
  sequences.resize(static_cast<size_t>(batch.size));
  std::vector<int64_t> all;
  for (size_t i = 0; i < sequences.size(); ++i) {
    const auto added = tokens.ids.subspan(i * static_cast<size_t>(tokens.count),
                                          static_cast<size_t>(tokens.count));
    sequences[i].insert(sequences[i].end(), added.begin(), added.end());
    all.insert(all.end(), sequences[i].begin(), sequences[i].end());
  }
  Cache none;
  const StepTokens whole{.ids = all, .count = position + tokens.count};
  PT2_TRY(const std::vector<Value> results, next->run(whole, batch, none, options));
  PT2_TRY(Tensor logits, next->logits(results, batch));
  history = std::move(sequences);
  position = whole.count;
  return logits;
}

Result<Tensor> Decoder::State::feed(std::span<const int64_t> ids, const CallOptions& options) {
  int64_t left = static_cast<int64_t>(ids.size()) / batch.size;
  int64_t done = 0;
  std::vector<int64_t> columns;
  // Returns the next `count` tokens of each sequence.
  const auto take = [&](int64_t count) {
    columns.clear();
    for (int64_t i = 0; i < batch.size; ++i) {
      const auto part =
          ids.subspan(static_cast<size_t>(i * (done + left) + done), static_cast<size_t>(count));
      columns.insert(columns.end(), part.begin(), part.end());
    }
    return StepTokens{.ids = columns, .count = count, .position = position};
  };
  const auto go_on = [&](int64_t count) {
    done += count;
    left -= count;
  };
  if (next->is_stateless()) return feed_all(take(left), options);
  if (position == 0 && first) {
    const int64_t count = first->first_tokens(left, *next);
    if (count > 0) {
      Result<Tensor> logits = feed_first(take(count), options);
      // Guards may restrict sizes more than the ranges do; the other program may accept the tokens.
      const bool is_refused = !logits && logits.error().code == ErrorCode::argument;
      if (!is_refused && (!logits || count == left)) return logits;
      if (!is_refused) go_on(count);
    }
  }
  const int64_t at_once = std::max<int64_t>(next->tokens_at_once().value_or(left), 1);
  while (true) {
    const int64_t count = std::min(left, at_once);
    PT2_TRY(Tensor logits, feed_next(take(count), options));
    go_on(count);
    if (left == 0) return logits;
  }
}

// Some programs embed more tokens than they have scores for, so an id is reported as wrong only
// after a failed call.
std::optional<Error> Decoder::State::unknown_token(std::span<const int64_t> ids) const {
  const std::optional<int64_t> size = next->vocabulary();
  if (!size) return std::nullopt;
  const auto found = std::ranges::find_if(ids, [&](int64_t id) { return id < 0 || id >= *size; });
  if (found == ids.end()) return std::nullopt;
  return Error{ErrorCode::argument,
               "found token id " + std::to_string(*found) + ", expected 0 to " +
                   std::to_string(*size - 1) + ": the vocabulary has " + std::to_string(*size) +
                   " tokens",
               ""};
}

Result<Tensor> Decoder::State::feed_checked(std::span<const int64_t> ids,
                                            const CallOptions& options) {
  if (ids.empty())
    return Error{ErrorCode::argument, "found no token ids, expected one or more", ""};
  if (encoder && batch.encoded.empty())
    return Error{ErrorCode::argument,
                 "the encoder was given nothing, expected " + list(encoder_inputs()), ""};
  const int64_t count = static_cast<int64_t>(ids.size()) / batch.size;
  if (const auto most = next->capacity(batch, cache); most && count > *most - position)
    return Error{ErrorCode::limit,
                 "the cache has room for " + std::to_string(*most) + " tokens, found " +
                     (position > 0 ? std::to_string(position) + " in it and " : "") +
                     std::to_string(count) + (position > 0 ? " more" : ""),
                 ""};
  const MemoryAccount::Scope scope(
      run::open_account(limits, next->model().shared()->file_bytes + cache.bytes()));
  const int64_t start = position;
  const bool calls_again = start > 0 && count > next->tokens_at_once().value_or(count);
  Cache before = calls_again ? cache : Cache();
  Result<Tensor> logits = within_memory([&] { return feed(ids, options); });
  if (!logits && start == 0) {  // the cache was empty, and may be incomplete now
    position = 0;
    cache.clear();
  } else if (!logits && position != start) {  // earlier calls for these tokens succeeded
    position = start;
    cache = std::move(before);
  }
  if (!logits && logits.error().code == ErrorCode::invalid)
    if (std::optional<Error> unknown = unknown_token(ids)) return *std::move(unknown);
  return logits;
}

// The number of sequences may come from the file.
Result<void> Decoder::State::check_batch(size_t tokens) const {
  const MemoryAccount::Scope scope(
      run::open_account(limits, next->model().shared()->file_bytes + cache.bytes()));
  return within_memory([&]() -> Result<void> {
    Sizes sizes = {batch.size, static_cast<int64_t>(tokens)};
    if (!checked_numel(sizes)) throw std::bad_alloc();
    Tensor::zeros(Dtype::int64, std::move(sizes));
    return {};
  });
}

Result<Tensor> Decoder::feed(std::span<const int64_t> ids, const CallOptions& options) {
  PT2_TRY_VOID(state_->check_batch(ids.size()));
  std::vector<int64_t> of_all;
  for (int64_t i = 0; i < state_->batch.size; ++i)
    of_all.insert(of_all.end(), ids.begin(), ids.end());
  PT2_TRY(const Tensor logits, state_->feed_checked(of_all, options));
  return logits.with_view({logits.size(1)}, {1}, 0);
}

int64_t Decoder::State::sequences_at_once(int64_t count) const {
  const SymRange range = next->sequences_at_once();
  if (range.min == range.max) return range.max.value_or(count);
  const int64_t most = std::min(count, range.max.value_or(count));
  return first ? std::min(most, first->sequences_at_once().max.value_or(most)) : most;
}

bool Decoder::State::knows_padding() const {
  return next->knows_padding() && (!first || first->knows_padding());
}

size_t Decoder::State::least_tokens() const {
  if (!knows_padding()) return 0;
  // The second call has the keys of the first, and one more.
  const int64_t least = first ? std::max(first->least_keys(), next->least_keys() - 1)
                        : next->tokens_at_once() == 1 ? 0
                                                      : next->least_keys();
  return static_cast<size_t>(least);
}

namespace {

Result<void> check_sampling(const Sampling& sampling) {
  if (sampling.temperature >= 0 && sampling.top_p > 0 && sampling.top_k >= 0) return {};
  return Error{ErrorCode::argument,
               "found temperature " + print_float(sampling.temperature) + ", top_k " +
                   std::to_string(sampling.top_k) + " and top_p " + print_float(sampling.top_p) +
                   ", expected temperature >= 0, top_k >= 0 and top_p > 0",
               ""};
}

// Returns the prompts of a batch, each after padding to `length`. The batch may have more sequences
// than prompts: these repeat the last prompt.
std::vector<int64_t> pad(std::span<const std::vector<int64_t>> prompts, size_t length,
                         Batch& batch) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < batch.size; ++i) {
    const std::vector<int64_t>& prompt =
        prompts[std::min(static_cast<size_t>(i), prompts.size() - 1)];
    const size_t padding = length - prompt.size();
    batch.padding.push_back(static_cast<int64_t>(padding));
    // The mask hides padding, so any id will do.
    out.insert(out.end(), padding, 0);
    out.insert(out.end(), prompt.begin(), prompt.end());
  }
  return out;
}

}  // namespace

Result<int64_t> Decoder::State::new_tokens(std::span<const std::vector<int64_t>> prompts,
                                           const GenerateOptions& options) const {
  std::optional<int64_t> most =
      options.max_new_tokens ? options.max_new_tokens : settings.max_new_tokens;
  // As in Transformers, shorter prompts count as if they were padded to the longest.
  const auto longest =
      static_cast<int64_t>(std::ranges::max(prompts, {}, &std::vector<int64_t>::size).size());
  if (!most && settings.max_length) {
    if (*settings.max_length <= longest)
      return Error{ErrorCode::argument,
                   "the prompt has " + std::to_string(longest) +
                       " tokens, expected fewer than the max_length of the settings, " +
                       std::to_string(*settings.max_length) + "; or give max_new_tokens",
                   ""};
    most = *settings.max_length - longest;
  }
  if (most && *most < 0)
    return Error{ErrorCode::argument,
                 "max_new_tokens: found " + std::to_string(*most) + ", expected 0 or more", ""};
  return most.value_or(kDefaultNewTokens);
}

Result<bool> Decoder::State::generate(std::span<const std::vector<int64_t>> prompts, size_t number,
                                      int64_t most, const GenerateOptions& options,
                                      std::span<Generated> out) {
  const std::vector<int64_t>& stop_ids = options.stop_ids ? *options.stop_ids : settings.stop_ids;
  reset();
  batch.size = sequences_at_once(static_cast<int64_t>(prompts.size()));
  const size_t length =
      std::max(std::ranges::max(prompts, {}, &std::vector<int64_t>::size).size(), least_tokens());
  PT2_TRY_VOID(check_batch(length));
  std::vector<int64_t> ids = pad(prompts, length, batch);
  PT2_TRY(Tensor logits, feed_checked(ids, options.call));
  std::vector<Sampler> samplers;
  const Sampling sampling = options.sampling.value_or(settings.sampling);
  for (size_t i = 0; i < prompts.size(); ++i) {
    Sampling own = sampling;
    own.seed += number + i;
    samplers.emplace_back(own);
  }
  std::vector<bool> ended(prompts.size(), most == 0);
  const auto told = [&](size_t prompt, int64_t token) {
    return (!options.on_token || options.on_token(token)) &&
           (!options.on_token_of || options.on_token_of(number + prompt, token));
  };
  while (std::ranges::find(ended, false) != ended.end()) {
    ids.resize(static_cast<size_t>(batch.size));
    // The programs may differ in the number of their scores.
    const auto count = static_cast<size_t>(logits.size(1));
    for (size_t i = 0; i < prompts.size(); ++i) {
      // A sequence that has ended repeats its last token; its scores are ignored.
      if (ended[i]) continue;
      ids[i] = samplers[i].draw(logits.as<float>().subspan(i * count, count));
      out[i].tokens.push_back(ids[i]);
      if (!told(i, ids[i])) {
        for (size_t each = 0; each < prompts.size(); ++each)
          if (!ended[each]) out[each].reason = StopReason::callback;
        return false;
      }
      const bool stops = std::ranges::find(stop_ids, ids[i]) != stop_ids.end();
      if (stops) out[i].reason = StopReason::stop_id;
      ended[i] = stops || static_cast<int64_t>(out[i].tokens.size()) == most;
    }
    if (std::ranges::find(ended, false) == ended.end()) break;
    if (const auto room = next->capacity(batch, cache); room && position >= *room) {
      for (size_t i = 0; i < prompts.size(); ++i)
        if (!ended[i]) out[i].reason = StopReason::cache_full;
      break;
    }
    PT2_TRY(logits, feed_checked(ids, options.call));
  }
  return true;
}

Result<std::vector<Generated>> Decoder::generate(std::span<const std::vector<int64_t>> prompts,
                                                 const GenerateOptions& options) {
  PT2_TRY_VOID(check_sampling(options.sampling.value_or(settings().sampling)));
  std::vector<std::vector<int64_t>> begun(prompts.begin(), prompts.end());
  for (std::vector<int64_t>& prompt : begun)
    if (prompt.empty() && settings().start_id) prompt.push_back(*settings().start_id);
  for (const std::vector<int64_t>& prompt : begun)
    if (prompt.empty())
      return Error{ErrorCode::argument, "found no token ids, expected one or more", ""};
  std::vector<Generated> out(begun.size());
  if (begun.empty()) return out;
  PT2_TRY(const int64_t most, state_->new_tokens(begun, options));
  const bool any_length = state_->knows_padding();
  for (size_t first = 0; first < begun.size();) {
    const auto at_once =
        static_cast<size_t>(state_->sequences_at_once(static_cast<int64_t>(begun.size() - first)));
    size_t end = first + 1;
    while (end < begun.size() && end < first + at_once &&
           (any_length || begun[end].size() == begun[first].size()))
      ++end;
    const auto wanted =
        static_cast<uint64_t>(std::max(options.max_new_tokens.value_or(0), kDefaultNewTokens));
    const MemoryAccount::Scope scope(run::open_account_of_calls(
        state_->limits, state_->next->model().shared()->file_bytes,
        saturating_product(kCallsForTokens, (wanted - 1) / kDefaultNewTokens + 1)));
    Result<bool> done = within_memory([&] {
      return state_->generate(std::span(begun).subspan(first, end - first), first, most, options,
                              std::span(out).subspan(first, end - first));
    });
    if (!done && done.error().code == ErrorCode::limit) {
      Error error = std::move(done).error();
      error.message += "; all tokens share the limits of a call";
      return error;
    }
    PT2_TRY(const bool goes_on, std::move(done));
    if (!goes_on) {
      for (size_t i = end; i < out.size(); ++i) out[i].reason = StopReason::callback;
      break;
    }
    first = end;
  }
  if (begun.size() > 1) reset();
  return out;
}

Result<Generated> Decoder::generate(std::span<const int64_t> prompt,
                                    const GenerateOptions& options) {
  const std::vector<int64_t> one(prompt.begin(), prompt.end());
  PT2_TRY(std::vector<Generated> out, generate(std::span(&one, 1), options));
  return std::move(out[0]);
}

}  // namespace pt2
