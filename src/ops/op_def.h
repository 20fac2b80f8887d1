// An operator is one row of a family's table:
//
//   op<"aten::relu(Tensor self) -> Tensor", same_as_self, relu>          rule and kernel
//   op<"aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", view>   a function alone
//
// The signature is PyTorch's text. The compiler parses it and checks the C++ types of rule and
// kernel against it; the conversion from Values is derived from it. A rule computes the Meta of
// each result from the arguments and reports all errors of shapes and dtypes. The kernel then fills
// `Tensor& out` (one per result) and can fail only because of element values. A function returns
// its results itself: views, composed operators, results whose size depends on data. If a rule can
// predict these results, the row names the rule too, and verification uses it:
//
//   composed<"aten::conv2d(…) -> Tensor", conv_meta, conv>               rule and function
//
// A composed operator is best written as a formula, a function whose first parameter is an Emitter
// (emitter.h). The formula gives the rule, the kernel and the nodes of a decomposition.
//
//   op<"aten::glu(Tensor self, int dim=-1) -> Tensor", glu>              a formula alone
//   op<"aten::silu(Tensor self) -> Tensor", same_as_self, silu, silu_of> rule, kernel and formula
//
// An operator that returns a copy of its first argument, a part of which is changed, needs only the
// function that changes that part of a given tensor, and a rule if the function checks more than
// its first argument. Its in-place form runs without the copy.
//
//   changed<"aten::put(Tensor self, …) -> Tensor", put>                  the change alone
//
// A function leaves out the parameters at the end of the signature that it does not need.
//
// Further properties of an operator follow the row in `.with({…})` (facts.h).
#ifndef PT2_OPS_OP_DEF_H
#define PT2_OPS_OP_DEF_H

#include <functional>
#include <span>
#include <tuple>
#include <utility>

#include "base/random_state.h"
#include "ops/emitter.h"
#include "ops/facts.h"
#include "ops/meta.h"
#include "ops/signature.h"
#include "pt2/limits.h"
#include "pt2/value.h"

namespace pt2::ops {

// The state that a call may use besides its arguments. Each running call has its own Context;
// threads never share one.
struct Context {
  uint64_t seed = 0;
  // The limit for each tensor that the call allocates (AllocationLimit).
  uint64_t max_tensor_bytes = Limits{}.max_tensor_bytes;
  std::optional<RandomState> random_state;
  // Told what the program prints (CallOptions::on_print); null: nobody.
  const std::function<void(std::string_view)>* on_print = nullptr;

  // Returns the random generator, seeded on first use. If the call names a generator of its own,
  // call() in table.h puts the state of that generator here.
  RandomState& random() { return random_state ? *random_state : random_state.emplace(seed); }
};

using OptionalTensor = std::optional<Tensor>;
using Tensors = std::vector<Tensor>;
// PyTorch's TensorOptions as schemas list them (dtype, layout, device, pin_memory), and the memory
// format.
using OptionalDtype = std::optional<Dtype>;
using OptionalLayout = std::optional<Layout>;
using OptionalDevice = std::optional<Device>;
using PinMemory = std::optional<bool>;
using OptionalFormat = std::optional<MemoryFormat>;
using OptionalTensors = std::vector<std::optional<Tensor>>;

// A row: a signature and type-erased pointers to its functions. Only the converters
// (`compute_boxed`, `infer_boxed`, `write_boxed`) know the types of the functions.
struct OpDef {
  const Signature* signature = nullptr;
  // The addresses (kAddress) of the pointers to the rule, and to the kernel or function.
  const void* rule = nullptr;
  const void* function = nullptr;
  // The converters unpack arguments from Values and pack results. The compiler makes one for each
  // C++ function type, not for each operator: a thousand rows share some three hundred.
  Result<std::vector<Value>> (*compute_boxed)(const OpDef& def, Context& context,
                                              std::span<const Value> arguments) = nullptr;
  Result<std::vector<Meta>> (*infer_boxed)(const OpDef& def,
                                           std::span<const Value> arguments) = nullptr;
  // True if the function takes the Context: it draws random numbers from it, or prints.
  bool may_draw = false;
  Facts facts{};
  // The address of the pointer to the formula; null if there is no formula.
  const void* formula = nullptr;
  Result<std::vector<Value>> (*write_boxed)(const OpDef& def, Emitter& emitter,
                                            std::span<const Value> arguments) = nullptr;
  // The address of the pointer to the function that changes a part of self; null in rows whose
  // in-place form is a copy of the result. `self` may have any strides, but none of its elements
  // may share memory with each other or with an argument. The arguments are those after self.
  const void* change = nullptr;
  Result<void> (*change_boxed)(const OpDef& def, Tensor& self,
                               std::span<const Value> arguments) = nullptr;

