// Hashes of text that a file chose. std::hash of text is known and easily inverted: a file of a
// megabyte can hold 60,000 names of one bucket, and every table of them would cost minutes. So each
// table uses SipHash-1-3 (Aumasson and Bernstein, 2012) with a key of its own. Nothing may depend
// on the order of such tables.
#ifndef PT2_BASE_HASH_TEXT_HASH_H
#define PT2_BASE_HASH_TEXT_HASH_H

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace pt2 {

// Returns a number that files cannot foresee, made from the address `place` and the time.
uint64_t unforeseen_key(const void* place);

// Returns equal hashes for equal texts under the same key.
uint64_t hash_text(std::string_view text, uint64_t key);

class TextHash {
 public:
  TextHash() { key_ = unforeseen_key(this); }
  size_t operator()(std::string_view text) const {
    return static_cast<size_t>(hash_text(text, key_));
  }

 private:
  uint64_t key_ = 0;
};

// Text is std::string, or std::string_view if the texts outlive the table.
template <class Text, class T>
using TextMap = std::unordered_map<Text, T, TextHash>;
template <class Text>
using TextSet = std::unordered_set<Text, TextHash>;

}  // namespace pt2

#endif  // PT2_BASE_HASH_TEXT_HASH_H
