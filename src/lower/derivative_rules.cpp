#include "lower/derivative_rules.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/hash/text_hash.h"
#include "ir/target.h"
#include "lower/arguments.h"
#include "ops/table.h"
#include "pt2/ir/builder.h"

namespace pt2 {
namespace {

const Argument* find(const std::vector<NamedArgument>& inputs, std::string_view name) {
  const auto found = std::ranges::find(inputs, name, &NamedArgument::name);
  return found == inputs.end() ? nullptr : &found->arg;
}

// Returns the tensor with this name; kNoTerm if the argument is not a tensor or the tangent is
// zero.
Term term_of(const std::vector<NamedArgument>& arguments, std::string_view name) {
  const Argument* argument = find(arguments, name);
  const auto* term = argument == nullptr ? nullptr : argument->get_if<Term>();
  return term == nullptr ? kNoTerm : *term;
}
Term operand(const Differential& d, std::string_view name) {
  return term_of(d.primal.inputs, name);
}
Term tangent(const Differential& d, std::string_view name) { return term_of(d.tangents, name); }

// Fails if an argument that a rule reads is missing under its name: a file may omit the argument or
// pass it by position only.
Result<void> expect(const Differential& d, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names)
    if (find(d.primal.inputs, name) == nullptr)
      return Error{
          ErrorCode::invalid,
          d.primal.target + " has dual operands, but no argument '" + std::string(name) + "'",
          {}};
  return {};
}
Result<void> expect_tensors(const Differential& d, std::initializer_list<std::string_view> names) {
  PT2_TRY_VOID(expect(d, names));
  for (std::string_view name : names)
    if (!find(d.primal.inputs, name)->is<Term>())
      return Error{
          ErrorCode::invalid,
          "the argument '" + std::string(name) + "' of " + d.primal.target + " is not a tensor",
          {}};
  return {};
}

bool has_term(const Argument& tangent) {
  bool found = false;
  for_each_value(tangent, [&](Term term) { found |= term != kNoTerm; });
  return found;
}

// Builds calls in the notation of formulas. After the first error it makes no further calls and
// keeps that error.
class Formula {
 public:
  // Results have the type of `typed_as`, or of `like` if `typed_as` is kNoTerm.
  Formula(DerivativeBuilder& builder, ValueId like, Term typed_as = kNoTerm)
      : builder_(builder), like_(like), typed_as_(typed_as) {}

  Term call(std::string_view op, std::vector<NamedArgument> inputs) {
    return call(wanted(op, std::move(inputs), typed_as_));
  }
  // For operators whose result has the type of the operand.
  Term unary(std::string_view op, Term a) { return call(wanted(op, {named("self", a)}, a)); }
  Term binary(std::string_view op, Term a, Argument b) {
    const auto* other = b.get_if<Term>();
    const bool keeps_type = other == nullptr || *other == a;
    return call(wanted(op, {named("self", a), {.name = "other", .arg = std::move(b)}},
                       keeps_type ? a : typed_as_));
  }
  Term mul(Term a, Term b) { return binary("mul.Tensor", a, Argument(b)); }
  Term mul(Term a, double b) { return binary("mul.Tensor", a, Argument(b)); }
  Term div(Term a, Term b) { return binary("div.Tensor", a, Argument(b)); }
  Term add(Term a, Term b) { return binary("add.Tensor", a, Argument(b)); }
  Term add(Term a, double b) { return binary("add.Tensor", a, Argument(b)); }
  Term sub(Term a, Term b) { return binary("sub.Tensor", a, Argument(b)); }
  Term neg(Term a) { return unary("neg.default", a); }
  Term square(Term a) { return mul(a, a); }
  // A kNoTerm is zero; minus accepts it only as `a`.
  Term plus(Term a, Term b) { return a == kNoTerm ? b : b == kNoTerm ? a : add(a, b); }
  Term minus(Term a, Term b) { return a == kNoTerm ? neg(b) : sub(a, b); }
  Term one_minus(Term a) { return add(neg(a), 1.0); }
  Term zeros_like(Term a) { return unary("zeros_like.default", a); }

  // `op` is a comparison, such as "gt".
  Term compare(std::string_view op, Term a, Argument b) {
    const bool is_term = b.is<Term>();
    DerivativeCall made =
        wanted(std::string(op) + (is_term ? ".Tensor" : ".Scalar"),
               {named("self", a), {.name = "other", .arg = std::move(b)}}, is_term ? typed_as_ : a);
    made.dtype = Dtype::bool_;
    return call(std::move(made));
  }
  Term where(Term condition, Term a, Term b) {
    return call("where.self", {named("condition", condition), named("self", a), named("other", b)});
  }

