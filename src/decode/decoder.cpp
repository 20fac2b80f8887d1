#include "pt2/decoder.h"

#include <algorithm>

#include "base/text.h"
#include "decode/exported_folder.h"
#include "decode/shared_weights.h"
#include "decode/step.h"
#include "run/call_budget.h"
#include "run/model_shared.h"

namespace pt2 {

using decode::Cache;
using decode::CacheEntry;
using decode::ExportedFolder;
using decode::ProgramStep;

struct Decoder::State {
  GenerationSettings settings;
  Limits limits;
  std::optional<ProgramStep>
      first;  // for the tokens that come before all others, if one is for them
  std::optional<ProgramStep> next;  // always there
  std::vector<size_t> sources;      // outputs of the first that the next one's cache begins with
  Cache cache;
  std::vector<int64_t> history;  // of stateless programs
  int64_t position = 0;
  uint64_t shared_bytes = 0;

  Result<Tensor> feed(std::span<const int64_t> ids, const CallOptions& options);
  Result<Tensor> feed_first(std::span<const int64_t> ids, const CallOptions& options);
  Result<Tensor> feed_next(std::span<const int64_t> ids, const CallOptions& options);
  Result<Tensor> feed_all(std::span<const int64_t> ids, const CallOptions& options);
  std::optional<Error> unknown_token(std::span<const int64_t> ids) const;
};

namespace {

constexpr int64_t kDefaultNewTokens = 64;

struct NamedModel {
  std::string name;
  std::shared_ptr<const Package> package;
  std::string model;  // of the package
};

Result<std::shared_ptr<const Package>> open_package(const std::string& path, const Limits& limits) {
  PT2_TRY(Package package, Package::open(path, limits));
  return std::make_shared<const Package>(std::move(package));
}

// The programs of a folder or a file.
Result<std::vector<NamedModel>> open_programs(const std::string& path,
                                              const DecoderOptions& options,
                                              ExportedFolder& folder) {
  std::vector<NamedModel> out;
  if (decode::is_folder(path)) {
    PT2_TRY(folder, decode::read_exported_folder(path));
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

Error no_decoder(const std::vector<NamedModel>& models) {
  std::string names;
  for (const NamedModel& each : models) names += (names.empty() ? "" : ", ") + each.name;
  return {ErrorCode::unsupported,
          "expected one program, or programs called 'prefill' and 'decode'; found " + names, ""};
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
  const NamedModel* first = next == nullptr ? nullptr : find_model(models, "prefill");
  if (next == nullptr && models.size() == 1) next = &models[0];
  if (next == nullptr || models.size() > (first == nullptr ? 1u : 2u)) return no_decoder(models);

  const decode::StepSettings settings{.threads = options.threads,
                                      .cache_length = options.cache_length,
                                      .sliding_window = folder.sliding_window};
  decode::SharedWeights weights;
  const auto load = [&](const NamedModel& named) -> Result<ProgramStep> {
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
    return ProgramStep::make(*std::move(model), named.name, settings);
  };
  auto state = std::make_unique<State>();
  // Most tokens are the second program's, which reads the weights as they lie in its file.
  PT2_TRY(state->next, load(*next));
  if (first != nullptr) {
    PT2_TRY(state->first, load(*first));
    PT2_TRY(state->sources,
            decode::match_caches(state->first->roles().cache_outputs, state->next->roles().cache));
  }
  state->settings = std::move(folder.settings);
  state->limits = options.limits;
  state->shared_bytes = weights.shared_bytes();
  return Decoder(std::move(state));
}

const GenerationSettings& Decoder::settings() const { return state_->settings; }
int64_t Decoder::position() const { return state_->position; }
uint64_t Decoder::copied_bytes() const { return state_->cache.copied_bytes(); }
uint64_t Decoder::shared_bytes() const { return state_->shared_bytes; }

std::optional<int64_t> Decoder::capacity() const { return state_->next->capacity(state_->cache); }

void Decoder::reset() {
  state_->cache.clear();
  state_->history.clear();
  state_->position = 0;
  state_->next->reset();
  if (state_->first) state_->first->reset();
}

Result<Tensor> Decoder::State::feed_first(std::span<const int64_t> ids,
                                          const CallOptions& options) {
  Cache before;
  PT2_TRY(std::vector<Value> results, first->run(ids, 0, before, options));
  PT2_TRY(Tensor logits, first->logits(results));
  for (size_t i = 0; i < sources.size(); ++i) {
    PT2_TRY(Tensor value,
            tensor_of(results[sources[i]], first->model().outputs()[sources[i]].name));
    cache.set(i, std::move(value), next->roles().cache[i].growing);
  }
  position += static_cast<int64_t>(ids.size());
  return logits;
}

Result<Tensor> Decoder::State::feed_next(std::span<const int64_t> ids, const CallOptions& options) {
  PT2_TRY(std::vector<Value> results, next->run(ids, position, cache, options));
  PT2_TRY(Tensor logits, next->logits(results));
  const std::vector<CacheEntry>& entries = next->roles().cache;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!entries[i].output) continue;
    const size_t output = *entries[i].output;
    PT2_TRY(Tensor value, tensor_of(results[output], next->model().outputs()[output].name));
    cache.set(i, std::move(value), entries[i].growing);
  }
  position += static_cast<int64_t>(ids.size());
  return logits;
}

Result<Tensor> Decoder::State::feed_all(std::span<const int64_t> ids, const CallOptions& options) {
  std::vector<int64_t> all = history;
  all.insert(all.end(), ids.begin(), ids.end());
  Cache none;
  PT2_TRY(const std::vector<Value> results, next->run(all, 0, none, options));
  PT2_TRY(Tensor logits, next->logits(results));
  history = std::move(all);
  position = static_cast<int64_t>(history.size());
  return logits;
}

Result<Tensor> Decoder::State::feed(std::span<const int64_t> ids, const CallOptions& options) {
  if (next->is_stateless()) return feed_all(ids, options);
  if (position == 0 && first) {
    const auto count =
        static_cast<size_t>(first->first_tokens(static_cast<int64_t>(ids.size()), *next));
    if (count > 0) {
      Result<Tensor> logits = feed_first(ids.first(count), options);
      // Its guards say more about sizes than their ranges do; the other program may take them.
      const bool is_refused = !logits && logits.error().code == ErrorCode::argument;
      if (!is_refused && (!logits || count == ids.size())) return logits;
      if (!is_refused) ids = ids.subspan(count);
    }
  }
  const auto at_once = static_cast<size_t>(
      std::max<int64_t>(next->tokens_at_once().value_or(static_cast<int64_t>(ids.size())), 1));
  while (true) {
    const auto chunk = ids.first(std::min(ids.size(), at_once));
    PT2_TRY(Tensor logits, feed_next(chunk, options));
    ids = ids.subspan(chunk.size());
    if (ids.empty()) return logits;
  }
}

// Some programs embed more tokens than they have scores for, so that only a call that failed says
// that an id is wrong.
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

Result<Tensor> Decoder::feed(std::span<const int64_t> ids, const CallOptions& options) {
  State& state = *state_;
  if (ids.empty())
    return Error{ErrorCode::argument, "found no token ids, expected one or more", ""};
  const auto count = static_cast<int64_t>(ids.size());
  if (const auto most = capacity(); most && count > *most - state.position)
    return Error{ErrorCode::limit,
                 "the cache has room for " + std::to_string(*most) + " tokens, found " +
                     (state.position > 0 ? std::to_string(state.position) + " in it and " : "") +
                     std::to_string(count) + (state.position > 0 ? " more" : ""),
                 ""};
  const MemoryAccount::Scope scope(run::open_account(
      state.limits, state.next->model().shared()->file_bytes + state.cache.bytes()));
  Result<Tensor> logits = within_memory([&] { return state.feed(ids, options); });
  if (!logits && logits.error().code == ErrorCode::invalid)
    if (std::optional<Error> unknown = state.unknown_token(ids)) return *std::move(unknown);
  return logits;
}

Result<Generated> Decoder::generate(std::span<const int64_t> prompt,
                                    const GenerateOptions& options) {
  const Sampling sampling = options.sampling.value_or(settings().sampling);
  if (!(sampling.temperature >= 0) || !(sampling.top_p > 0) || sampling.top_k < 0)
    return Error{ErrorCode::argument,
                 "found temperature " + print_float(sampling.temperature) + ", top_k " +
                     std::to_string(sampling.top_k) + " and top_p " + print_float(sampling.top_p) +
                     ", expected temperature >= 0, top_k >= 0 and top_p > 0",
                 ""};
  const int64_t most =
      options.max_new_tokens.value_or(settings().max_new_tokens.value_or(kDefaultNewTokens));
  if (most < 0)
    return Error{ErrorCode::argument,
                 "max_new_tokens: found " + std::to_string(most) + ", expected 0 or more", ""};
  const std::vector<int64_t>& stop_ids = options.stop_ids ? *options.stop_ids : settings().stop_ids;
  reset();
  PT2_TRY(Tensor logits, feed(prompt, options.call));
  Sampler sampler(sampling);
  Generated out;
  while (static_cast<int64_t>(out.tokens.size()) < most) {
    const int64_t token = sampler.draw(logits.as<float>());
    out.tokens.push_back(token);
    if (options.on_token && !options.on_token(token)) {
      out.reason = StopReason::callback;
      return out;
    }
    if (std::ranges::find(stop_ids, token) != stop_ids.end()) {
      out.reason = StopReason::stop_id;
      return out;
    }
    if (static_cast<int64_t>(out.tokens.size()) == most) break;
    if (const auto room = capacity(); room && position() >= *room) {
      out.reason = StopReason::cache_full;
      return out;
    }
    PT2_TRY(logits, feed(std::span(&token, 1), options.call));
  }
  return out;
}

}  // namespace pt2
