// A value or the Error that prevented it. Names follow std::expected, which C++20 lacks; `value()`
// alone throws, for users who prefer exceptions to checks; there is none where they are switched
// off (-fno-exceptions). Inside the library: PT2_TRY.
#ifndef PT2_RESULT_H
#define PT2_RESULT_H

#include <exception>
#include <optional>
#include <utility>
#include <variant>

#include "pt2/error.h"

namespace pt2 {

class Exception : public std::exception {
 public:
  explicit Exception(Error error) : error_(std::move(error)), text_(error_.text()) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
  std::string text_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  // Undefined without a value, like a null pointer; test first.
  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }
#ifdef __cpp_exceptions
  // The value, or throws Exception.
  T& value() & { return throw_if_error(), **this; }
  const T& value() const& { return throw_if_error(), **this; }
  // By value, so that `for (auto& x : f().value())` does not iterate over a destroyed temporary.
  T value() && { return throw_if_error(), *std::move(*this); }
#endif

 private:
#ifdef __cpp_exceptions
  void throw_if_error() const {
    if (!has_value()) throw Exception(error());
  }
#endif
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  bool has_value() const { return !error_; }
  explicit operator bool() const { return has_value(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }
#ifdef __cpp_exceptions
  void value() const {
    if (error_) throw Exception(*error_);
  }
#endif

 private:
  std::optional<Error> error_;
};

// PT2_TRY(Json json, parse(bytes));  declares `json`, or returns the Error to the caller.
// PT2_TRY_VOID(check(x));            the same without a value.
#define PT2_JOIN_(a, b) a##b
#define PT2_JOIN(a, b) PT2_JOIN_(a, b)
#define PT2_TRY_IMPL_(result, declaration, ...)              \
  auto result = (__VA_ARGS__);                               \
  if (!result.has_value()) return std::move(result).error(); \
  declaration = *std::move(result)
#define PT2_TRY(declaration, ...) \
  PT2_TRY_IMPL_(PT2_JOIN(pt2_try_, __LINE__), declaration, __VA_ARGS__)
#define PT2_TRY_VOID(...)                                                  \
  do {                                                                     \
    auto pt2_try_void = (__VA_ARGS__);                                     \
    if (!pt2_try_void.has_value()) return std::move(pt2_try_void).error(); \
  } while (false)

}  // namespace pt2

#endif  // PT2_RESULT_H
