// SHA-256 (FIPS 180-4): identifies content by a digest that cannot be forged.
#ifndef PT2_BASE_HASH_SHA256_H
#define PT2_BASE_HASH_SHA256_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pt2 {

using Sha256Digest = std::array<std::byte, 32>;

class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  // Adds eight bytes, little-endian.
  void add(uint64_t number);
  // Adds the text with its length, so that different sequences of texts give different input.
  void add_text(std::string_view text) {
    add(text.size());
    add(text);
  }
  // No bytes may be added after a call of digest or hex.
  Sha256Digest digest();
  std::string hex() { return hex(digest()); }
  static std::string hex(const Sha256Digest& digest);  // sixty-four digits

 private:
  void take_block(const std::byte* block);

  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> rest_{};
  size_t rest_size_ = 0;
  uint64_t total_ = 0;
};

}  // namespace pt2

#endif  // PT2_BASE_HASH_SHA256_H
