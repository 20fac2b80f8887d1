// Result<T>: a value, or the Error that prevented it. Names follow std::expected, which C++20
// lacks. Only `value()` throws; it is for users who prefer exceptions, and does not exist with
// -fno-exceptions. Code of the library uses PT2_TRY.
#ifndef PT2_RESULT_H
#define PT2_RESULT_H

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "pt2/error.h"

namespace pt2 {

// The exception that Result::value() throws.
class Exception : public std::exception {
 public:
  explicit Exception(Error error) : error_(std::move(error)), text_(error_.text()) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
  std::string text_;
};

// A hand-written union, not a std::variant, which would cost the compiler a hundred functions for
// each T.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : has_value_(true), value_(std::move(value)) {}
  Result(Error error) : has_value_(false), error_(std::move(error)) {}
  Result(const Result& other) requires std::copy_constructible<T> : has_value_(other.has_value_) {
    if (has_value_)
      std::construct_at(&value_, other.value_);
    else
      std::construct_at(&error_, other.error_);
  }
  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>)
      : has_value_(other.has_value_) {
    if (has_value_)
      std::construct_at(&value_, std::move(other.value_));
    else
      std::construct_at(&error_, std::move(other.error_));
  }
  Result& operator=(Result other) noexcept {
    std::destroy_at(this);
    return *std::construct_at(this, std::move(other));
  }
  ~Result() {
    if (has_value_)
      std::destroy_at(&value_);
    else
      std::destroy_at(&error_);
  }

  bool has_value() const { return has_value_; }
  explicit operator bool() const { return has_value_; }
  // Return the value or the error. The behaviour is undefined if the result does not hold it.
  T& operator*() & { return value_; }
  const T& operator*() const& { return value_; }
  T&& operator*() && { return std::move(value_); }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }
  const Error& error() const& { return error_; }
  Error&& error() && { return std::move(error_); }
#ifdef __cpp_exceptions
  // Returns the value; throws Exception if there is none.
  T& value() & { return throw_if_error(), **this; }
  const T& value() const& { return throw_if_error(), **this; }
  // Returns by value, so that `for (auto& x : f().value())` does not iterate over a destroyed
  // temporary.
  T value() && { return throw_if_error(), *std::move(*this); }
#endif

 private:
#ifdef __cpp_exceptions
  void throw_if_error() const {
    if (!has_value_) throw Exception(error_);
  }
#endif
  bool has_value_;
  union {
    T value_;
    Error error_;
  };
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
// PT2_TRY_VOID(check(x));            returns the Error of a Result<void> to the caller.
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
