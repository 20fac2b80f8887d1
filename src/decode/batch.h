// What a call of a language model is about beside its tokens: how many sequences there are, and
// what all of them look at.
#ifndef PT2_DECODE_BATCH_H
#define PT2_DECODE_BATCH_H

#include <cstdint>
#include <span>
#include <vector>

#include "pt2/decoder.h"

namespace pt2::decode {

struct Batch {
  int64_t size = 1;  // sequences
  // How many tokens of each, the first ones, count for nothing; empty: none.
  std::vector<int64_t> padding{};
  // By the names of inputs.
  NamedTensors given{};
  // What the encoder made of it, by the names of its outputs, and which of its tokens there are.
  NamedTensors encoded{};
  Tensor encoded_mask{};

  int64_t padding_of(int64_t sequence) const {
    return padding.empty() ? 0 : padding[static_cast<size_t>(sequence)];
  }
};

// Tokens of all sequences, equally many of each: those of the first one first.
struct StepTokens {
  std::span<const int64_t> ids;
  int64_t count = 0;     // of each sequence
  int64_t position = 0;  // how many came before
};

}  // namespace pt2::decode

#endif  // PT2_DECODE_BATCH_H