  // `op` is a reduction, such as "sum.dim_IntList", "mean.dim" or "amax.default".
  Term reduce(std::string_view op, Term a, std::span<const int64_t> dims, bool keeps = true) {
    DerivativeCall made = wanted(op,
                                 {named("self", a),
                                  {.name = "dim", .arg = ints({dims.begin(), dims.end()})},
                                  {.name = "keepdim", .arg = Argument(keeps)}},
                                 typed_as_);
    if (keeps) made.kept_dims.assign(dims.begin(), dims.end());
    return call(std::move(made));
  }
  Term sum(Term a, std::span<const int64_t> dims, bool keeps = true) {
    return reduce("sum.dim_IntList", a, dims, keeps);
  }

  Result<Term> result(Term term) {
    if (error_) return *std::move(error_);
    return term;
  }

  static NamedArgument named(std::string name, Term term) {
    return {.name = std::move(name), .arg = Argument(term)};
  }

 private:
  DerivativeCall wanted(std::string_view op, std::vector<NamedArgument> inputs,
                        Term typed_as) const {
    return {.target = std::string(kAten) + std::string(op),
            .inputs = std::move(inputs),
            .like = like_,
            .typed_as = typed_as};
  }
  Term call(DerivativeCall made) {
    if (error_) return kNoTerm;
    Result<Term> term = builder_.call(std::move(made));
    if (term) return *term;
    error_ = std::move(term).error();
    return kNoTerm;
  }

  DerivativeBuilder& builder_;
  ValueId like_;
  Term typed_as_;
  std::optional<Error> error_;
};

// The tangent of functions that are locally constant, such as roundings and sizes: zero.
Result<Term> constant(DerivativeBuilder&, const DerivativeRule&, const Differential&) {
  return kNoTerm;
}

// Returns the tangent that replaces an operand. A zero tangent becomes a tensor of zeros; a number
// becomes 0.
Argument tangent_or_zero(Formula& formula, const Argument& primal, const Argument& tangent) {
  if (primal.is<int64_t>() || primal.is<double>() || primal.is<bool>()) return Argument(int64_t{0});
  if (const auto* list = primal.get_if<ArgumentList>()) {
    ArgumentList out = *list;
    for (size_t i = 0; i < out.items.size(); ++i)
      out.items[i] =
          tangent_or_zero(formula, list->items[i], tangent.get_if<ArgumentList>()->items[i]);
    return Argument(std::move(out));
  }
  const auto* term = tangent.get_if<Term>();
  if (term == nullptr || *term != kNoTerm) return tangent;
  return Argument(formula.zeros_like(*primal.get_if<Term>()));
}

Result<Term> linear(DerivativeBuilder& builder, const DerivativeRule& rule, const Differential& d) {
  PT2_TRY(std::optional<DerivativeCall> call, linear_call(builder, rule, d));
  if (!call) return kNoTerm;
  return builder.call(*std::move(call));
}

// The product rule, for operators that are linear in each of `rule.operands`. The bias is added to
// the product: its tangent is added to the result.
Result<Term> product(DerivativeBuilder& builder, const DerivativeRule& rule,
                     const Differential& d) {
  Formula formula(builder, d.primal.like, d.result);
  Term sum = kNoTerm;
  for (std::string_view name : rule.operands) {
    const Argument* change = find(d.tangents, name);
    if (change == nullptr || !has_term(*change)) continue;
    DerivativeCall call = d.primal;
    for (NamedArgument& input : call.inputs) {
      if (input.name == name) input.arg = *change;
      if (input.name == "bias") input.arg = Argument(None{});
    }
    PT2_TRY(const Term term, builder.call(std::move(call)));
    sum = formula.plus(sum, term);
  }
  const Argument* bias = find(d.tangents, "bias");
  if (bias != nullptr && has_term(*bias)) {
    if (d.primal.target != "torch.ops.aten.linear.default")
      return Error{
          ErrorCode::unsupported,
          "the forward derivative by the bias of " + d.primal.target + " is not known here",
          {}};
    PT2_TRY_VOID(expect_tensors(d, {"bias"}));
    sum = formula.plus(sum, tangent(d, "bias"));
  }
  return formula.result(sum);
}

Result<Term> addmm(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  if (find(d.primal.inputs, "beta") != nullptr || find(d.primal.inputs, "alpha") != nullptr)
    return Error{ErrorCode::unsupported, "addmm with beta or alpha has dual operands", {}};
  PT2_TRY_VOID(expect_tensors(d, {"self", "mat1", "mat2"}));
  Formula formula(builder, d.primal.like, d.result);
  const Term left = operand(d, "mat1");
  const Term right = operand(d, "mat2");
  const Term left_tangent = tangent(d, "mat1");
  const Term right_tangent = tangent(d, "mat2");
  const auto mm = [&](Term a, Term b) {
    return formula.call("mm.default", {Formula::named("self", a), Formula::named("mat2", b)});
  };
  Term sum = tangent(d, "self");
  if (left_tangent != kNoTerm) sum = formula.plus(mm(left_tangent, right), sum);
  if (right_tangent != kNoTerm) sum = formula.plus(mm(left, right_tangent), sum);
  return formula.result(sum);
}

// y = a / b: (da - y db) / b.
Result<Term> quotient(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect(d, {"self", "other"}));
  Formula formula(builder, d.primal.like, d.result);
  Term change = tangent(d, "self");
  if (const Term divisor = tangent(d, "other"); divisor != kNoTerm)
    change = formula.minus(change, formula.mul(d.result, divisor));
  return formula.result(formula.binary("div.Tensor", change, *find(d.primal.inputs, "other")));
}

