// One program of a language model, and how to call it with the next tokens.
#ifndef PT2_DECODE_STEP_H
#define PT2_DECODE_STEP_H

#include <optional>
#include <span>
#include <string>

#include "decode/batch.h"
#include "decode/cache.h"
#include "decode/roles.h"
#include "pt2/decoder.h"
#include "pt2/model.h"

namespace pt2::decode {

// Adds the program's name to the error's place.
Error at_program(Error error, const std::string& name);

struct StepSettings {
  unsigned threads = 0;
  int64_t cache_length = 0;  // for caches whose size the program leaves open
  // For masks with "sliding" in their name, if the tree does not give the window.
  std::optional<int64_t> sliding_window{};
};

class ProgramStep {
 public:
  // Errors: those of find_roles, at `name`.
  static Result<ProgramStep> make(Model model, const std::string& name,
                                  const StepSettings& settings);

  // Error `unsupported` if the program takes a cache, but neither returns nor writes it: every step
  // would begin with an empty one.
  Result<void> check_keeps_cache() const;

  const Model& model() const { return model_; }
  const ProgramRoles& roles() const { return roles_; }
  // True if each call needs all tokens again, because the program keeps no state.
  bool is_stateless() const { return stateless_; }
  // Returns how many new tokens a call takes at most; nullopt if there is no bound.
  std::optional<int64_t> tokens_at_once() const;
  // Returns the minimum and maximum number of sequences of a call; a bound is absent if open.
  SymRange sequences_at_once() const;
  // True if a mask can hide padding at the beginning of sequences, and positions can leave it out.
  // A program without position_ids may count them from the first column, padding included (GPT-2).
  bool knows_padding() const;
  // Returns how many keys the masks of tokens that exist have at least: the sum of the least sizes
  // of a cache and of new tokens.
  int64_t least_keys() const;
  // Returns the names of the inputs that the caller gives.
  std::vector<std::string> given_names() const;
  // Returns how many tokens have scores; nullopt if the program leaves it open.
  std::optional<int64_t> vocabulary() const;
  // Returns how many of `count` initial tokens a call takes before `next` continues; 0 if it takes
  // none.
  int64_t first_tokens(int64_t count, const ProgramStep& next) const;
  // Returns how many tokens the masks, the cache and the program's buffers have room for; nullopt
  // if there is no bound.
  std::optional<int64_t> capacity(const Batch& batch, const Cache& cache) const;

  // Returns the results of a call with tokens that follow those in the cache. The entries of an
  // empty cache start as zeros or their `initial` value. Errors: those of Session::run; `argument`
  // for a missing input; std::bad_alloc if memory is short.
  Result<std::vector<Value>> run(const StepTokens& tokens, const Batch& batch, Cache& cache,
                                 const CallOptions& options);
  // Returns the scores after the last token of each sequence: [sequences, vocabulary].
  Result<Tensor> logits(const std::vector<Value>& results, const Batch& batch) const;
  // Resets the program's buffers to their initial values.
  void reset();

 private:
  ProgramStep(Model model, ProgramRoles roles, const StepSettings& settings);
  Result<void> start_cache(const Batch& batch, Cache& cache) const;
  // Returns the first dimension, except that of sequences, whose size the program leaves open.
  std::optional<size_t> open_dim(const CacheEntry& entry) const;
  // Returns the greatest size of a growing entry that the program takes, if it returns greater
  // ones.
  std::optional<int64_t> greatest_size(const CacheEntry& entry) const;
  // Enlarges windows of fixed length that do not move up to hold `tokens` tokens, including the
  // tokens outside the window.
  void make_room(Cache& cache, int64_t tokens) const;
  // Returns how many of the newest tokens the mask shows; nullopt if it shows all.
  std::optional<int64_t> window_of(const ModelValue& mask) const;
  // Returns the greatest length of the layers that move up; 0 if there are none.
  int64_t moving_window() const;
  // Returns the tensor given for an input; null if there is none.
  const Tensor* find_given(const ModelValue& input, const Batch& batch) const;
  // Binds the symbols that inputs of known sizes determine.
  SymbolBindings bind_sizes(int64_t count, const Batch& batch, const Cache& cache) const;
  Result<Tensor> make_input(size_t input, const StepTokens& tokens, const Batch& batch,
                            const SymbolBindings& symbols) const;
  Result<Tensor> make_mask(const ModelValue& input, const StepTokens& tokens, const Batch& batch,
                           const SymbolBindings& symbols) const;
  Result<Tensor> make_given_mask(const ModelValue& input, const Batch& batch,
                                 const SymbolBindings& symbols) const;

  Model model_;
  ProgramRoles roles_;
  StepSettings settings_;
  Session session_;
  bool stateless_ = false;
  std::optional<int64_t> room_{};  // tokens that fit into what the program writes and returns
};

}  // namespace pt2::decode

#endif  // PT2_DECODE_STEP_H