  constexpr bool is_view() const {
    return facts.sharing == Sharing::always || (signature->may_alias() && !signature->is_mutable());
  }
  constexpr OpDef with(const Facts& all) const {
    OpDef out = *this;
    out.facts = all;
    return out;
  }
  // Adds the change to a row whose function does not start from a copy of self.
  template <auto Change>
  constexpr OpDef changing() const;

  // True if the function can run on tensors without elements: for arithmetic of sizes, for views
  // whose signature marks every tensor argument as aliased, and for rows that say so (facts.h).
  bool looks_at_sizes_alone() const;

  // Runs the operator. `arguments` must be in the order of the signature, with defaults filled in
  // (bind.h) and their kinds checked.
  Result<std::vector<Value>> compute(Context& context, std::span<const Value> arguments) const {
    return compute_boxed(*this, context, arguments);
  }
  // True if the results can be inferred without running the operator: by a rule, or by a formula on
  // tensors without elements.
  bool is_predictable() const { return infer_boxed != nullptr || write_boxed != nullptr; }
  // True if the results are tensors and a rule gives their Metas.
  bool has_rule() const { return infer_boxed != nullptr; }
  // Infers the Metas of the results; requires has_rule(). Verification passes tensors without
  // elements: a rule that reads elements must check `defined()` first.
  Result<std::vector<Meta>> infer(std::span<const Value> arguments) const {
    return infer_boxed(*this, arguments);
  }
};

// A constant expression may hold the address of a pointer to a function as void*, but not the
// function pointer itself.
template <auto F>
inline constexpr auto kAddress = F;
template <class F>
F function_at(const void* address) {
  return *static_cast<const F*>(address);
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
  static constexpr size_t kCount = sizeof...(A);
  static constexpr bool kContext = false;
};
template <class R, class... A>
struct Callable<R (*)(Context&, A...)> : Callable<R (*)(A...)> {
  static constexpr bool kContext = true;
};
template <class R, class... A>
struct Callable<R (*)(Emitter&, A...)> : Callable<R (*)(A...)> {};
template <class F>
inline constexpr bool kIsFormula = false;
template <class R, class... A>
inline constexpr bool kIsFormula<R (*)(Emitter&, A...)> = true;

// Runs a formula on unboxed arguments (`write_boxed`). The converters are marked as cold, that is,
// compiled for size: there are fifteen hundred, and the time of a call is that of what they call.
template <class F>
[[gnu::cold]] Result<std::vector<Value>> write_formula(const OpDef& def, Emitter& emitter,
                                                       std::span<const Value> arguments) {
  const F formula = function_at<F>(def.formula);
  auto call = [&](const auto&... argument) { return formula(emitter, argument...); };
  return call_boxed<typename Callable<F>::Arguments>(call, arguments);
}

// Runs a function that returns its results (`compute_boxed`).
template <class F>
[[gnu::cold]] Result<std::vector<Value>> compute_function(const OpDef& def, Context& context,
                                                          std::span<const Value> arguments) {
  using Call = Callable<F>;
  const F function = function_at<F>(def.function);
  auto call = [&](auto&&... argument) {
    if constexpr (Call::kContext)
      return function(context, argument...);
    else
      return function(argument...);
  };
  return call_boxed<typename Call::Arguments>(call, arguments);
}

template <class F>
inline constexpr bool kTakesContext = false;
template <class R, class... A>
inline constexpr bool kTakesContext<R (*)(Context&, A...)> = true;

// Functions below that do not depend on the type of a row's function are compiled once, in
// op_def.cpp.
std::vector<Meta> meta_list(std::span<Meta> metas);
// A list of one Meta, or of an array with one Meta per result.
inline std::vector<Meta> meta_list(Meta meta) { return meta_list(std::span(&meta, 1)); }
template <size_t N>
std::vector<Meta> meta_list(std::array<Meta, N> metas) {
  return meta_list(std::span<Meta>(metas));
}
// Allocates a tensor for each Meta. Counts `work` (Facts::work) for each of their elements, before
// a kernel computes them.
Result<std::vector<Tensor>> allocate_all(const std::vector<Meta>& metas, uint64_t work);
std::vector<Value> values_of(std::vector<Tensor> tensors);

// A rule for any signature: the result has the Meta of the first argument, which must be a tensor.
inline Result<std::vector<Meta>> like_first(std::span<const Value> arguments) {
  return meta_list(Meta::like(*arguments[0].get_if<Tensor>()));
}

// The rule of functions whose results are numbers, or have sizes, that depend on elements.
inline Result<std::vector<Meta>> depends_on_data(std::span<const Value>) {
  return Error{ErrorCode::unsupported, "the result depends on elements", ""};
}

// Calls function(context?, out..., argument...) with as many arguments as it has parameters.
template <class F, size_t... O, class... A>
auto call_leading(F function, Context& context, std::vector<Tensor>& outs,
                  std::index_sequence<O...>, const std::tuple<A...>& arguments) {
  return [&]<size_t... I>(std::index_sequence<I...>) {
    if constexpr (Callable<F>::kContext)
      return function(context, outs[O]..., std::get<I>(arguments)...);
    else
      return function(outs[O]..., std::get<I>(arguments)...);
  }
  (std::make_index_sequence<Callable<F>::kCount - sizeof...(O)>{});
}

template <class T>
struct MetaCount {
  static constexpr size_t kValue = 1;
};
template <size_t N>
struct MetaCount<std::array<Meta, N>> {
  static constexpr size_t kValue = N;
};

// Runs a rule and a kernel on typed arguments. Composed operators use it, too.
template <class Rule, class Kernel, class... A>
Result<std::vector<Tensor>> compute_all(Rule rule, Kernel kernel, uint64_t work, Context& context,
                                        const std::tuple<A...>& arguments) {
  constexpr size_t kResults = MetaCount<typename Callable<Rule>::Return>::kValue;
  std::vector<Tensor> outs;
  PT2_TRY(auto metas,
          as_result(call_leading(rule, context, outs, std::index_sequence<>{}, arguments)));
  PT2_TRY(outs, allocate_all(meta_list(std::move(metas)), work));
  const auto run = [&] {
    return call_leading(kernel, context, outs, std::make_index_sequence<kResults>{}, arguments);
  };
  if constexpr (std::is_void_v<decltype(run())>)
    run();
  else
    PT2_TRY_VOID(run());
  return outs;
}
template <auto Rule, auto Kernel, class... A>
Result<Tensor> compute(const A&... argument) {
  Context context;
  PT2_TRY(std::vector<Tensor> outs, compute_all(Rule, Kernel, 0, context, std::tie(argument...)));
  return std::move(outs[0]);
}

// Runs a rule on unboxed arguments (`infer_boxed`).
template <class Rule>
[[gnu::cold]] Result<std::vector<Meta>> infer_by_rule(const OpDef& def,
                                                      std::span<const Value> arguments) {
  auto unboxed = Callable<Rule>::Arguments::unbox_all(arguments);
  PT2_TRY(auto metas, as_result(std::apply(function_at<Rule>(def.rule), unboxed)));
  return meta_list(std::move(metas));
}
// Runs a rule that takes Values itself.
using UntypedRule = Result<std::vector<Meta>> (*)(std::span<const Value> arguments);
inline Result<std::vector<Meta>> infer_untyped(const OpDef& def, std::span<const Value> arguments) {
  return function_at<UntypedRule>(def.rule)(arguments);
}

// The parameters of a kernel after its results.
template <class Parameters>
struct AfterResults {
  using Arguments = Parameters;
};
template <class... A>
struct AfterResults<Pack<Tensor&, A...>> : AfterResults<Pack<A...>> {};
template <class Kernel>
using KernelArguments = typename AfterResults<typename Callable<Kernel>::Arguments>::Arguments;

// True if the kernel has more arguments than the rule.
template <class Rule, class Kernel>
inline constexpr bool kIsLonger =
    Callable<Kernel>::kCount >
    Callable<Rule>::kCount + MetaCount<typename Callable<Rule>::Return>::kValue;

// Runs a rule and then a kernel (`compute_boxed`).
template <class Rule, class Kernel>
[[gnu::cold]] Result<std::vector<Value>> compute_kernel(const OpDef& def, Context& context,
                                                        std::span<const Value> arguments) {
  using Arguments = std::conditional_t<kIsLonger<Rule, Kernel>, KernelArguments<Kernel>,
                                       typename Callable<Rule>::Arguments>;
  PT2_TRY(std::vector<Tensor> outs,
          compute_all(function_at<Rule>(def.rule), function_at<Kernel>(def.function),
                      def.facts.work, context, Arguments::unbox_all(arguments)));
  return values_of(std::move(outs));
}

template <class F>
struct Change;
template <class... A>
struct Change<Result<void> (*)(Tensor&, A...)> {
  using Arguments = Pack<A...>;
  using WithSelf = Pack<const Tensor&, A...>;
};

// Unboxes the arguments of a change (`change_boxed`).
template <class F>
[[gnu::cold]] Result<void> change_part(const OpDef& def, Tensor& self,
                                       std::span<const Value> arguments) {
  const auto unboxed = Change<F>::Arguments::unbox_all(arguments);
  return std::apply(
      [&](const auto&... argument) { return function_at<F>(def.change)(self, argument...); },
      unboxed);
}
// Change a copy of the first argument (`compute_boxed`): one with its strides, or a contiguous one.
Result<std::vector<Value>> change_clone(const OpDef& def, Context& context,
                                        std::span<const Value> arguments);
Result<std::vector<Value>> change_contiguous(const OpDef& def, Context& context,
                                             std::span<const Value> arguments);

// True if the types are those of the signature's first parameters.
template <const Signature& S, class... A>
constexpr bool leads(Pack<A...>) {
  constexpr auto kTypes = Pack<A...>::types();
  if (kTypes.size() > S.parameter_count) return false;
  for (size_t i = 0; i < kTypes.size(); ++i)
    if (!kTypes[i].same_shape(S.parameter_array[i].type)) return false;
  return true;
}

// Compile-time checks: their errors name the row.
template <const Signature& S, class F>
constexpr void check_function() {
  static_assert(leads<S>(typename Callable<F>::Arguments()),
                "the function's parameters differ from the signature");
  static_assert(ReturnCount<typename Callable<F>::Return>::kValue == S.return_count,
                "the function's results differ from the signature");
}
template <const Signature& S, class Rule>
constexpr void check_rule() {
  static_assert(leads<S>(typename Callable<Rule>::Arguments()),
                "the rule's parameters differ from the signature");
  static_assert(MetaCount<typename Callable<Rule>::Return>::kValue == S.return_count,
                "the rule's results differ from the signature");
}

template <auto F>
inline constexpr bool kFormulaValue = kIsFormula<std::decay_t<decltype(F)>>;

// True if a result is a list: no Meta describes a list.
template <class T>
inline constexpr bool kHasLists = kIsVector<T>;
template <class... T>
inline constexpr bool kHasLists<std::tuple<T...>> = (kIsVector<T> || ...);

// Adds a formula to a row. If the row has no rule, the formula becomes its rule.
template <SignatureText S, auto Formula, bool HasRule = false>
constexpr OpDef written(OpDef def) {
  using F = std::decay_t<decltype(Formula)>;
  check_function<kSignature<S>, F>();
  def.formula = &kAddress<Formula>;
  def.write_boxed = &write_formula<F>;
  constexpr bool kGivesTensors = !kHasLists<typename Callable<F>::Return>;
  if constexpr (!HasRule && kGivesTensors) def.infer_boxed = &infer_formula;
  return def;
}

template <SignatureText S, auto Function>
constexpr OpDef row() {
  using F = std::decay_t<decltype(Function)>;
  if constexpr (kIsFormula<F>) {
    return written<S, Function>({&kSignature<S>, nullptr, nullptr, &run_formula});
  } else {
    check_function<kSignature<S>, F>();
    OpDef def{&kSignature<S>, nullptr, &kAddress<Function>, &compute_function<F>};
    def.may_draw = kTakesContext<F>;
    return def;
  }
}
template <SignatureText S, auto Rule, auto Kernel>
constexpr OpDef row() {
  if constexpr (kFormulaValue<Kernel>) {
    return written<S, Kernel>(row<S, Rule>());
  } else {
    using R = std::decay_t<decltype(Rule)>;
    using K = std::decay_t<decltype(Kernel)>;
    check_rule<kSignature<S>, R>();
    if constexpr (kIsLonger<R, K>)
      static_assert(leads<kSignature<S>>(KernelArguments<K>()),
                    "the kernel's parameters differ from the signature");
    OpDef def{&kSignature<S>, &kAddress<Rule>, &kAddress<Kernel>, &compute_kernel<R, K>,
              &infer_by_rule<R>};
    def.may_draw = kTakesContext<K>;
    return def;
  }
}
template <SignatureText S, auto Rule, auto Kernel, auto Formula>
constexpr OpDef row() {
  return written<S, Formula, true>(row<S, Rule, Kernel>());
}
template <SignatureText S, auto... F>
inline constexpr OpDef op = row<S, F...>();

// The rule takes the function's parameters, or is an UntypedRule. The function may be a formula.
template <SignatureText S, auto Rule, auto Function, auto... Formula>
constexpr OpDef composed_row() {
  using R = std::decay_t<decltype(Rule)>;
  OpDef def = row<S, Function, Formula...>();
  def.rule = &kAddress<Rule>;
  if constexpr (std::is_same_v<R, UntypedRule>) {
    def.infer_boxed = &infer_untyped;
  } else {
    check_rule<kSignature<S>, R>();
    def.infer_boxed = &infer_by_rule<R>;
  }
  return def;
}
template <SignatureText S, auto Rule, auto Function, auto... Formula>
inline constexpr OpDef composed = composed_row<S, Rule, Function, Formula...>();

// For rows whose functions would repeat a long list of parameters: gathered<Make, F> has the
// parameters of Make, and passes what Make returns to F as the last argument.
template <auto Make, auto F, class = decltype(Make), class = decltype(F)>
struct Gathered;
template <auto Make, auto F, class C, class... A, class R, class Made>
struct Gathered<Make, F, C (*)(A...), R (*)(Made)> {
  static Result<typename Unwrapped<R>::type> call(A... argument) {
    PT2_TRY(const auto made, as_result(Make(argument...)));
    return F(made);
  }
};
template <auto Make, auto F, class C, class... A, class R, class First, class Made>
struct Gathered<Make, F, C (*)(A...), R (*)(First, Made)> {
  static Result<typename Unwrapped<R>::type> call(First first, A... argument) {
    PT2_TRY(const auto made, as_result(Make(argument...)));
    return F(first, made);
  }
};
template <auto Make, auto F>
inline constexpr auto gathered = &Gathered<Make, F>::call;

template <auto F>
constexpr OpDef OpDef::changing() const {
  OpDef out = *this;
  out.change = &kAddress<F>;
  out.change_boxed = &change_part<std::decay_t<decltype(F)>>;
  return out;
}
template <SignatureText S, auto F, auto Compute, UntypedRule Rule>
constexpr OpDef changed_row() {
  static_assert(leads<kSignature<S>>(typename Change<std::decay_t<decltype(F)>>::WithSelf()),
                "the parameters after self differ from the signature");
  OpDef def{&kSignature<S>, &kAddress<Rule>, nullptr, Compute, &infer_untyped};
  return def.changing<F>();
}
template <SignatureText S, auto F, UntypedRule Rule = &like_first>
inline constexpr OpDef changed = changed_row<S, F, &change_clone, Rule>();
// As above; the result is contiguous, whatever the strides of self.
template <SignatureText S, auto F, UntypedRule Rule = &like_first>
inline constexpr OpDef changed_contiguous = changed_row<S, F, &change_contiguous, Rule>();

}  // namespace pt2::ops

#endif  // PT2_OPS_OP_DEF_H