// x^n for a constant n.
Result<Term> power(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self"}));
  PT2_TRY_VOID(expect(d, {"exponent"}));
  Formula formula(builder, d.primal.like, d.result);
  const Argument& exponent = *find(d.primal.inputs, "exponent");
  double n = 0;
  if (const auto* integer = exponent.get_if<int64_t>())
    n = static_cast<double>(*integer);
  else if (const auto* real = exponent.get_if<double>())
    n = *real;
  else
    return Error{ErrorCode::unsupported, "the exponent of a dual number is not a constant", {}};
  const Term x = operand(d, "self");
  const Term dx = tangent(d, "self");
  if (n == 0) return formula.result(formula.zeros_like(dx));  // 0 * inf at x = 0 otherwise
  const Term lower =
      formula.call("pow.Tensor_Scalar",
                   {Formula::named("self", x), {.name = "exponent", .arg = Argument(n - 1)}});
  return formula.result(formula.mul(dx, formula.mul(lower, n)));
}

double number_or(const Differential& d, std::string_view name, double otherwise) {
  const Argument* argument = find(d.primal.inputs, name);
  if (argument == nullptr) return otherwise;
  if (const auto* integer = argument->get_if<int64_t>()) return static_cast<double>(*integer);
  const auto* real = argument->get_if<double>();
  return real == nullptr ? otherwise : *real;
}
// Returns the dimensions of a reduction. Fails if the reduction is over all dimensions.
Result<std::vector<int64_t>> dims_of(const Differential& d) {
  std::vector<int64_t> dims;
  const Argument* argument = find(d.primal.inputs, "dim");
  const auto* list = argument == nullptr ? nullptr : argument->get_if<ArgumentList>();
  const auto add = [&](const Argument& item) {
    if (const auto* dim = item.get_if<int64_t>()) dims.push_back(*dim);
  };
  if (list != nullptr)
    std::ranges::for_each(list->items, add);
  else if (argument != nullptr)
    add(*argument);
  if (dims.empty())
    return Error{ErrorCode::unsupported,
                 "the forward derivative of " + d.primal.target +
                     " is not known without the numbers of its dimensions",
                 {}};
  return dims;
}
bool keeps_dims(const Differential& d) {
  const Argument* argument = find(d.primal.inputs, "keepdim");
  const auto* keeps = argument == nullptr ? nullptr : argument->get_if<bool>();
  return keeps != nullptr && *keeps;
}

// y (dx - sum(y dx)).
Result<Term> softmax(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self"}));
  PT2_TRY_VOID(expect(d, {"dim"}));
  Formula formula(builder, d.primal.like, d.result);
  const Term weighted = formula.mul(d.result, tangent(d, "self"));
  PT2_TRY(const std::vector<int64_t> dims, dims_of(d));
  const Term total = formula.sum(weighted, dims);
  return formula.result(formula.sub(weighted, formula.mul(d.result, total)));
}

// dx - sum(exp(y) dx).
Result<Term> log_softmax(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self"}));
  PT2_TRY_VOID(expect(d, {"dim"}));
  Formula formula(builder, d.primal.like, d.result);
  const Term dx = tangent(d, "self");
  const Term weighted = formula.mul(formula.unary("exp.default", d.result), dx);
  PT2_TRY(const std::vector<int64_t> dims, dims_of(d));
  return formula.result(formula.sub(dx, formula.sum(weighted, dims)));
}

// sum(exp(x - y) dx).
Result<Term> logsumexp(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self"}));
  PT2_TRY(const std::vector<int64_t> dims, dims_of(d));
  const Term x = operand(d, "self");
  Formula f(builder, d.primal.like, x);
  const Term kept = keeps_dims(d) ? d.result : f.reduce("logsumexp.default", x, dims);
  const Term weights = f.unary("exp.default", f.sub(x, kept));
  const Term weighted = f.mul(weights, tangent(d, "self"));
  PT2_TRY_VOID(f.result(weighted));
  Formula reduced(builder, d.primal.like, d.result);
  return reduced.result(reduced.sum(weighted, dims, keeps_dims(d)));
}

