// The roles of a language model program's inputs and outputs, from their sizes and their names in
// Transformers and the tools that export with it.
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
  positions,   // positions of the new tokens: 0, 1, ...
  mask,        // which tokens may be attended to
  given,       // an input from the caller or the encoder: the encoder's result, or what it read
  given_mask,  // which tokens of the encoder exist; all unless the caller gives it
  cache,       // state from earlier tokens; for an output, its new value
  logits,      // an output: the scores of the next token
  constant,    // an input with a value that the program fixes
  other,       // an output that generation does not use
};
std::string_view role_name(Role role);

// One state that a program takes from the previous step and returns for the next.
struct CacheEntry {
  size_t input = 0;                  // index in Model::inputs()
  std::string name{};                // "layers[0].keys"; empty if the tree does not tell
  std::optional<size_t> output{};    // index in Model::outputs(); none if only the input is written
  std::optional<size_t> growing{};   // the dimension that grows with each token
  std::optional<int64_t> initial{};  // the value before the first token, if it is not zero
  // True if the value before the first token is known: a growing cache is empty, and the states of
  // models with known names begin with zeros. RWKV's begin with other numbers.
  bool has_beginning = true;
  std::optional<CacheLayer> layer{};  // same as CacheLeaf::layer
};

struct CacheOutput {
  size_t output = 0;   // index in Model::outputs()
  std::string name{};  // same as CacheEntry::name
};

struct ProgramRoles {
  std::vector<Role> inputs;
  std::vector<Role> outputs;
  size_t ids = 0;     // the input's index
  size_t logits = 0;  // the output's index
  std::vector<CacheEntry> cache;
  // The outputs that are a cache, in order; a first step has more than input caches.
  std::vector<CacheOutput> cache_outputs;
  // Layers in the tree of the inputs, or else of the outputs; equal layers only once.
  std::vector<CacheLayer> layers;
};

// Errors: `unsupported` if there are no token ids or no logits.
Result<ProgramRoles> find_roles(const run::CallingConvention& convention);

// Returns for each cache entry of a program the output of another program that gives its first
// value. Matches by name if all have names, else by order. Error `unsupported` if an entry has no
// match.
Result<std::vector<size_t>> match_caches(std::span<const CacheOutput> outputs,
                                         std::span<const CacheEntry> entries);

}  // namespace pt2::decode

#endif  // PT2_DECODE_ROLES_H
