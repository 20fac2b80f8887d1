// What every function of the C interface passes on its way in and out: errors as handles, options
// by their size, texts by pointer and length.
#ifndef PT2_C_BORDER_H
#define PT2_C_BORDER_H

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

// `text` ends with the message, and is kept in `storage` with the place before it, so that each
// part ends with a zero.
struct pt2_error {
  int32_t code = PT2_INTERNAL;
  std::string_view message{};
  std::string_view place{};
  std::string_view text{};
  std::string* storage = nullptr;  // null: static
};

struct pt2_text {
  std::string text;
};

namespace pt2::c {

// Never fails: where there is no memory for it, a static error that says so.
pt2_error* make_error(int32_t code, std::string_view message, std::string_view place) noexcept;
pt2_error* make_error(const Error& error) noexcept;
pt2_error* no_memory() noexcept;
// Takes an error that a callback gave.
Error take_error(pt2_error* error);

inline Error argument_error(std::string message) {
  return {ErrorCode::argument, std::move(message), ""};
}

// Runs what may fail in any way; nothing gets past it but the answer.
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

// For a parameter that must be there: PT2_TRY_VOID(expect(out, "out")).
Result<void> expect(const void* pointer, const char* name);

inline const char* give(std::string_view text, size_t* length) {
  if (length != nullptr) *length = text.size();
  return text.data() == nullptr ? "" : text.data();
}

// Error `argument` for a null pointer with a length.
Result<std::string_view> read_text(const char* text, size_t length, const char* name);

// Defaults for null. A struct may be longer than this version knows if the rest is zero.
Result<void> read_struct(const void* given, void* out, size_t known);
template <class T>
Result<T> read_options(const T* given) {
  T out{};
  out.size = sizeof(T);
  if (given != nullptr) PT2_TRY_VOID(read_struct(given, &out, sizeof(T)));
  return out;
}
// Writes an answer, as much of it as the caller's version knows.
template <class T>
Result<void> answer(T filled, T* out) {
  PT2_TRY_VOID(expect(out, "out"));
  if (out->size < sizeof(T)) return argument_error("'out' has no size; begin with PT2_INIT");
  filled.size = out->size;
  std::memcpy(out, &filled, sizeof(T));
  return {};
}

// "max_work=1000,max_json_depth=64".
Result<Limits> read_limits(const char* text, size_t length);

// Tells a caller once that memory is not used any more.
class Releaser {
 public:
  Releaser() = default;
  Releaser(const Releaser&) = delete;
  Releaser& operator=(const Releaser&) = delete;
  ~Releaser() {
    if (release_ != nullptr) release_(user_);
  }
  // From here on; until then what was to be released stays the caller's.
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