// The mean of dx where x is the largest (or the smallest).
template <bool kLargest>
Result<Term> extremum(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self"}));
  PT2_TRY(const std::vector<int64_t> dims, dims_of(d));
  const Term x = operand(d, "self");
  const Term dx = tangent(d, "self");
  Formula f(builder, d.primal.like, x);
  const Term kept =
      keeps_dims(d) ? d.result : f.reduce(kLargest ? "amax.default" : "amin.default", x, dims);
  const Term is_chosen = f.compare("eq", x, Argument(kept));
  const Term zeros = f.zeros_like(dx);
  const Term chosen = f.where(is_chosen, dx, zeros);
  const Term ones = f.where(is_chosen, f.add(zeros, 1.0), zeros);
  PT2_TRY_VOID(f.result(chosen));
  Formula reduced(builder, d.primal.like, d.result);
  return reduced.result(reduced.div(reduced.sum(chosen, dims, keeps_dims(d)),
                                    reduced.sum(ones, dims, keeps_dims(d))));
}

// The 2-norm y: sum(x dx) / y, and 0 where y is 0.
Result<Term> vector_norm(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self"}));
  const Argument* type = find(d.primal.inputs, "dtype");
  if (number_or(d, "ord", 2) != 2 || (type != nullptr && !type->is<None>()))
    return Error{ErrorCode::unsupported,
                 "the forward derivative of " + d.primal.target + " is known only for 2-norms",
                 {}};
  const Term x = operand(d, "self");
  Formula f(builder, d.primal.like, x);
  const Term weighted = f.mul(x, tangent(d, "self"));
  PT2_TRY_VOID(f.result(weighted));
  Formula reduced(builder, d.primal.like, d.result);
  Term total = kNoTerm;
  if (const Argument* dim = find(d.primal.inputs, "dim"); dim == nullptr || dim->is<None>()) {
    if (keeps_dims(d)) PT2_TRY_VOID(dims_of(d));
    total = reduced.call("sum.default", {Formula::named("self", weighted)});
  } else {
    PT2_TRY(const std::vector<int64_t> dims, dims_of(d));
    total = reduced.sum(weighted, dims, keeps_dims(d));
  }
  const Term is_zero = reduced.compare("eq", d.result, Argument(0.0));
  return reduced.result(
      reduced.where(is_zero, reduced.zeros_like(total), reduced.div(total, d.result)));
}

// With z = (x - mean) / deviation: (dx - mean(dx) - z mean(z dx)) / deviation * w + z dw + db.
Result<Term> layer_norm(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"input"}));
  PT2_TRY_VOID(expect(d, {"normalized_shape"}));
  const auto* sizes = find(d.primal.inputs, "normalized_shape")->get_if<ArgumentList>();
  std::vector<int64_t> dims;
  for (size_t i = 0; sizes != nullptr && i < sizes->items.size(); ++i)
    dims.push_back(-1 - static_cast<int64_t>(i));
  Formula f(builder, d.primal.like, d.result);
  const auto mean = [&](Term a) { return f.reduce("mean.dim", a, dims); };
  const Term x = operand(d, "input");
  const Term weight = operand(d, "weight");
  const Term centred = f.sub(x, mean(x));
  const Term scale =
      f.unary("rsqrt.default", f.add(mean(f.square(centred)), number_or(d, "eps", 1e-5)));
  const Term normal = f.mul(centred, scale);
  Term sum = kNoTerm;
  if (const Term dx = tangent(d, "input"); dx != kNoTerm) {
    const Term along = f.mul(normal, mean(f.mul(normal, dx)));
    const Term change = f.mul(f.sub(f.sub(dx, mean(dx)), along), scale);
    sum = weight == kNoTerm ? change : f.mul(change, weight);
  }
  if (const Term dw = tangent(d, "weight"); dw != kNoTerm) sum = f.plus(sum, f.mul(normal, dw));
  if (const Term db = tangent(d, "bias"); db != kNoTerm)
    sum = sum == kNoTerm ? f.add(f.mul(normal, 0.0), db) : f.add(sum, db);
  return f.result(sum);
}

// The tangent of the chosen operand. Where the operands are equal, half the sum of both tangents.
template <bool kLargest>
Result<Term> extreme_of_two(DerivativeBuilder& builder, const DerivativeRule&,
                            const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self", "other"}));
  Formula f(builder, d.primal.like, d.result);
  const Term a = operand(d, "self"), b = operand(d, "other");
  const auto tangent_or_zeros = [&](std::string_view name) {
    const Term change = tangent(d, name);
    return change == kNoTerm ? f.zeros_like(operand(d, name)) : change;
  };
  const Term da = tangent_or_zeros("self"), db = tangent_or_zeros("other");
  const Term is_first = f.compare(kLargest ? "gt" : "lt", a, Argument(b));
  const Term is_equal = f.compare("eq", a, Argument(b));
  const Term half = f.mul(f.add(da, db), 0.5);
  return f.result(f.where(is_equal, half, f.where(is_first, da, db)));
}

