// Conventions of all functions of the C interface: errors as handles, options by their size, texts
// by pointer and length.
#ifndef PT2_C_BORDER_H
#define PT2_C_BORDER_H

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "pt2/c/pt2.h"
#include "pt2/limits.h"
#include "pt2/result.h"

// `storage` holds the place, a zero, and `text`, which ends with the message. So `place`, `text`
// and `message` each end with a zero.
struct pt2_error {
  int32_t code = PT2_INTERNAL;
  std::string_view message{};
  std::string_view place{};
  std::string_view text{};
  std::string* storage = nullptr;  // null for a static error
};

struct pt2_text {
  std::string text;
};

namespace pt2::c {

// Never fails: returns a static error if there is no memory.
pt2_error* make_error(int32_t code, std::string_view message, std::string_view place) noexcept;
pt2_error* make_error(const Error& error) noexcept;
pt2_error* no_memory() noexcept;
// Converts an error that a callback returned, and frees it.
Error take_error(pt2_error* error);

inline Error argument_error(std::string message) {
  return {ErrorCode::argument, std::move(message), ""};
}

// Runs `body` and turns every error and exception into a handle.
template <class F>
pt2_error* guarded(F&& body) noexcept {
  try {
    const Result<void> result = body();
    return result ? nullptr : make_error(result.error());
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::exception& exception) {
    return make_error(PT2_INTERNAL, exception.what(), "");
  } catch (...) {
    return make_error(PT2_INTERNAL, "unknown exception", "");
  }
}

// Error `argument` if a required parameter is null: PT2_TRY_VOID(expect(out, "out")).
Result<void> expect(const void* pointer, const char* name);

inline const char* give(std::string_view text, size_t* length) {
  if (length != nullptr) *length = text.size();
  return text.data() == nullptr ? "" : text.data();
}

// Error `argument` for a null pointer with a length.
Result<std::string_view> read_text(const char* text, size_t length, const char* name);

// The size of a struct in the first version that had it: programs compiled since then give at least
// this size. A struct that grows gets a row here, with the offset of its first new member. That
// offset is the struct's former size: callers leave the padding behind the last member undefined.
template <class T>
inline constexpr size_t kFirstSize = sizeof(T);
template <>
inline constexpr size_t kFirstSize<pt2_generate_options> = offsetof(pt2_generate_options, token_of);

// Reads the options that this version knows; null gives the defaults (read_options), and so do
// members that the caller's version does not have. A struct may be longer if the rest is zero.
Result<void> read_struct(const void* given, void* out, size_t first, size_t known);
template <class T>
Result<T> read_options(const T* given) {
  T out{};
  out.size = sizeof(T);
  if (given != nullptr) PT2_TRY_VOID(read_struct(given, &out, kFirstSize<T>, sizeof(T)));
  return out;
}
// Writes an answer, as much of it as the caller's version has. Error `argument` if the caller's
// struct is smaller than in any version.
template <class T>
Result<void> answer(T filled, T* out) {
  PT2_TRY_VOID(expect(out, "out"));
  if (out->size < kFirstSize<T>) return argument_error("'out' has no size; begin with PT2_INIT");
  filled.size = out->size;
  std::memcpy(out, &filled, std::min(out->size, sizeof(T)));
  return {};
}

// Parses "max_work=1000,max_json_depth=64".
Result<Limits> read_limits(const char* text, size_t length);

// Calls the caller's release function once, when the memory is not used any more.
class Releaser {
 public:
  Releaser() = default;
  Releaser(const Releaser&) = delete;
  Releaser& operator=(const Releaser&) = delete;
  ~Releaser() {
    if (release_ != nullptr) release_(user_);
  }
  // Releases from here on. Before the call, the memory stays the caller's.
  void set(pt2_release release, void* user) {
    release_ = release;
    user_ = user;
  }

 private:
  pt2_release release_ = nullptr;
  void* user_ = nullptr;
};

}  // namespace pt2::c

#endif  // PT2_C_BORDER_H
