#include <algorithm>

#include "c/calls.h"
#include "c/operators.h"
#include "c/packages.h"
#include "c/values.h"
#include "pt2/decoder.h"

struct pt2_decoder {
  explicit pt2_decoder(pt2::Decoder opened) : decoder(std::move(opened)) {}

  pt2::Decoder decoder;
  std::atomic_flag busy{};
};

namespace pt2::c {
namespace {

static_assert(PT2_STOP_CALLBACK == static_cast<int>(StopReason::callback));

Result<DecoderOptions> decoder_options(const pt2_decoder_options& options) {
  DecoderOptions out;
  PT2_TRY(out.limits, read_limits(options.limits, options.limits_length));
  PT2_TRY(out.engine, read_engine(options.engine));
  PT2_TRY_VOID(check_threads(options.threads));
  if (options.operators != nullptr) out.operators = options.operators->operators;
  out.threads = options.threads;
  if (options.cache_length < 0) return argument_error("found a cache_length below zero");
  if (options.cache_length > 0) out.cache_length = options.cache_length;
  return out;
}

Result<std::span<const int64_t>> read_ids(const int64_t* ids, size_t count, const char* name) {
  if (count > 0) PT2_TRY_VOID(expect(ids, name));
  return std::span(ids, count);
}

Result<GenerateOptions> generate_options(const pt2_generate_options& options) {
  GenerateOptions out;
  if (options.max_new_tokens < 0) return argument_error("found max_new_tokens below zero");
  if (options.max_new_tokens > 0) out.max_new_tokens = options.max_new_tokens;
  if (options.has_sampling != 0)
    out.sampling = Sampling{.temperature = options.temperature,
                            .top_k = options.top_k,
                            .top_p = options.top_p == 0 ? 1 : options.top_p,
                            .seed = options.seed};
  if (options.stop_ids != nullptr)
    out.stop_ids.emplace(options.stop_ids, options.stop_ids + options.stop_count);
  else if (options.stop_count > 0)
    return argument_error("'stop_ids' is NULL");
  if (options.token != nullptr)
    out.on_token = [token = options.token, user = options.user](int64_t id) {
      return token(id, user) == 0;
    };
  if (options.token_of != nullptr)
    out.on_token_of = [token = options.token_of, user = options.user](size_t prompt, int64_t id) {
      return token(prompt, id, user) == 0;
    };
  return out;
}

using Prompts = std::vector<std::vector<int64_t>>;

Result<Prompts> read_prompts(const int64_t* ids, const size_t* counts, size_t prompts) {
  Prompts out;
  if (prompts > 0) PT2_TRY_VOID(expect(counts, "counts"));
  for (size_t i = 0; i < prompts; ++i) {
    PT2_TRY(const std::span<const int64_t> prompt, read_ids(ids, counts[i], "ids"));
    out.emplace_back(prompt.begin(), prompt.end());
    if (counts[i] > 0) ids += counts[i];
  }
  return out;
}

Result<NamedTensors> read_named(const pt2_named_value* inputs, size_t count) {
  NamedTensors out;
  if (count > 0) PT2_TRY_VOID(expect(inputs, "inputs"));
  for (size_t i = 0; i < count; ++i) {
    PT2_TRY(const std::string_view name, read_text(inputs[i].name, inputs[i].name_length, "name"));
    PT2_TRY_VOID(expect(inputs[i].value, "value"));
    const auto* tensor = inputs[i].value->value.get_if<Tensor>();
    if (tensor == nullptr)
      return Error{ErrorCode::argument,
                   "found " + inputs[i].value->value.type_text() + ", expected a tensor",
                   "input '" + std::string(name) + "'"};
    out.emplace_back(name, *tensor);
  }
  return out;
}

Result<Tensor> tensor_of(std::span<const int64_t> ids) {
  Tensor out = Tensor::zeros(Dtype::int64, {static_cast<int64_t>(ids.size())});
  std::ranges::copy(ids, out.data<int64_t>());
  return out;
}

Result<void> with_decoder(pt2_decoder* decoder, auto&& body) {
  return with_handle(decoder, "decoder", [&] { return body(decoder->decoder); });
}
// For calls that compute: `body` also gets the options of the call.
Result<void> with_call(pt2_decoder* decoder, const pt2_call_options* options, auto&& body) {
  return with_decoder(decoder, [&](Decoder& runs) -> Result<void> {
    Call call;
    PT2_TRY_VOID(Call::read(options, call));
    return body(runs, call.options());
  });
}

}  // namespace
}  // namespace pt2::c

using namespace pt2::c;
using pt2::Decoder;
using pt2::Result;