// y = x^n: dx n x^(n - 1) + dn y log(x). The first term is 0 where n is 0, the second where x is 0
// and n is not negative (torch/csrc/autograd/FunctionsManual.cpp pow_backward_exponent).
Result<Term> power_of_tensors(DerivativeBuilder& builder, const DerivativeRule&,
                              const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self", "exponent"}));
  Formula f(builder, d.primal.like, d.result);
  const Term x = operand(d, "self");
  const Term n = operand(d, "exponent");
  const auto zero_where = [&](Term condition, Term term) {
    return f.where(condition, f.zeros_like(term), term);
  };
  Term sum = kNoTerm;
  if (const Term dx = tangent(d, "self"); dx != kNoTerm) {
    const Term lower = f.call("pow.Tensor_Tensor", {Formula::named("self", x),
                                                    Formula::named("exponent", f.add(n, -1.0))});
    sum = zero_where(f.compare("eq", n, Argument(0.0)), f.mul(f.mul(lower, n), dx));
  }
  if (const Term dn = tangent(d, "exponent"); dn != kNoTerm) {
    const Term term = f.mul(f.mul(d.result, f.unary("log.default", x)), dn);
    const Term at_zero = zero_where(f.compare("ge", n, Argument(0.0)), term);
    sum = f.plus(sum, f.where(f.compare("eq", x, Argument(0.0)), at_zero, term));
  }
  return f.result(sum);
}

// y = n^x for a constant n: dx y log(n).
Result<Term> power_of_number(DerivativeBuilder& builder, const DerivativeRule&,
                             const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"exponent"}));
  Formula f(builder, d.primal.like, d.result);
  const Term dx = tangent(d, "exponent");
  const double base = number_or(d, "self", 0);
  if (base != 0) return f.result(f.mul(dx, f.mul(d.result, std::log(base))));
  // The power is inf where the exponent is negative, and so its derivative -inf.
  const Term is_constant = f.compare("ge", operand(d, "exponent"), Argument(0.0));
  const Term slope = f.where(is_constant, f.zeros_like(d.result), f.neg(d.result));
  return f.result(f.mul(dx, slope));
}

// Y = A^-1: -Y dA Y.
Result<Term> matrix_inverse(DerivativeBuilder& builder, const DerivativeRule&,
                            const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"A"}));
  Formula f(builder, d.primal.like, d.result);
  const auto matmul = [&](Term a, Term b) { return f.binary("matmul.default", a, Argument(b)); };
  const Term da = tangent(d, "A");
  return f.result(f.neg(matmul(matmul(d.result, da), d.result)));
}

// y = hypot(a, b): (a da + b db) / y.
Result<Term> hypotenuse(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self", "other"}));
  Formula f(builder, d.primal.like, d.result);
  Term sum = kNoTerm;
  for (const char* name : {"self", "other"}) {
    const Term change = tangent(d, name);
    if (change != kNoTerm) sum = f.plus(sum, f.mul(operand(d, name), change));
  }
  return f.result(f.div(sum, d.result));
}

// y = atan2(a, b): (b da - a db) / (a a + b b).
Result<Term> arctangent_of_two(DerivativeBuilder& builder, const DerivativeRule&,
                               const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self", "other"}));
  Formula f(builder, d.primal.like, d.result);
  const Term a = operand(d, "self");
  const Term b = operand(d, "other");
  const Term da = tangent(d, "self");
  const Term db = tangent(d, "other");
  Term change = da == kNoTerm ? kNoTerm : f.mul(b, da);
  if (db != kNoTerm) change = f.minus(change, f.mul(a, db));
  return f.result(f.div(change, f.add(f.square(a), f.square(b))));
}

// 0 at and beyond the bounds, else dx. Where x is NaN, clamp gives 0 and hardtanh gives dx.
template <bool kZeroForNaN>
Result<Term> clipped(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self"}));
  Formula f(builder, d.primal.like, d.result);
  const Term x = operand(d, "self");
  Term dx = tangent(d, "self");
  const Term zeros = f.zeros_like(dx);
  const auto bound = [&](std::string_view within, std::string_view beyond, std::string_view name,
                         std::optional<double> otherwise) {
    const Argument* given = find(d.primal.inputs, name);
    const bool is_given = given != nullptr && !given->is<None>();
    if (!is_given && !otherwise) return;
    const Argument limit = is_given ? *given : Argument(*otherwise);
    const Term compared = f.compare(kZeroForNaN ? within : beyond, x, limit);
    dx = kZeroForNaN ? f.where(compared, dx, zeros) : f.where(compared, zeros, dx);
  };
  const auto by_default = [](double number) {
    return kZeroForNaN ? std::optional<double>() : std::optional(number);
  };
  bound("gt", "le", kZeroForNaN ? "min" : "min_val", by_default(-1));
  bound("lt", "ge", kZeroForNaN ? "max" : "max_val", by_default(1));
  return f.result(dx);
}

