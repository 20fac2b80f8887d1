// An operator is one row of a family's table:
//
//   op<"aten::relu(Tensor self) -> Tensor", same_as_self, relu>          rule and kernel
//   op<"aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", view>   a function of its own
//
// The signature is PyTorch's text, parsed by the compiler and checked against the C++ types of rule
// and kernel; the conversion from Values is derived from it. A rule computes the Meta of each
// result from the arguments and reports every error of shapes and dtypes; the kernel then fills
// `Tensor& out` (one per result) and may fail on values only. A function returns its results
// itself: views, operators composed of others, results whose size depends on data.
#pragma once

#include <span>
#include <tuple>
#include <utility>

#include "ops/meta.h"
#include "ops/random.h"
#include "ops/signature.h"
#include "pt2/limits.h"
#include "pt2/value.h"

namespace pt2::ops {

// The Generator? parameter: its state lives in the Context.
struct Generator {};

// What a call may use besides its arguments. One per running call; never shared between threads.
struct Context {
  uint64_t seed = 0;
  // For each tensor that the call makes (AllocationLimit).
  uint64_t max_tensor_bytes = Limits{}.max_tensor_bytes;
  std::optional<RandomState> random_state;

  // The generator, seeded when it is first asked for.
  RandomState& random() { return random_state ? *random_state : random_state.emplace(seed); }
};

using OptionalTensor = std::optional<Tensor>;
using Tensors = std::vector<Tensor>;
using OptionalTensors = std::vector<std::optional<Tensor>>;

// Arguments are in the order of the signature, with defaults filled in (bind.h) and kinds checked.
using Compute = Result<std::vector<Value>> (*)(Context& context, std::span<const Value> arguments);
// The Metas of the results alone; null where only running the operator tells. Verification gives it
// tensors without elements: a rule that looks at values asks `defined()` first.
using Infer = Result<std::vector<Meta>> (*)(std::span<const Value> arguments);

struct OpDef {
  const Signature* signature = nullptr;
  Compute compute = nullptr;
  Infer infer = nullptr;
};

template <class T>
struct TypeOf;
template <>
struct TypeOf<Tensor> {
  static constexpr ArgumentType kType{BaseType::tensor};
};
template <>
struct TypeOf<int64_t> {
  static constexpr ArgumentType kType{BaseType::integer};
};
template <>
struct TypeOf<double> {
  static constexpr ArgumentType kType{BaseType::number};
};
template <>
struct TypeOf<bool> {
  static constexpr ArgumentType kType{BaseType::boolean};
};
template <>
struct TypeOf<Scalar> {
  static constexpr ArgumentType kType{BaseType::scalar};
};
template <>
struct TypeOf<Dtype> {
  static constexpr ArgumentType kType{BaseType::dtype};
};
template <>
struct TypeOf<Layout> {
  static constexpr ArgumentType kType{BaseType::layout};
};
template <>
struct TypeOf<Device> {
  static constexpr ArgumentType kType{BaseType::device};
};
template <>
struct TypeOf<MemoryFormat> {
  static constexpr ArgumentType kType{BaseType::memory_format};
};
template <>
struct TypeOf<std::string> {
  static constexpr ArgumentType kType{BaseType::string};
};
template <>
struct TypeOf<Generator> {
  static constexpr ArgumentType kType{BaseType::generator};
};
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

// Values were checked against the signature when they were bound, so each is of the kind that T
// needs.
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

template <class T>
Value box(T value) {
  if constexpr (kIsVector<T>) {
    Value::List list;
    list.reserve(value.size());
    for (auto&& item : value) list.push_back(box(std::move(item)));
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

template <size_t N>
struct SignatureText {
  char text[N];
  constexpr SignatureText(const char (&literal)[N]) {
    for (size_t i = 0; i < N; ++i) text[i] = literal[i];
  }
};
template <SignatureText S>
inline constexpr auto kSignatureText = S;
template <SignatureText S>
inline constexpr Signature kSignature =
    SignatureParser(std::string_view(kSignatureText<S>.text, sizeof(S.text) - 1)).parse();

// Signature of a callable that takes the arguments, after any leading Context& and `Tensor&`
// results.
template <class... A>
struct Pack {
  static constexpr size_t kSize = sizeof...(A);
  template <const Signature& S>
  static constexpr bool matches() {
    if (S.parameter_count != sizeof...(A)) return false;
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return (TypeOf<std::remove_cvref_t<A>>::kType.same_shape(S.parameter_array[I].type) && ...);
    }
    (std::index_sequence_for<A...>{});
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

template <class F>
struct Callable;
template <class R, class... A>
struct Callable<R (*)(A...)> {
  using Return = typename Unwrapped<R>::type;
  using Arguments = Pack<A...>;
  static constexpr bool kContext = false;
};
template <class R, class... A>
struct Callable<R (*)(Context&, A...)> {
  using Return = typename Unwrapped<R>::type;
  using Arguments = Pack<A...>;
  static constexpr bool kContext = true;
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

// A row whose function returns its results.
template <const Signature& S, auto F>
struct FunctionRow {
  using Call = Callable<decltype(F)>;
  static_assert(Call::Arguments::template matches<S>(),
                "the function's parameters differ from the signature");
  static_assert(ReturnCount<typename Call::Return>::kValue == S.return_count,
                "the function's results differ from the signature");

  static Result<std::vector<Value>> compute(Context& context, std::span<const Value> arguments) {
    auto call = [&](auto&&... argument) {
      if constexpr (Call::kContext)
        return F(context, argument...);
      else
        return F(argument...);
    };
    auto unboxed = Call::Arguments::unbox_all(arguments);
    if constexpr (std::is_void_v<decltype(std::apply(call, unboxed))>) {
      std::apply(call, unboxed);
      return std::vector<Value>{};
    } else if constexpr (std::is_void_v<typename Call::Return>) {
      PT2_TRY_VOID(std::apply(call, unboxed));
      return std::vector<Value>{};
    } else {
      PT2_TRY(auto result, as_result(std::apply(call, unboxed)));
      return box_results(std::move(result));
    }
  }
};

// One Meta, or an array of one Meta per result.
inline std::vector<Meta> meta_list(Meta meta) { return {std::move(meta)}; }
template <size_t N>
std::vector<Meta> meta_list(std::array<Meta, N> metas) {
  return {std::make_move_iterator(metas.begin()), std::make_move_iterator(metas.end())};
}

// Calls kernel(context?, out..., argument...) with `outs` in front.
template <auto Kernel, size_t... O, class... A>
Result<void> call_kernel(Context& context, std::vector<Tensor>& outs, std::index_sequence<O...>,
                         const A&... argument) {
  if constexpr (std::is_invocable_v<decltype(Kernel), Context&, decltype(outs[O])...,
                                    const A&...>) {
    if constexpr (std::is_void_v<decltype(Kernel(context, outs[O]..., argument...))>) {
      Kernel(context, outs[O]..., argument...);
      return {};
    } else {
      return Kernel(context, outs[O]..., argument...);
    }
  } else if constexpr (std::is_void_v<decltype(Kernel(outs[O]..., argument...))>) {
    Kernel(outs[O]..., argument...);
    return {};
  } else {
    return Kernel(outs[O]..., argument...);
  }
}

template <class T>
struct MetaCount {
  static constexpr size_t kValue = 1;
};
template <size_t N>
struct MetaCount<std::array<Meta, N>> {
  static constexpr size_t kValue = N;
};

// Runs rule and kernel on typed arguments: how operators composed of others call them.
template <auto Rule, auto Kernel, class... A>
Result<std::vector<Tensor>> compute_all(Context& context, const A&... argument) {
  constexpr size_t kResults =
      MetaCount<typename Unwrapped<decltype(Rule(argument...))>::type>::kValue;
  PT2_TRY(auto metas, as_result(Rule(argument...)));
  std::vector<Tensor> outs;
  for (const Meta& meta : meta_list(std::move(metas))) {
    PT2_TRY(Tensor out, allocate(meta));
    outs.push_back(std::move(out));
  }
  PT2_TRY_VOID(
      call_kernel<Kernel>(context, outs, std::make_index_sequence<kResults>{}, argument...));
  return outs;
}
template <auto Rule, auto Kernel, class... A>
Result<Tensor> compute(const A&... argument) {
  Context context;
  PT2_TRY(std::vector<Tensor> outs, compute_all<Rule, Kernel>(context, argument...));
  return std::move(outs[0]);
}

// A row with a rule and a kernel.
template <const Signature& S, auto Rule, auto Kernel>
struct KernelRow {
  using Call = Callable<decltype(Rule)>;
  static_assert(Call::Arguments::template matches<S>(),
                "the rule's parameters differ from the signature");
  static_assert(MetaCount<typename Call::Return>::kValue == S.return_count,
                "the rule's results differ from the signature");

  static Result<std::vector<Meta>> infer(std::span<const Value> arguments) {
    auto unboxed = Call::Arguments::unbox_all(arguments);
    PT2_TRY(auto metas, as_result(std::apply(Rule, unboxed)));
    return meta_list(std::move(metas));
  }
  static Result<std::vector<Value>> compute(Context& context, std::span<const Value> arguments) {
    auto unboxed = Call::Arguments::unbox_all(arguments);
    auto call = [&](const auto&... argument) {
      return compute_all<Rule, Kernel>(context, argument...);
    };
    PT2_TRY(std::vector<Tensor> outs, std::apply(call, unboxed));
    std::vector<Value> values;
    for (Tensor& out : outs) values.emplace_back(std::move(out));
    return values;
  }
};

template <SignatureText S, auto... F>
struct Row;
template <SignatureText S, auto Function>
struct Row<S, Function> {
  static constexpr OpDef kDef{&kSignature<S>, &FunctionRow<kSignature<S>, Function>::compute,
                              nullptr};
};
template <SignatureText S, auto Rule, auto Kernel>
struct Row<S, Rule, Kernel> {
  static constexpr OpDef kDef{&kSignature<S>, &KernelRow<kSignature<S>, Rule, Kernel>::compute,
                              &KernelRow<kSignature<S>, Rule, Kernel>::infer};
};
template <SignatureText S, auto... F>
inline constexpr OpDef op = Row<S, F...>::kDef;

}  // namespace pt2::ops
