// Boxing: turns C++ functions into kernels of operators. This header maps each C++ type to a type
// of operator signatures, and converts Values from and to C++ types. `Tensor[]` is
// std::vector<Tensor>, `float?` is std::optional<double>, several results are a std::tuple.
#ifndef PT2_OPS_BOXING_H
#define PT2_OPS_BOXING_H

#include <array>
#include <complex>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pt2/result.h"
#include "pt2/value.h"

namespace pt2::ops {

enum class BaseType : uint8_t {
  tensor,
  integer,
  number,
  boolean,
  scalar,
  dtype,
  layout,
  device,
  memory_format,
  string,
  generator,
  object
};

struct ArgumentType {
  BaseType base = BaseType::tensor;
  bool optional = false;
  bool list = false;
  bool optional_element = false;  // Tensor?[]
  uint8_t list_size = 0;          // int[2]: a single int stands for two equal elements
  // True if both types are equal apart from list_size.
  constexpr bool same_shape(const ArgumentType& other) const {
    return base == other.base && optional == other.optional && list == other.list &&
           optional_element == other.optional_element;
  }
};

// The type of a Generator? parameter. It holds nothing: random numbers come from the context.
struct Generator {};

template <BaseType Base>
struct BaseTypeOf {
  static constexpr ArgumentType kType{Base};
};

template <class T>
inline constexpr bool kHasType = false;
// The signature type of T. Only the specialisations below have one.
template <class T>
struct TypeOf {
  static_assert(kHasType<T>,
                "functions of operators take and return Tensor, int64_t, double, bool, "
                "std::string, Scalar, Dtype, Layout, Device, MemoryFormat, Object, and "
                "std::optional and std::vector of these: write int64_t for int, double for float");
  static constexpr ArgumentType kType{};
};
template <>
struct TypeOf<Tensor> : BaseTypeOf<BaseType::tensor> {};
template <>
struct TypeOf<int64_t> : BaseTypeOf<BaseType::integer> {};
template <>
struct TypeOf<double> : BaseTypeOf<BaseType::number> {};
template <>
struct TypeOf<bool> : BaseTypeOf<BaseType::boolean> {};
template <>
struct TypeOf<Scalar> : BaseTypeOf<BaseType::scalar> {};
template <>
struct TypeOf<Dtype> : BaseTypeOf<BaseType::dtype> {};
template <>
struct TypeOf<Layout> : BaseTypeOf<BaseType::layout> {};
template <>
struct TypeOf<Device> : BaseTypeOf<BaseType::device> {};
template <>
struct TypeOf<MemoryFormat> : BaseTypeOf<BaseType::memory_format> {};
template <>
struct TypeOf<std::string> : BaseTypeOf<BaseType::string> {};
template <>
struct TypeOf<Generator> : BaseTypeOf<BaseType::generator> {};
template <>
struct TypeOf<Object> : BaseTypeOf<BaseType::object> {};
template <class T>
struct TypeOf<std::optional<T>> {
  static constexpr ArgumentType kType{TypeOf<T>::kType.base, true, TypeOf<T>::kType.list};
};
template <class T>
struct TypeOf<std::vector<T>> {
  static constexpr ArgumentType kType{TypeOf<T>::kType.base, false, true,
                                      TypeOf<T>::kType.optional};
};

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;

// Converts a Value to T. Unchecked: binding the arguments to the signature has checked that the
// kind of the value fits T.
template <class T>
T unbox(const Value& value) {
  if constexpr (kIsOptional<T>) {
    if (value.is_none()) return std::nullopt;
    return unbox<typename T::value_type>(value);
  } else if constexpr (kIsVector<T>) {
    T out;
    const Value::List& list = *value.get_if<Value::List>();
    out.reserve(list.size());
    for (const Value& item : list) out.push_back(unbox<typename T::value_type>(item));
    return out;
  } else if constexpr (std::is_same_v<T, Generator>) {
    return {};
  } else if constexpr (std::is_same_v<T, double>) {
    if (const auto* integer = value.get_if<int64_t>()) return static_cast<double>(*integer);
    return *value.get_if<double>();
  } else if constexpr (std::is_same_v<T, Scalar>) {
    if (const auto* integer = value.get_if<int64_t>()) return *integer;
    if (const auto* number = value.get_if<double>()) return *number;
    if (const auto* boolean = value.get_if<bool>()) return *boolean;
    return *value.get_if<std::complex<double>>();
  } else {
    return *value.get_if<T>();
  }
}

// Converts a T to a Value. An empty optional becomes None.
template <class T>
Value box(T value) {
  if constexpr (kIsVector<T>) {
    Value::List list;
    list.reserve(value.size());
    for (auto&& item : value) list.push_back(box<typename T::value_type>(std::move(item)));
    return Value(std::move(list));
  } else if constexpr (kIsOptional<T>) {
    return value ? box(*std::move(value)) : Value();
  } else if constexpr (std::is_same_v<T, Scalar>) {
    switch (value.category()) {
      case DtypeCategory::boolean:
        return Value(value.to_bool());
      case DtypeCategory::integer:
        return Value(value.to_int());
      case DtypeCategory::floating:
        return Value(value.to_double());
      case DtypeCategory::complex:
        return Value(value.to_complex());
    }
    return Value();
  } else {
    return Value(std::move(value));
  }
}

// The argument types of a callable that correspond to parameters of the signature.
template <class... A>
struct Pack {
  static constexpr std::array<ArgumentType, sizeof...(A)> types() {
    return {TypeOf<std::remove_cvref_t<A>>::kType...};
  }
  static std::tuple<std::remove_cvref_t<A>...> unbox_all(std::span<const Value> arguments) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return std::tuple<std::remove_cvref_t<A>...>{unbox<std::remove_cvref_t<A>>(arguments[I])...};
    }
    (std::index_sequence_for<A...>{});
  }
};