pt2_error* pt2_decoder_open(const char* path, size_t path_length, const pt2_decoder_options* given,
                            pt2_decoder** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(out, "out"));
    PT2_TRY(const Source place, file_source(path, path_length));
    PT2_TRY(const pt2_decoder_options options, read_options(given));
    PT2_TRY(const pt2::DecoderOptions settings, decoder_options(options));
    PT2_TRY(Decoder decoder, Decoder::open(std::string(place.name), settings));
    *out = new pt2_decoder(std::move(decoder));
    return {};
  });
}

void pt2_decoder_free(pt2_decoder* decoder) { delete decoder; }

pt2_error* pt2_decoder_feed(pt2_decoder* decoder, const int64_t* ids, size_t count,
                            const pt2_call_options* options, pt2_value** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(out, "out"));
    PT2_TRY(const std::span<const int64_t> tokens, read_ids(ids, count, "ids"));
    return with_call(decoder, options, [&](Decoder& runs, const auto& call) -> Result<void> {
      PT2_TRY(pt2::Tensor logits, runs.feed(tokens, call));
      *out = make_value(std::move(logits));
      return {};
    });
  });
}

pt2_error* pt2_decoder_generate(pt2_decoder* decoder, const int64_t* prompt, size_t count,
                                const pt2_generate_options* given, const pt2_call_options* options,
                                pt2_value** tokens, int32_t* reason) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(tokens, "tokens"));
    PT2_TRY(const std::span<const int64_t> ids, read_ids(prompt, count, "prompt"));
    PT2_TRY(const pt2_generate_options wanted, read_options(given));
    PT2_TRY(pt2::GenerateOptions settings, generate_options(wanted));
    return with_call(decoder, options, [&](Decoder& runs, const auto& call) -> Result<void> {
      settings.call = call;
      PT2_TRY(const pt2::Generated generated, runs.generate(ids, settings));
      PT2_TRY(pt2::Tensor out, tensor_of(generated.tokens));
      *tokens = make_value(std::move(out));
      if (reason != nullptr) *reason = static_cast<int32_t>(generated.reason);
      return {};
    });
  });
}

pt2_error* pt2_decoder_generate_batch(pt2_decoder* decoder, const int64_t* ids,
                                      const size_t* counts, size_t prompts,
                                      const pt2_generate_options* given,
                                      const pt2_call_options* options, pt2_value** tokens,
                                      int32_t* reasons) {
  return guarded([&]() -> Result<void> {
    if (prompts > 0) PT2_TRY_VOID(expect(tokens, "tokens"));
    PT2_TRY(const Prompts batch, read_prompts(ids, counts, prompts));
    PT2_TRY(const pt2_generate_options wanted, read_options(given));
    PT2_TRY(pt2::GenerateOptions settings, generate_options(wanted));
    return with_call(decoder, options, [&](Decoder& runs, const auto& call) -> Result<void> {
      settings.call = call;
      PT2_TRY(const std::vector<pt2::Generated> generated, runs.generate(batch, settings));
      std::vector<std::unique_ptr<pt2_value>> made;
      for (const pt2::Generated& each : generated) {
        PT2_TRY(pt2::Tensor out, tensor_of(each.tokens));
        made.emplace_back(make_value(std::move(out)));
      }
      for (size_t i = 0; i < prompts; ++i) {
        tokens[i] = made[i].release();
        if (reasons != nullptr) reasons[i] = static_cast<int32_t>(generated[i].reason);
      }
      return {};
    });
  });
}

pt2_error* pt2_decoder_give(pt2_decoder* decoder, const pt2_named_value* inputs, size_t count,
                            const pt2_call_options* options) {
  return guarded([&]() -> Result<void> {
    PT2_TRY(pt2::NamedTensors given, read_named(inputs, count));
    return with_call(decoder, options, [&](Decoder& runs, const auto& call) -> Result<void> {
      return runs.give(std::move(given), call);
    });
  });
}

pt2_error* pt2_decoder_reset(pt2_decoder* decoder) {
  return guarded([&] {
    return with_decoder(decoder, [](Decoder& runs) -> Result<void> {
      runs.reset();
      return {};
    });
  });
}

int64_t pt2_decoder_position(const pt2_decoder* decoder) {
  return decoder == nullptr ? 0 : decoder->decoder.position();
}

int64_t pt2_decoder_capacity(const pt2_decoder* decoder) {
  int64_t capacity = 0;
  // The program's expressions are evaluated for it, which takes memory.
  pt2_error_free(guarded([&]() -> Result<void> {
    if (decoder != nullptr) capacity = decoder->decoder.capacity().value_or(INT64_MAX);
    return {};
  }));
  return capacity;
}
