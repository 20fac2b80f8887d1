// Text generation with what exporters of language models write: a folder of Transformers
// (prefill.pt2, decode.pt2, export.json, generation_config.json), or one program that takes token
// ids and gives logits. Tokens are numbers here; texts are a tokenizer's business.
//
//   pt2::Decoder decoder = pt2::Decoder::open("llama/").value();
//   std::vector<int64_t> prompt = {5, 17, 99};
//   pt2::Generated text = decoder.generate(prompt, {.max_new_tokens = 32}).value();
//
// What earlier tokens left behind (keys and values of attention, states of recurrent models) stays
// in the decoder: a program's result is bound to the input of the next step, and what grows with
// each token grows in place. Programs of one folder that have weights of equal content share one
// copy of them.
//
// What else a program takes, as what an encoder made of a text or of sound, is given by the names
// of its inputs. A program called "encoder" is run on what is given, once for all tokens.
#ifndef PT2_DECODER_H
#define PT2_DECODER_H

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/limits.h"
#include "pt2/ops/custom_operators.h"
#include "pt2/run_options.h"
#include "pt2/tensor.h"
#include "pt2/tensor_file.h"

namespace pt2 {

struct DecoderOptions {
  Limits limits{};
  CustomOperators operators{};
  EngineKind engine = EngineKind::planned;
  unsigned threads = 0;  // as SessionOptions::threads
  // How many tokens caches of fixed sizes hold, where the program leaves that open.
  int64_t cache_length = 2048;
};

// How the next token is drawn. As the logits processors of Transformers: temperature, then top_k,
// then top_p. The random numbers are this library's own: equal seeds give equal tokens here, others
// than PyTorch.
struct Sampling {
  double temperature = 0;  // logits are divided by it; 0: always the most likely token
  int64_t top_k = 0;       // of the most likely tokens alone; 0: of all
  double top_p = 1;        // of the fewest tokens that are at least so likely together
  uint64_t seed = 0;
};

// generation_config.json of a folder, as far as it is followed.
struct GenerationSettings {
  Sampling sampling{};
  std::vector<int64_t> stop_ids{};  // eos_token_id
  std::optional<int64_t>
      start_id{};  // decoder_start_token_id, what texts behind an encoder begin with
  std::optional<int64_t> max_new_tokens{};
  // Settings that would change tokens and are not followed: "num_beams", "repetition_penalty".
  std::vector<std::string> ignored{};
};

enum class StopReason : uint8_t {
  max_new_tokens,
  stop_id,     // the last token is one
  cache_full,  // the program has no room for another token
  callback,    // on_token said so
};
// "max_new_tokens", "stop_id", ...
std::string_view stop_reason_name(StopReason reason);

struct GenerateOptions {
  std::optional<int64_t> max_new_tokens{};  // else the settings'; else 64
  std::optional<Sampling> sampling{};       // else the settings'
  std::optional<std::vector<int64_t>> stop_ids{};
  // Told each token as soon as it is known; false ends.
  std::function<bool(int64_t token)> on_token{};
  // The same of several prompts, with the number of the one that it belongs to; false ends all.
  std::function<bool(size_t prompt, int64_t token)> on_token_of{};
  CallOptions call{};  // of each program run; `growing` is the decoder's own
};

struct Generated {
  std::vector<int64_t> tokens{};  // new ones, a stop id among them
  StopReason reason = StopReason::max_new_tokens;
};

// Not for two threads at once. Needs the file or folder only while it is opened, apart from the
// weights, which stay mapped.
class Decoder {
 public:
  // A folder, or a file with one program or with programs called "prefill" and "decode" (or
  // "decoder"), and "encoder" if there is one. Reads each weight that two programs have once, to
  // compare it. Errors: `io`, `malformed` (manifest or settings), those of Model::load, and
  // `unsupported` for programs that are no language model.
  static Result<Decoder> open(const std::string& path, const DecoderOptions& options = {});
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;
  ~Decoder();

  const GenerationSettings& settings() const;

  // The names of what the programs take beside tokens, masks and positions: inputs of the encoder,
  // or of the others where there is none.
  std::vector<std::string> given_names() const;
  // Gives it, and forgets all tokens and what was given before. Runs the encoder; its mask, where
  // none is given, has all there is. Errors: `argument` for a name that no program has, those of
  // Session::run.
  Result<void> give(NamedTensors inputs, const CallOptions& options = {});

  // Continues with these tokens, after those of earlier calls: one or more. The logits of the last
  // of them: a vector of float32, one for each token of the vocabulary. Error `argument` for ids
  // that the program refuses, `limit` where its cache is full; the decoder is as it was then, but
  // for a cache that is written in place. Copies no cache but where its room is used up, which
  // doubles then.
  Result<Tensor> feed(std::span<const int64_t> ids, const CallOptions& options = {});
  // Tokens that were fed since the last reset.
  int64_t position() const;
  // How many tokens fit; nothing where the program sets no bound.
  std::optional<int64_t> capacity() const;
  // Forgets all tokens, and nothing that was given.
  void reset();

  // Resets, feeds the prompt and then each new token. An empty prompt is the settings' start_id.
  // Errors: those of feed; `argument` for an empty prompt without one, or options out of range.
  Result<Generated> generate(std::span<const int64_t> prompt, const GenerateOptions& options = {});
  // The same of several prompts, which the program computes together as far as it takes more than
  // one sequence: shorter ones begin with tokens that its mask hides. Where it has no mask, only
  // prompts of one length go together. What is given has one sequence for each prompt, or one for
  // all of them where prompts are computed one by one. Nothing is left to go on from.
  Result<std::vector<Generated>> generate(std::span<const std::vector<int64_t>> prompts,
                                          const GenerateOptions& options = {});

  // Bytes of caches that were copied from one place to another so far, and bytes of weights that
  // two programs have in common and that are in memory once.
  uint64_t copied_bytes() const;
  uint64_t shared_bytes() const;

 private:
  struct State;
  explicit Decoder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Draws tokens one after another; equal seeds and logits give equal tokens.
class Sampler {
 public:
  explicit Sampler(const Sampling& sampling) : sampling_(sampling), state_(sampling.seed) {}
  // -1 where there are no logits. NaN counts as least likely. Of equal ones the first is the most
  // likely. O(n log n) of the candidates that top_k leaves.
  int64_t draw(std::span<const float> logits);

 private:
  double uniform();  // in [0, 1)
  Sampling sampling_;
  uint64_t state_;
};

}  // namespace pt2

#endif  // PT2_DECODER_H