template <class T>
struct Unwrapped {
  using type = T;
};
template <class T>
struct Unwrapped<Result<T>> {
  using type = T;
};

template <class T>
struct ReturnCount {
  static constexpr size_t kValue = 1;
};
template <>
struct ReturnCount<void> {
  static constexpr size_t kValue = 0;
};
template <class... T>
struct ReturnCount<std::tuple<T...>> {
  static constexpr size_t kValue = sizeof...(T);
};

template <class T>
struct ReturnTypes {
  static constexpr std::array<ArgumentType, 1> kTypes{TypeOf<T>::kType};
};
template <>
struct ReturnTypes<void> {
  static constexpr std::array<ArgumentType, 0> kTypes{};
};
template <class... T>
struct ReturnTypes<std::tuple<T...>> {
  static constexpr std::array<ArgumentType, sizeof...(T)> kTypes{TypeOf<T>::kType...};
};

template <class F>
inline constexpr bool kIsStdFunction = false;
template <class Signature>
inline constexpr bool kIsStdFunction<std::function<Signature>> = true;

// The Pack and the result type of a function pointer or a function object.
template <class F>
struct FunctionTypes : FunctionTypes<decltype(&F::operator())> {};
template <class R, class... A>
struct FunctionTypes<R (*)(A...)> {
  using Return = typename Unwrapped<R>::type;
  using Arguments = Pack<A...>;
};
template <class R, class... A>
struct FunctionTypes<R (*)(A...) noexcept> : FunctionTypes<R (*)(A...)> {};
template <class R, class C, class... A>
struct FunctionTypes<R (C::*)(A...) const> : FunctionTypes<R (*)(A...)> {};
template <class R, class C, class... A>
struct FunctionTypes<R (C::*)(A...) const noexcept> : FunctionTypes<R (*)(A...)> {};

// The argument and result types of a C++ function, to compare with a signature.
struct FunctionShape {
  std::span<const ArgumentType> arguments;
  std::span<const ArgumentType> returns;
};

template <class T>
Result<T> as_result(Result<T> result) {
  return result;
}
template <class T>
Result<T> as_result(T value) {
  return Result<T>(std::move(value));
}

template <class T>
std::vector<Value> box_results(T value) {
  std::vector<Value> out;
  if constexpr (ReturnCount<T>::kValue == 1) {
    out.push_back(box(std::move(value)));
  } else {
    std::apply([&](auto&&... item) { (out.push_back(box(std::move(item))), ...); },
               std::move(value));
  }
  return out;
}

// Calls `function` with `arguments`, unboxed to the types of the Pack. Returns the boxed results,
// or the error that the function returns.
template <class Arguments, class F>
Result<std::vector<Value>> call_boxed(F&& function, std::span<const Value> arguments) {
  auto unboxed = Arguments::unbox_all(arguments);
  using Return = decltype(std::apply(function, unboxed));
  if constexpr (std::is_void_v<Return>) {
    std::apply(function, unboxed);
    return std::vector<Value>{};
  } else if constexpr (std::is_void_v<typename Unwrapped<Return>::type>) {
    PT2_TRY_VOID(std::apply(function, unboxed));
    return std::vector<Value>{};
  } else {
    PT2_TRY(auto result, as_result(std::apply(function, unboxed)));
    return box_results(std::move(result));
  }
}

}  // namespace pt2::ops

#endif  // PT2_OPS_BOXING_H
