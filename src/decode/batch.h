// The arguments of a language model call beside its tokens: the number of sequences, and the inputs
// that all of them share.
#ifndef PT2_DECODE_BATCH_H
#define PT2_DECODE_BATCH_H

#include <cstdint>
#include <span>
#include <vector>

#include "pt2/decoder.h"

namespace pt2::decode {

struct Batch {
  int64_t size = 1;  // number of sequences
  // How many tokens at the beginning of each sequence are padding; empty: none.
  std::vector<int64_t> padding{};
  // Given tensors by input name.
  NamedTensors given{};
  // The encoder's results by output name, and the mask of its tokens.
  NamedTensors encoded{};
  Tensor encoded_mask{};

  int64_t padding_of(int64_t sequence) const {
    return padding.empty() ? 0 : padding[static_cast<size_t>(sequence)];
  }
};

// The same number of tokens for each sequence; the tokens of the first sequence come first.
struct StepTokens {
  std::span<const int64_t> ids;
  int64_t count = 0;     // for each sequence
  int64_t position = 0;  // number of earlier tokens
};

}  // namespace pt2::decode

#endif  // PT2_DECODE_BATCH_H