// 0 where y is 0, also if dx is infinite or NaN there.
Result<Term> relu(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self"}));
  Formula f(builder, d.primal.like, d.result);
  const Term dx = tangent(d, "self");
  const Term zeros = f.zeros_like(dx);
  return f.result(f.where(f.compare("le", d.result, Argument(0.0)), zeros, dx));
}

// Functions with two branches. Above 0 the tangent is dx * scale; at and below 0, and for NaN if
// kBendsNaN, it is kSlope(formula, differential, x, dx).
template <bool kBendsNaN, auto kSlope>
Result<Term> bent(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self"}));
  Formula f(builder, d.primal.like, d.result);
  const Term x = operand(d, "self");
  const Term dx = tangent(d, "self");
  const Term above = f.mul(dx, number_or(d, "scale", 1)), below = kSlope(f, d, x, dx);
  return f.result(kBendsNaN ? f.where(f.compare("gt", x, Argument(0.0)), above, below)
                            : f.where(f.compare("le", x, Argument(0.0)), below, above));
}

// Elementwise functions of one operand: kSlope(formula, x, y) is the derivative.
template <auto kSlope>
Result<Term> pointwise(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self"}));
  Formula f(builder, d.primal.like, d.result);
  const Term x = operand(d, "self");
  const Term dx = tangent(d, "self");
  return f.result(f.mul(dx, kSlope(f, x, d.result)));
}
template <auto kSlope>
Result<Term> pointwise_by_default(DerivativeBuilder& builder, const DerivativeRule& rule,
                                  const Differential& d) {
  if (d.primal.inputs.size() > 1)
    return Error{
        ErrorCode::unsupported,
        "the forward derivative of " + d.primal.target + " is known only for its default arguments",
        {}};
  return pointwise<kSlope>(builder, rule, d);
}

