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

// The error at its place in the program of that name.
Error at_program(Error error, const std::string& name);

struct StepSettings {
  unsigned threads = 0;
  int64_t cache_length = 0;  // of caches whose size the program leaves open
  // Of masks that are called "sliding", where the tree does not tell.
  std::optional<int64_t> sliding_window{};
};

class ProgramStep {
 public:
  // Errors: those of find_roles, at `name`.
  static Result<ProgramStep> make(Model model, const std::string& name,
                                  const StepSettings& settings);

  const Model& model() const { return model_; }
  const ProgramRoles& roles() const { return roles_; }
  // Whether each call has to have all tokens again: nothing stays behind.
  bool is_stateless() const { return stateless_; }
  // How many new tokens a call takes; nothing where that is open.
  std::optional<int64_t> tokens_at_once() const;
  // How many sequences a call takes at least and at most; nothing where that is open.
  SymRange sequences_at_once() const;
  // Whether sequences that begin with tokens which count for nothing can be told from others.
  bool knows_padding() const;
  // The names of inputs that the caller gives.
  std::vector<std::string> given_names() const;
  // How many tokens have scores; nothing where that is open.
  std::optional<int64_t> vocabulary() const;
  // How many of `count` tokens, the first of all, a call takes before `next` goes on; 0 where it
  // takes none.
  int64_t first_tokens(int64_t count, const ProgramStep& next) const;
  // How many tokens its masks have room for, given the cache; nothing where there is no bound.
  std::optional<int64_t> capacity(const Batch& batch, const Cache& cache) const;

  // The results of a call with tokens that follow others, whose cache it takes; entries of an empty
  // cache begin as zeros. Errors: those of Session::run; `argument` for an input that is not given;
  // where memory is short, std::bad_alloc.
  Result<std::vector<Value>> run(const StepTokens& tokens, const Batch& batch, Cache& cache,
                                 const CallOptions& options);
  // The scores behind the last token of each sequence: [sequences, vocabulary].
  Result<Tensor> logits(const std::vector<Value>& results, const Batch& batch) const;
  // What the program keeps in buffers is as at first.
  void reset();

 private:
  ProgramStep(Model model, ProgramRoles roles, const StepSettings& settings);
  Result<void> start_cache(const Batch& batch, Cache& cache) const;
  // The first dimension but that of sequences whose size the program leaves open.
  std::optional<size_t> open_dim(const CacheEntry& entry) const;
  // Sees to it that windows of fixed length which do not move up have room for so many tokens, the
  // ones that they no longer show among them.
  void make_room(Cache& cache, int64_t tokens) const;
  // How many tokens the mask shows, the newest among them; nothing where it shows all.
  std::optional<int64_t> window_of(const ModelValue& mask) const;
  // Of the layers that move up; 0 where none does.
  int64_t moving_window() const;
  // What is given for an input; null where nothing is.
  const Tensor* find_given(const ModelValue& input, const Batch& batch) const;
  // The symbols that inputs of known sizes give.
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
};

}  // namespace pt2::decode

#endif  // PT2_DECODE_STEP_H
