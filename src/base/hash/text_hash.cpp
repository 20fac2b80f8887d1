#include "base/hash/text_hash.h"

#include <bit>
#include <chrono>
#include <cstring>

namespace pt2 {
namespace {

struct SipState {
  uint64_t a, b, c, d;

  void round() {
    a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
    c += d, d = std::rotl(d, 16) ^ c;
    a += d, d = std::rotl(d, 21) ^ a;
    c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
  }
  void take(uint64_t word) {
    d ^= word;
    round();
    a ^= word;
  }
};

// The finaliser of SplitMix64.
uint64_t scrambled(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

uint64_t unforeseen_key(const void* place) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return scrambled(static_cast<uint64_t>(now) + scrambled(reinterpret_cast<uintptr_t>(place)));
}

uint64_t hash_text(std::string_view text, uint64_t key) {
  const uint64_t second = scrambled(key + 0x9e3779b97f4a7c15u);
  SipState state{key ^ 0x736f6d6570736575u, second ^ 0x646f72616e646f6du, key ^ 0x6c7967656e657261u,
                 second ^ 0x7465646279746573u};
  uint64_t word = 0;
  size_t at = 0;
  for (; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    state.take(word);
  }
  word = static_cast<uint64_t>(text.size()) << 56;
  for (size_t i = 0; at + i < text.size(); ++i)
    word |= static_cast<uint64_t>(static_cast<unsigned char>(text[at + i])) << (8 * i);
  state.take(word);
  state.c ^= 0xff;
  for (int i = 0; i < 3; ++i) state.round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace pt2