// The derivatives of x cdf(x) and of its tanh approximation; both use the product rule.
Term gelu_slope(Formula& f, Term x) {
  const Term cdf =
      f.mul(f.add(f.unary("erf.default", f.mul(x, 1 / std::numbers::sqrt2)), 1.0), 0.5);
  const Term density = f.mul(f.unary("exp.default", f.mul(f.square(x), -0.5)),
                             std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return f.add(cdf, f.mul(x, density));
}
Term tanh_gelu_slope(Formula& f, Term x) {
  constexpr double kScale = 2 * std::numbers::inv_sqrtpi / std::numbers::sqrt2, kCube = 0.044715;
  const Term squared = f.square(x);
  const Term inner = f.mul(f.mul(x, f.add(f.mul(squared, kCube), 1.0)), kScale);
  const Term t = f.unary("tanh.default", inner);
  const Term of_inner = f.mul(f.add(f.mul(squared, 3 * kCube), 1.0), kScale / 2);
  return f.add(f.mul(f.add(t, 1.0), 0.5), f.mul(f.mul(x, of_inner), f.one_minus(f.square(t))));
}
Result<Term> gelu(DerivativeBuilder& builder, const DerivativeRule& rule, const Differential& d) {
  const Argument* approximate = find(d.primal.inputs, "approximate");
  const auto* name = approximate == nullptr ? nullptr : approximate->get_if<std::string>();
  const bool is_tanh = name != nullptr && *name == "tanh";
  const auto exact = pointwise<[](Formula& f, Term x, Term) { return gelu_slope(f, x); }>;
  const auto by_tanh = pointwise<[](Formula& f, Term x, Term) { return tanh_gelu_slope(f, x); }>;
  return is_tanh ? by_tanh(builder, rule, d) : exact(builder, rule, d);
}

using Rules = TextMap<std::string, DerivativeRule>;

// clang-format off
void add_pointwise(Rules& rules) {
  const auto add = [&](std::string_view op, TangentFunction tangent) { rules[std::string(op)] = {tangent, {"self"}}; };
  const auto add_real = [&](std::string_view op, TangentFunction tangent) { rules[std::string(op)] = {tangent, {"self"}, false}; };
  add_real("abs.default",   pointwise<[](Formula& f, Term x, Term) { return f.unary("sgn.default", x); }>);
  add_real("angle.default", constant);
  add_real("sgn.default",   constant);
  add("acos.default",       pointwise<[](Formula& f, Term x, Term) { return f.neg(f.unary("rsqrt.default", f.one_minus(f.square(x)))); }>);
  add("asin.default",       pointwise<[](Formula& f, Term x, Term) { return f.unary("rsqrt.default", f.one_minus(f.square(x))); }>);
  add("asinh.default",      pointwise<[](Formula& f, Term x, Term) { return f.unary("rsqrt.default", f.add(f.square(x), 1.0)); }>);
  add("atan.default",       pointwise<[](Formula& f, Term x, Term) { return f.unary("reciprocal.default", f.add(f.square(x), 1.0)); }>);
  add("atanh.default",      pointwise<[](Formula& f, Term x, Term) { return f.unary("reciprocal.default", f.one_minus(f.square(x))); }>);
  add("cos.default",        pointwise<[](Formula& f, Term x, Term) { return f.neg(f.unary("sin.default", x)); }>);
  add("cosh.default",       pointwise<[](Formula& f, Term x, Term) { return f.unary("sinh.default", x); }>);
  add("erf.default",        pointwise<[](Formula& f, Term x, Term) { return f.mul(f.unary("exp.default", f.neg(f.square(x))), 2 * std::numbers::inv_sqrtpi); }>);
  add("exp.default",        pointwise<[](Formula&, Term, Term y) { return y; }>);
  add("expm1.default",      pointwise<[](Formula& f, Term, Term y) { return f.add(y, 1.0); }>);
  add("log.default",        pointwise<[](Formula& f, Term x, Term) { return f.unary("reciprocal.default", x); }>);
  add("log10.default",      pointwise<[](Formula& f, Term x, Term) { return f.unary("reciprocal.default", f.mul(x, std::numbers::ln10)); }>);
  add("log1p.default",      pointwise<[](Formula& f, Term x, Term) { return f.unary("reciprocal.default", f.add(x, 1.0)); }>);
  add("log2.default",       pointwise<[](Formula& f, Term x, Term) { return f.unary("reciprocal.default", f.mul(x, std::numbers::ln2)); }>);
  add("reciprocal.default", pointwise<[](Formula& f, Term, Term y) { return f.neg(f.square(y)); }>);
  add("relu.default",       relu);
  add("rsqrt.default",      pointwise<[](Formula& f, Term, Term y) { return f.mul(f.mul(y, f.square(y)), -0.5); }>);
  add("sigmoid.default",    pointwise<[](Formula& f, Term, Term y) { return f.mul(y, f.one_minus(y)); }>);
  add("silu.default",       pointwise<[](Formula& f, Term x, Term y) { const Term s = f.unary("sigmoid.default", x); return f.add(s, f.mul(y, f.one_minus(s))); }>);
  add("sin.default",        pointwise<[](Formula& f, Term x, Term) { return f.unary("cos.default", x); }>);
  add("sinh.default",       pointwise<[](Formula& f, Term x, Term) { return f.unary("cosh.default", x); }>);
  add("sqrt.default",       pointwise<[](Formula& f, Term, Term y) { return f.mul(f.unary("reciprocal.default", y), 0.5); }>);
  add("square.default",     pointwise<[](Formula& f, Term x, Term) { return f.mul(x, 2.0); }>);
  add("tan.default",        pointwise<[](Formula& f, Term, Term y) { return f.add(f.square(y), 1.0); }>);
  add("tanh.default",       pointwise<[](Formula& f, Term, Term y) { return f.one_minus(f.square(y)); }>);
  add("log_sigmoid.default", pointwise<[](Formula& f, Term x, Term) { return f.unary("sigmoid.default", f.neg(x)); }>);
  add("mish.default",       pointwise<[](Formula& f, Term x, Term) {
    const Term t = f.unary("tanh.default", f.unary("softplus.default", x));
    return f.add(t, f.mul(f.mul(x, f.one_minus(f.square(t))), f.unary("sigmoid.default", x))); }>);
  add("leaky_relu.default", bent<true, [](Formula& f, const Differential& d, Term, Term dx) { return f.mul(dx, number_or(d, "negative_slope", 0.01)); }>);
  add("celu.default",       bent<false, [](Formula& f, const Differential& d, Term x, Term dx) {
    return f.mul(f.unary("exp.default", f.mul(x, 1 / number_or(d, "alpha", 1))), dx); }>);
  add("elu.default",        bent<false, [](Formula& f, const Differential& d, Term x, Term dx) {
    const double by = number_or(d, "input_scale", 1);
    return f.mul(f.mul(f.unary("exp.default", f.mul(x, by)), dx), by * number_or(d, "alpha", 1) * number_or(d, "scale", 1)); }>);
  for (const char* clamp : {"clamp.default", "clamp_max.default", "clamp_min.default"}) add(clamp, clipped<true>);
  add("hardtanh.default",   clipped<false>);
  add("gelu.default",       gelu);
  add("softplus.default",   pointwise_by_default<[](Formula& f, Term x, Term) { return f.unary("sigmoid.default", x); }>);
}

// Adds the rules that the operator table itself states (ops/facts.h).
void add_facts(Rules& rules) {
  for (const auto& family : ops::families())
    for (const ops::OpDef& def : family.rows) {
      if (def.facts.slope == ops::Slope::by_rule) continue;
      const std::string target = ops::target_of(*def.signature);
      if (!target.starts_with(kAten)) continue;
      DerivativeRule rule{constant};
      if (def.facts.slope == ops::Slope::linear) {
        rule.tangent = linear;
        for (std::string_view names = def.facts.linear_in; !names.empty();) {
          const size_t end = std::min(names.find(' '), names.size());
          rule.operands.push_back(names.substr(0, end));
          names.remove_prefix(std::min(end + 1, names.size()));
        }
      }
      rules.emplace(target.substr(kAten.size()), std::move(rule));
    }
}

Rules make_rules() {
  Rules rules;
  add_pointwise(rules);
  add_facts(rules);
  const std::pair<std::string_view, DerivativeRule> others[] = {
      {"addmm.default",       {addmm}},
      {"amax.default",        {extremum<true>,  {}, false}},
      {"amin.default",        {extremum<false>, {}, false}},
      {"atan2.default",       {arctangent_of_two}},
      {"bmm.default",         {product,     {"self", "mat2"}}},
      {"conv1d.default",      {product,     {"input", "weight"}}},
      {"conv2d.default",      {product,     {"input", "weight"}}},
      {"conv3d.default",      {product,     {"input", "weight"}}},
      {"div.Tensor",          {quotient}},
      {"dot.default",         {product,     {"self", "tensor"}}},
      {"hypot.default",       {hypotenuse}},
      {"layer_norm.default",  {layer_norm}},
      {"linalg_inv.default",  {matrix_inverse}},
      {"linalg_vector_norm.default", {vector_norm, {}, false}},
      {"linear.default",      {product,     {"input", "weight"}}},
      {"log_softmax.int",     {log_softmax}},
      {"_log_softmax.default", {log_softmax}},
      {"logsumexp.default",   {logsumexp,   {}, false}},
      {"matmul.default",      {product,     {"self", "other"}}},
      {"maximum.default",     {extreme_of_two<true>}},
      {"minimum.default",     {extreme_of_two<false>}},
      {"mm.default",          {product,     {"self", "mat2"}}},
      {"mul.Tensor",          {product,     {"self", "other"}}},
      {"mv.default",          {product,     {"self", "vec"}}},
      {"outer.default",       {product,     {"self", "vec2"}}},
      {"pow.Scalar",          {power_of_number, {}, false}},
      {"pow.Tensor_Scalar",   {power}},
      {"pow.Tensor_Tensor",   {power_of_tensors, {}, false}},
      {"softmax.int",         {softmax}},
      {"_softmax.default",    {softmax}},
  };
  for (const auto& [op, rule] : others) rules[std::string(op)] = rule;
  for (const std::string op : {"eq", "ne", "lt", "le", "gt", "ge"})
    for (const char* overload : {".Tensor", ".Scalar"}) rules[op + overload] = {constant};
  return rules;
}
// clang-format on

}  // namespace

