// Text generation with exported language models. A model is a folder that Transformers exports
// (prefill.pt2, decode.pt2, export.json, generation_config.json), or one program that maps token
// ids to logits. Tokens are numbers; this library has no tokenizer.
//
//   pt2::Decoder decoder = pt2::Decoder::open("llama/").value();
//   std::vector<int64_t> prompt = {5, 17, 99};
//   pt2::Generated text = decoder.generate(prompt, {.max_new_tokens = 32}).value();
//
// The decoder keeps the state of earlier tokens (keys and values of attention, states of recurrent
// models). It binds results of a program to the inputs of the next step. Tensors that grow with
// each token grow in place. Programs of one folder share one copy of weights with equal content.
//
// The caller sets the other inputs of a program by name (Decoder::give), for example the result of
// an encoder for text or sound. If the model has a program called "encoder", it runs once on these
// inputs, for all tokens.
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
  // The number of tokens that a fixed-size cache holds, if the program does not fix this number.
  int64_t cache_length = 2048;
};

// Parameters for drawing the next token. They apply in the order of the logits processors of
// Transformers: temperature, then top_k, then top_p. The random numbers differ from PyTorch's;
// equal seeds give equal tokens within this library.
struct Sampling {
  double temperature = 0;  // divides the logits; 0: always the most likely token
  int64_t top_k = 0;       // draw only from the `top_k` most likely tokens; 0: from all
  // Draw only from the fewest most likely tokens whose probabilities sum up to at least `top_p`.
  double top_p = 1;
  uint64_t seed = 0;
};

// The supported settings of generation_config.json.
struct GenerationSettings {
  Sampling sampling{};
  std::vector<int64_t> stop_ids{};  // eos_token_id
  // decoder_start_token_id or else bos_token_id: the first token of texts without a prompt.
  std::optional<int64_t> start_id{};
  std::optional<int64_t> max_new_tokens{};
  // The most tokens of a prompt and its continuation together; without effect beside
  // max_new_tokens.
  std::optional<int64_t> max_length{};
  // Settings that would change the tokens but are not supported: "num_beams", "repetition_penalty".
  std::vector<std::string> ignored{};
};

enum class StopReason : uint8_t {
  max_new_tokens,
  stop_id,     // the last token is a stop id
  cache_full,  // the program has no room for another token
  callback,    // on_token or on_token_of returned false
};
// Returns "max_new_tokens", "stop_id", ...
std::string_view stop_reason_name(StopReason reason);

struct GenerateOptions {
  std::optional<int64_t> max_new_tokens{};  // nothing: from the settings, or 64
  std::optional<Sampling> sampling{};       // nothing: from the settings
  std::optional<std::vector<int64_t>> stop_ids{};
  // Receives each token as soon as it is known. The result false ends generation.
  std::function<bool(int64_t token)> on_token{};
  // The same for several prompts, with the index of the prompt. The result false ends generation
  // for all prompts.
  std::function<bool(size_t prompt, int64_t token)> on_token_of{};
  CallOptions call{};  // for each run of a program; the decoder sets `growing` itself
};

struct Generated {
  std::vector<int64_t> tokens{};  // the new tokens, including the stop id
  StopReason reason = StopReason::max_new_tokens;
};

// A language model and the state of its tokens. Only one thread may use a decoder at a time. After
// opening, the decoder needs the files only for the weights, which stay mapped.
class Decoder {
 public:
  // Opens a folder, or a file with one program or with programs called "prefill" and "decode" (or
  // "decoder"), and optionally "encoder". Reads weights that two programs have once, to compare
  // them. Errors: `io`, `malformed` (manifest or settings), those of Model::load, and `unsupported`
  // for programs that are no language model.
  static Result<Decoder> open(const std::string& path, const DecoderOptions& options = {});
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;
  ~Decoder();

  const GenerationSettings& settings() const;

  // Returns the names of the inputs other than tokens, masks and positions: inputs of the encoder,
  // or of the other programs if there is no encoder.
  std::vector<std::string> given_names() const;
  // Sets these inputs. Forgets all tokens and the inputs of earlier calls. Runs the encoder; if no
  // mask is given for it, the mask selects everything. Errors: `argument` for a name that no
  // program has; those of Session::run.
  Result<void> give(NamedTensors inputs, const CallOptions& options = {});

  // Feeds one or more tokens after those of earlier calls. Returns the logits of the last token: a
  // float32 vector with one element for each token of the vocabulary. Copies a cache only when its
  // room is used up; then the room doubles. Errors: `argument` for ids that the program refuses;
  // `limit` if its cache is full. After an error the decoder is unchanged, except for a cache that
  // the program writes in place.
  Result<Tensor> feed(std::span<const int64_t> ids, const CallOptions& options = {});
  // Returns the number of tokens fed since the last reset.
  int64_t position() const;
  // Returns the number of tokens that fit; nothing if the program sets no bound.
  std::optional<int64_t> capacity() const;
  // Forgets all tokens, but keeps the inputs that give() set.
  void reset();

  // Resets, feeds the prompt and then each new token. An empty prompt means the start_id of the
  // settings. Errors: those of feed; `argument` for an empty prompt without start_id, for one as
  // long as max_length of the settings, or for options out of range.
  Result<Generated> generate(std::span<const int64_t> prompt, const GenerateOptions& options = {});
  // As above, for several prompts. The decoder computes prompts together if the program takes more
  // than one sequence; it pads shorter prompts in front with tokens that the mask hides. Without a
  // mask or position_ids of each sequence it computes only prompts of equal length together. Inputs
  // that give() set have one sequence for each prompt, or one for all if prompts are computed one
  // by one. Afterwards the decoder holds no tokens to continue from.
  Result<std::vector<Generated>> generate(std::span<const std::vector<int64_t>> prompts,
                                          const GenerateOptions& options = {});

  // Return the bytes of caches copied so far, and the bytes of weights that two programs share in
  // memory.
  uint64_t copied_bytes() const;
  uint64_t shared_bytes() const;

 private:
  struct State;
  explicit Decoder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Draws tokens. Equal seeds and equal logits give equal tokens.
class Sampler {
 public:
  explicit Sampler(const Sampling& sampling) : sampling_(sampling), state_(sampling.seed) {}
  // Returns the id of the next token; -1 if `logits` is empty. NaN counts as least likely. Of equal
  // logits the first is the most likely. O(n log n) in the candidates that top_k leaves.
  int64_t draw(std::span<const float> logits);

 private:
  double uniform();  // in [0, 1)
  Sampling sampling_;
  uint64_t state_;
};

}  // namespace pt2

#endif  // PT2_DECODER_H
