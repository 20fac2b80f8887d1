// What the inputs and outputs of a language model's program are for, by their names, as
// Transformers and those who export with it call them, and by their sizes.
#ifndef PT2_DECODE_ROLES_H
#define PT2_DECODE_ROLES_H

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/cache_tree.h"
#include "run/calling_convention.h"

namespace pt2::decode {

enum class Role : uint8_t {
  ids,         // the new tokens
  positions,   // of the new tokens: 0, 1, ...
  mask,        // which tokens may be looked at
  given,       // an input that the caller gives, or the encoder: its result, or what it read
  given_mask,  // which tokens of the encoder there are; all where the caller gives none
  cache,       // what earlier tokens left behind; an output's new value of it
  logits,      // an output: scores of the next token
  constant,    // an input whose value the program fixes
  other,       // an output that generation does not need
};
std::string_view role_name(Role role);

// One thing that a program takes from the step before and gives to the next one.
struct CacheEntry {
  size_t input = 0;                 // among Model::inputs()
  std::string name{};               // "layers[0].keys"; empty where the tree does not say
  std::optional<size_t> output{};   // among Model::outputs(); none where the input alone is written
  std::optional<size_t> growing{};  // the dimension along which it grows with each token
  std::optional<int64_t> initial{};   // before the first token, where that is not zero
  std::optional<CacheLayer> layer{};  // as CacheLeaf::layer
};

struct CacheOutput {
  size_t output = 0;   // among Model::outputs()
  std::string name{};  // as CacheEntry::name
};

struct ProgramRoles {
  std::vector<Role> inputs;
  std::vector<Role> outputs;
  size_t ids = 0;     // the input
  size_t logits = 0;  // the output
  std::vector<CacheEntry> cache;
  // The outputs that are a cache, in order: of a first step, more than there are inputs.
  std::vector<CacheOutput> cache_outputs;
  // What the tree of the inputs, or else that of the outputs, tells of layers, each kind once.
  std::vector<CacheLayer> layers;
};

// Errors: `unsupported` where there are no token ids or no logits.
Result<ProgramRoles> find_roles(const run::CallingConvention& convention);

// For each entry of a program's cache the output of another that its first value comes from, by
// names if all have one, else by order. Error `unsupported` where there is none.
Result<std::vector<size_t>> match_caches(std::span<const CacheOutput> outputs,
                                         std::span<const CacheEntry> entries);

}  // namespace pt2::decode

#endif  // PT2_DECODE_ROLES_H
