// An operator is one row of a family's table:
//
//   op<"aten::relu(Tensor self) -> Tensor", same_as_self, relu>          rule and kernel
//   op<"aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", view>   a function of its own
//
// The signature is PyTorch's text, parsed by the compiler and checked against the C++ types of rule
// and kernel; the conversion from Values is derived from it. A rule computes the Meta of each
// result from the arguments and reports every error of shapes and dtypes; the kernel then fills
// `Tensor& out` (one per result) and may fail on values only. A function returns its results
// itself: views, operators composed of others, results whose size depends on data. Where a rule can
// say what that will be, verification takes
//
//   composed<"aten::conv2d(…) -> Tensor", conv_meta, conv>               rule and function
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
// The arguments of PyTorch's TensorOptions, as schemas list them: dtype, layout, device,
// pin_memory; and the memory format beside them.
using OptionalDtype = std::optional<Dtype>;
using OptionalLayout = std::optional<Layout>;
using OptionalDevice = std::optional<Device>;
using PinMemory = std::optional<bool>;
using OptionalFormat = std::optional<MemoryFormat>;
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
  // A kernel fills new memory; what a function returns may share that of its arguments.
  bool is_kernel = false;
};

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
struct SignatureOf {
  static constexpr ParsedSignature kParsed =
      parse_or_throw(std::string_view(kSignatureText<S>.text, sizeof(S.text) - 1));
  template <size_t N, class T, size_t M>
  static constexpr std::array<T, N> first(const std::array<T, M>& all) {
    std::array<T, N> out{};
    for (size_t i = 0; i < N; ++i) out[i] = all[i];
    return out;
  }
  static constexpr auto kParameters = first<kParsed.parameter_count>(kParsed.parameters);
  static constexpr auto kReturns = first<kParsed.return_count>(kParsed.returns);
};
template <SignatureText S>
inline constexpr Signature kSignature{
    SignatureOf<S>::kParsed.text,        SignatureOf<S>::kParsed.name,
    SignatureOf<S>::kParsed.overload,    SignatureOf<S>::kParameters.data(),
    SignatureOf<S>::kReturns.data(),     SignatureOf<S>::kParsed.parameter_count,
    SignatureOf<S>::kParsed.return_count};

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
    return call_boxed<typename Call::Arguments>(call, arguments);
  }
};

// One Meta, or an array of one Meta per result.
inline std::vector<Meta> meta_list(Meta meta) { return {std::move(meta)}; }
template <size_t N>
std::vector<Meta> meta_list(std::array<Meta, N> metas) {
  return {std::make_move_iterator(metas.begin()), std::make_move_iterator(metas.end())};
}

// A rule for functions of any signature: the result is like the first argument, a tensor.
inline Result<std::vector<Meta>> like_first(std::span<const Value> arguments) {
  return meta_list(Meta::like(*arguments[0].get_if<Tensor>()));
}

// The rule of functions whose results have the sizes, or are the numbers, that elements say.
inline Result<std::vector<Meta>> depends_on_data(std::span<const Value>) {
  return Error{ErrorCode::unsupported, "the result depends on elements", ""};
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

template <const Signature& S, auto Rule>
struct RuleRow {
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
};

// A row with a rule and a kernel.
template <const Signature& S, auto Rule, auto Kernel>
struct KernelRow {
  static Result<std::vector<Value>> compute(Context& context, std::span<const Value> arguments) {
    auto unboxed = RuleRow<S, Rule>::Call::Arguments::unbox_all(arguments);
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
                              &RuleRow<kSignature<S>, Rule>::infer, true};
};
template <SignatureText S, auto... F>
inline constexpr OpDef op = Row<S, F...>::kDef;

// The rule has the function's parameters, or is an Infer itself.
template <const Signature& S, auto Rule>
constexpr Infer infer_of() {
  if constexpr (std::is_same_v<decltype(Rule), Infer>)
    return Rule;
  else
    return &RuleRow<S, Rule>::infer;
}
template <SignatureText S, auto Rule, auto Function>
inline constexpr OpDef composed{&kSignature<S>, &FunctionRow<kSignature<S>, Function>::compute,
                                infer_of<kSignature<S>, Rule>()};

}  // namespace pt2::ops