LinearCall linear_call(DerivativeBuilder& builder, const DerivativeRule& rule,
                       const Differential& d) {
  DerivativeCall call = d.primal;
  Formula formula(builder, call.like);
  const auto is_operand = [&](size_t i) {
    return std::ranges::find(rule.operands, call.inputs[i].name) != rule.operands.end();
  };
  bool varies = false;
  for (size_t i = 0; i < call.inputs.size(); ++i)
    varies |= is_operand(i) && has_term(d.tangents[i].arg);
  if (!varies) return std::optional<DerivativeCall>();
  for (size_t i = 0; i < call.inputs.size(); ++i)
    if (is_operand(i))
      call.inputs[i].arg = tangent_or_zero(formula, d.primal.inputs[i].arg, d.tangents[i].arg);
  PT2_TRY_VOID(formula.result(kNoTerm));
  return std::optional(std::move(call));
}
bool is_linear(const DerivativeRule& rule) { return rule.tangent == linear; }

const DerivativeRule* find_derivative_rule(std::string_view target) {
  static const Rules kRules = make_rules();
  if (!target.starts_with(kAten)) return nullptr;
  const auto found = kRules.find(std::string(target.substr(kAten.size())));
  return found == kRules.end() ? nullptr : &found->second;
}

}  // namespace pt2
