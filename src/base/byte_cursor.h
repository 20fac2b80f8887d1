// Bounds-checked reading of little-endian numbers. A failure is permanent: after a read past the
// end every read returns zeros and `failed` is true, so a caller reads a whole header and tests
// once.
#ifndef PT2_BASE_BYTE_CURSOR_H
#define PT2_BASE_BYTE_CURSOR_H

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace pt2 {

class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes, uint64_t position = 0)
      : bytes_(bytes),
        position_(position <= bytes.size() ? position : bytes.size()),
        failed_(position > bytes.size()) {}

  template <std::unsigned_integral T>
  T read() {
    std::span<const std::byte> field = read_bytes(sizeof(T));
    T value = 0;
    for (size_t i = field.size(); i-- > 0;)
      value =
          static_cast<T>(static_cast<uint64_t>(value) << 8 | std::to_integer<uint64_t>(field[i]));
    return value;
  }

  std::span<const std::byte> read_bytes(uint64_t count) {
    if (failed_ || count > remaining()) {
      failed_ = true;
      return {};
    }
    std::span<const std::byte> field = bytes_.subspan(position_, count);
    position_ += count;
    return field;
  }

  std::string_view read_text(uint64_t count) {
    std::span<const std::byte> field = read_bytes(count);
    return {reinterpret_cast<const char*>(field.data()), field.size()};
  }

  bool failed() const { return failed_; }
  bool at_end() const { return position_ == bytes_.size(); }
  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }

 private:
  std::span<const std::byte> bytes_;
  uint64_t position_;
  bool failed_;
};

}  // namespace pt2

#endif  // PT2_BASE_BYTE_CURSOR_H
