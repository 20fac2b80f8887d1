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
// The tangent of one call, in the notation of formulas. After the first error it makes no further
// calls and keeps that error.
class DerivativeFormula {
 public:
  DerivativeFormula(DerivativeBuilder& builder, const DerivativeRule& of, const Differential& d)
      : rule(of), primal(d.primal), y(d.result), builder_(builder), d_(d), typed_as_(y) {}

  const DerivativeRule& rule;
  const DerivativeCall& primal;
  const Term y;  // the result

  // Return the argument with this name, or its tangent; null if there is none. The file may omit
  // the argument or pass it by position only.
  const Argument* find(std::string_view name) const { return find_in(primal.inputs, name); }
  const Argument* find_tangent(std::string_view name) const { return find_in(d_.tangents, name); }
  // The same for an argument that is a T.
  template <class T>
  const T* find(std::string_view name) const {
    const Argument* argument = find(name);
    return argument == nullptr ? nullptr : argument->get_if<T>();
  }
  // Returns an argument that a rule reads. Fails if it is missing.
  const Argument& given(std::string_view name) {
    if (const Argument* argument = find(name)) return *argument;
    fail(ErrorCode::invalid,
         primal.target + " has dual operands, but no argument '" + std::string(name) + "'");
    return none_;
  }
  // Returns a tensor that a rule reads. Fails if the argument is missing, or no tensor.
  Term operand(std::string_view name) {
    const Argument& argument = given(name);
    if (const auto* term = argument.get_if<Term>()) return *term;
    return fail(ErrorCode::invalid, "the argument '" + std::string(name) + "' of " + primal.target +
                                        " is not a tensor");
  }
  // kNoTerm if the argument is not a tensor, or its tangent is zero.
  Term find_operand(std::string_view name) const { return term_of(find(name)); }
  Term tangent(std::string_view name) const { return term_of(find_tangent(name)); }
  double number_or(std::string_view name, double otherwise) const {
    const Argument* argument = find(name);
    return argument == nullptr ? otherwise : number_of(*argument).value_or(otherwise);
  }
  // Returns the dimensions of a reduction. Fails if the reduction is over all dimensions.
  std::vector<int64_t> dims() {
    std::vector<int64_t> dims;
    if (const auto* dim = find<int64_t>("dim")) dims.push_back(*dim);
    if (const auto* list = find<ArgumentList>("dim"))
      for (const Argument& item : list->items)
        if (const auto* dim = item.get_if<int64_t>()) dims.push_back(*dim);
    if (dims.empty()) fail_for("without the numbers of its dimensions");
    return dims;
  }
  bool keeps_dims() const {
    const auto* keeps = find<bool>("keepdim");
    return keeps != nullptr && *keeps;
  }

  Term fail(ErrorCode code, std::string text) {
    if (!error_) error_ = Error{code, std::move(text)};
    return kNoTerm;
  }
  // Fails because the derivative is not known in this case ("without …").
  Term fail_for(std::string_view text) {
    return fail(ErrorCode::unsupported, "the forward derivative of " + primal.target +
                                            " is not known " + std::string(text));
  }
  Result<Term> result(Term term) {
    if (error_) return *std::move(error_);
    return term;
  }

  // From now on results have the type of this term; before, that of y.
  void type_as(Term term) { typed_as_ = term; }
  Term call(DerivativeCall made) {
    if (error_) return kNoTerm;
    // A rule asks for the tangents that it knows of. A file may give a dual number as another
    // operand.
    for (const NamedArgument& input : made.inputs)
      if (const auto* term = input.arg.get_if<Term>(); term != nullptr && *term == kNoTerm)
        return fail_for("with respect to the operands that are dual");
    Result<Term> term = builder_.call(std::move(made));
    if (term) return *term;
    error_ = std::move(term).error();
    return kNoTerm;
  }
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

  // Returns the call of an operator that is linear in the operands of the rule, with the tangents
  // in their place; nothing if all tangents are zero.
  std::optional<DerivativeCall> linear_call() {
    DerivativeCall made = primal;
    const auto is_operand = [&](const NamedArgument& input) {
      return std::ranges::find(rule.operands, input.name) != rule.operands.end();
    };
    const auto varies = [&](const NamedArgument& tangent) {
      return is_operand(tangent) && has_term(tangent.arg);
    };
    if (std::ranges::none_of(d_.tangents, varies)) return std::nullopt;
    for (size_t i = 0; i < made.inputs.size(); ++i)
      if (is_operand(made.inputs[i]))
        made.inputs[i].arg = tangent_or_zero(primal.inputs[i].arg, d_.tangents[i].arg);
    return made;
  }

  static bool has_term(const Argument& tangent) {
    return any_value(tangent, [](Term term) { return term != kNoTerm; });
  }
  static std::optional<double> number_of(const Argument& argument) {
    if (const auto* integer = argument.get_if<int64_t>()) return static_cast<double>(*integer);
    const auto* real = argument.get_if<double>();
    return real == nullptr ? std::nullopt : std::optional(*real);
  }
  static NamedArgument named(std::string name, Term term) {
    return {.name = std::move(name), .arg = Argument(term)};
  }

 private:
  static Term term_of(const Argument* argument) {
    const auto* term = argument == nullptr ? nullptr : argument->get_if<Term>();
    return term == nullptr ? kNoTerm : *term;
  }
  static const Argument* find_in(const std::vector<NamedArgument>& inputs, std::string_view name) {
    const auto found = std::ranges::find(inputs, name, &NamedArgument::name);
    return found == inputs.end() ? nullptr : &found->arg;
  }

  DerivativeCall wanted(std::string_view op, std::vector<NamedArgument> inputs,
                        Term typed_as) const {
    return {.target = std::string(kAten) + std::string(op),
            .inputs = std::move(inputs),
            .like = primal.like,
            .typed_as = typed_as};
  }

  // Returns the tangent that replaces an operand. A zero tangent becomes a tensor of zeros; a
  // number becomes 0.
  Argument tangent_or_zero(const Argument& operand, const Argument& tangent) {
    if (operand.is<int64_t>() || operand.is<double>() || operand.is<bool>())
      return Argument(int64_t{0});
    if (const auto* list = operand.get_if<ArgumentList>()) {
      ArgumentList out = *list;
      for (size_t i = 0; i < out.items.size(); ++i)
        out.items[i] = tangent_or_zero(list->items[i], tangent.get_if<ArgumentList>()->items[i]);
      return Argument(std::move(out));
    }
    const auto* term = tangent.get_if<Term>();
    if (term == nullptr || *term != kNoTerm) return tangent;
    return Argument(zeros_like(*operand.get_if<Term>()));
  }

  DerivativeBuilder& builder_;
  const Differential& d_;
  const Argument none_;
  Term typed_as_;
  std::optional<Error> error_;
};

namespace {

using Formula = DerivativeFormula;

// The tangent of functions that are locally constant, such as roundings and sizes: zero.
Term constant(Formula&) { return kNoTerm; }

Term linear(Formula& f) {
  std::optional<DerivativeCall> call = f.linear_call();
  return call ? f.call(*std::move(call)) : kNoTerm;
}

// The product rule, for operators that are linear in each of `rule.operands`. The bias is added to
// the product: its tangent is added to the result.
Term product(Formula& f) {
  Term sum = kNoTerm;
  for (std::string_view name : f.rule.operands) {
    const Argument* change = f.find_tangent(name);
    if (change == nullptr || !Formula::has_term(*change)) continue;
    DerivativeCall call = f.primal;
    for (NamedArgument& input : call.inputs) {
      if (input.name == name) input.arg = *change;
      if (input.name == "bias") input.arg = Argument(None{});
    }
    sum = f.plus(sum, f.call(std::move(call)));
  }
  const Argument* bias = f.find_tangent("bias");
  if (bias == nullptr || !Formula::has_term(*bias)) return sum;
  if (f.primal.target != "torch.ops.aten.linear.default")
    return f.fail(ErrorCode::unsupported, "the forward derivative by the bias of " +
                                              f.primal.target + " is not known here");
  f.operand("bias");
  return f.plus(sum, f.tangent("bias"));
}

Term addmm(Formula& f) {
  if (f.find("beta") != nullptr || f.find("alpha") != nullptr)
    return f.fail(ErrorCode::unsupported, "addmm with beta or alpha has dual operands");
  f.operand("self");
  const Term left = f.operand("mat1"), right = f.operand("mat2");
  const Term left_tangent = f.tangent("mat1"), right_tangent = f.tangent("mat2");
  const auto mm = [&](Term a, Term b) {
    return f.call("mm.default", {Formula::named("self", a), Formula::named("mat2", b)});
  };
  Term sum = f.tangent("self");
  if (left_tangent != kNoTerm) sum = f.plus(mm(left_tangent, right), sum);
  if (right_tangent != kNoTerm) sum = f.plus(mm(left, right_tangent), sum);
  return sum;
}

// y = a / b: (da - y db) / b.
Term quotient(Formula& f) {
  f.given("self");
  const Argument& other = f.given("other");
  Term change = f.tangent("self");
  if (const Term divisor = f.tangent("other"); divisor != kNoTerm)
    change = f.minus(change, f.mul(f.y, divisor));
  return f.binary("div.Tensor", change, other);
}

// x^n for a constant n.
Term power(Formula& f) {
  const Term x = f.operand("self"), dx = f.tangent("self");
  const std::optional<double> n = Formula::number_of(f.given("exponent"));
  if (!n) return f.fail(ErrorCode::unsupported, "the exponent of a dual number is not a constant");
  if (*n == 0) return f.zeros_like(dx);  // 0 * inf at x = 0 otherwise
  const Term lower = f.call("pow.Tensor_Scalar", {Formula::named("self", x),
                                                  {.name = "exponent", .arg = Argument(*n - 1)}});
  return f.mul(dx, f.mul(lower, *n));
}

// y (dx - sum(y dx)).
Term softmax(Formula& f) {
  f.operand("self");
  f.given("dim");
  const std::vector<int64_t> dims = f.dims();
  const Term weighted = f.mul(f.y, f.tangent("self"));
  const Term total = f.sum(weighted, dims);
  return f.sub(weighted, f.mul(f.y, total));
}

// dx - sum(exp(y) dx).
Term log_softmax(Formula& f) {
  f.operand("self");
  f.given("dim");
  const std::vector<int64_t> dims = f.dims();
  const Term dx = f.tangent("self");
  const Term weighted = f.mul(f.unary("exp.default", f.y), dx);
  return f.sub(dx, f.sum(weighted, dims));
}

// sum(exp(x - y) dx).
Term logsumexp(Formula& f) {
  const Term x = f.operand("self");
  const std::vector<int64_t> dims = f.dims();
  f.type_as(x);
  const Term kept = f.keeps_dims() ? f.y : f.reduce("logsumexp.default", x, dims);
  const Term weights = f.unary("exp.default", f.sub(x, kept));
  const Term weighted = f.mul(weights, f.tangent("self"));
  f.type_as(f.y);
  return f.sum(weighted, dims, f.keeps_dims());
}

// The mean of dx where x is the largest (or the smallest).
template <bool kLargest>
Term extremum(Formula& f) {
  const Term x = f.operand("self"), dx = f.tangent("self");
  const std::vector<int64_t> dims = f.dims();
  f.type_as(x);
  const Term kept =
      f.keeps_dims() ? f.y : f.reduce(kLargest ? "amax.default" : "amin.default", x, dims);
  const Term is_chosen = f.compare("eq", x, Argument(kept));
  const Term zeros = f.zeros_like(dx);
  const Term chosen = f.where(is_chosen, dx, zeros);
  const Term ones = f.where(is_chosen, f.add(zeros, 1.0), zeros);
  f.type_as(f.y);
  return f.div(f.sum(chosen, dims, f.keeps_dims()), f.sum(ones, dims, f.keeps_dims()));
}

// The 2-norm y: sum(x dx) / y, and 0 where y is 0.
Term vector_norm(Formula& f) {
  const Term x = f.operand("self");
  const Argument* type = f.find("dtype");
  if (f.number_or("ord", 2) != 2 || (type != nullptr && !type->is<None>()))
    return f.fail(ErrorCode::unsupported,
                  "the forward derivative of " + f.primal.target + " is known only for 2-norms");
  const Argument* dim = f.find("dim");
  const bool is_of_all = dim == nullptr || dim->is<None>();
  const std::vector<int64_t> dims =
      is_of_all && !f.keeps_dims() ? std::vector<int64_t>() : f.dims();
  f.type_as(x);
  const Term weighted = f.mul(x, f.tangent("self"));
  f.type_as(f.y);
  const Term total = is_of_all ? f.call("sum.default", {Formula::named("self", weighted)})
                               : f.sum(weighted, dims, f.keeps_dims());
  const Term is_zero = f.compare("eq", f.y, Argument(0.0));
  return f.where(is_zero, f.zeros_like(total), f.div(total, f.y));
}

// With z = (x - mean) / deviation: (dx - mean(dx) - z mean(z dx)) / deviation * w + z dw + db.
Term layer_norm(Formula& f) {
  const Term x = f.operand("input");
  const auto* sizes = f.given("normalized_shape").get_if<ArgumentList>();
  std::vector<int64_t> dims;
  for (size_t i = 0; sizes != nullptr && i < sizes->items.size(); ++i)
    dims.push_back(-1 - static_cast<int64_t>(i));
  const auto mean = [&](Term a) { return f.reduce("mean.dim", a, dims); };
  const Term weight = f.find_operand("weight");
  const Term centred = f.sub(x, mean(x));
  const Term scale =
      f.unary("rsqrt.default", f.add(mean(f.square(centred)), f.number_or("eps", 1e-5)));
  const Term normal = f.mul(centred, scale);
  Term sum = kNoTerm;
  if (const Term dx = f.tangent("input"); dx != kNoTerm) {
    const Term along = f.mul(normal, mean(f.mul(normal, dx)));
    const Term change = f.mul(f.sub(f.sub(dx, mean(dx)), along), scale);
    sum = weight == kNoTerm ? change : f.mul(change, weight);
  }
  if (const Term dw = f.tangent("weight"); dw != kNoTerm) sum = f.plus(sum, f.mul(normal, dw));
  if (const Term db = f.tangent("bias"); db != kNoTerm)
    sum = sum == kNoTerm ? f.add(f.mul(normal, 0.0), db) : f.add(sum, db);
  return sum;
}

// The tangent of the chosen operand. Where the operands are equal, half the sum of both tangents.
template <bool kLargest>
Term extreme_of_two(Formula& f) {
  const Term a = f.operand("self"), b = f.operand("other");
  const auto tangent_or_zeros = [&](std::string_view name) {
    const Term change = f.tangent(name);
    return change == kNoTerm ? f.zeros_like(f.operand(name)) : change;
  };
  const Term da = tangent_or_zeros("self"), db = tangent_or_zeros("other");
  const Term is_first = f.compare(kLargest ? "gt" : "lt", a, Argument(b));
  const Term is_equal = f.compare("eq", a, Argument(b));
  const Term half = f.mul(f.add(da, db), 0.5);
  return f.where(is_equal, half, f.where(is_first, da, db));
}

// y = x^n: dx n x^(n - 1) + dn y log(x). The first term is 0 where n is 0, the second where x is 0
// and n is not negative (torch/csrc/autograd/FunctionsManual.cpp pow_backward_exponent).
Term power_of_tensors(Formula& f) {
  const Term x = f.operand("self"), n = f.operand("exponent");
  const auto zero_where = [&](Term condition, Term term) {
    return f.where(condition, f.zeros_like(term), term);
  };
  Term sum = kNoTerm;
  if (const Term dx = f.tangent("self"); dx != kNoTerm) {
    const Term lower = f.call("pow.Tensor_Tensor", {Formula::named("self", x),
                                                    Formula::named("exponent", f.add(n, -1.0))});
    sum = zero_where(f.compare("eq", n, Argument(0.0)), f.mul(f.mul(lower, n), dx));
  }
  if (const Term dn = f.tangent("exponent"); dn != kNoTerm) {
    const Term term = f.mul(f.mul(f.y, f.unary("log.default", x)), dn);
    const Term at_zero = zero_where(f.compare("ge", n, Argument(0.0)), term);
    sum = f.plus(sum, f.where(f.compare("eq", x, Argument(0.0)), at_zero, term));
  }
  return sum;
}

// y = n^x for a constant n: dx y log(n).
Term power_of_number(Formula& f) {
  const Term x = f.operand("exponent"), dx = f.tangent("exponent");
  const double base = f.number_or("self", 0);
  if (base != 0) return f.mul(dx, f.mul(f.y, std::log(base)));
  // The power is inf where the exponent is negative, and so its derivative -inf.
  const Term is_constant = f.compare("ge", x, Argument(0.0));
  const Term slope = f.where(is_constant, f.zeros_like(f.y), f.neg(f.y));
  return f.mul(dx, slope);
}

// Y = A^-1: -Y dA Y.
Term matrix_inverse(Formula& f) {
  f.operand("A");
  const auto matmul = [&](Term a, Term b) { return f.binary("matmul.default", a, Argument(b)); };
  return f.neg(matmul(matmul(f.y, f.tangent("A")), f.y));
}

// y = hypot(a, b): (a da + b db) / y.
Term hypotenuse(Formula& f) {
  const Term a = f.operand("self"), b = f.operand("other");
  Term sum = kNoTerm;
  for (const auto& [name, side] : {std::pair("self", a), std::pair("other", b)}) {
    const Term change = f.tangent(name);
    if (change != kNoTerm) sum = f.plus(sum, f.mul(side, change));
  }
  return f.div(sum, f.y);
}

// y = atan2(a, b): (b da - a db) / (a a + b b).
Term arctangent_of_two(Formula& f) {
  const Term a = f.operand("self"), b = f.operand("other");
  const Term da = f.tangent("self"), db = f.tangent("other");
  Term change = da == kNoTerm ? kNoTerm : f.mul(b, da);
  if (db != kNoTerm) change = f.minus(change, f.mul(a, db));
  return f.div(change, f.add(f.square(a), f.square(b)));
}

// 0 at and beyond the bounds, else dx. Where x is NaN, clamp gives 0 and hardtanh gives dx.
template <bool kZeroForNaN>
Term clipped(Formula& f) {
  const Term x = f.operand("self");
  Term dx = f.tangent("self");
  const Term zeros = f.zeros_like(dx);
  const auto bound = [&](std::string_view within, std::string_view beyond, std::string_view name,
                         std::optional<double> otherwise) {
    const Argument* given = f.find(name);
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
  return dx;
}

// 0 where y is 0, also if dx is infinite or NaN there.
Term relu(Formula& f) {
  f.operand("self");
  const Term dx = f.tangent("self"), zeros = f.zeros_like(dx);
  return f.where(f.compare("le", f.y, Argument(0.0)), zeros, dx);
}

// Functions with two branches. Above 0 the tangent is dx * scale; at and below 0, and for NaN if
// kBendsNaN, it is kSlope(formula, x, dx).
template <bool kBendsNaN, auto kSlope>
Term bent(Formula& f) {
  const Term x = f.operand("self"), dx = f.tangent("self");
  const Term above = f.mul(dx, f.number_or("scale", 1)), below = kSlope(f, x, dx);
  return kBendsNaN ? f.where(f.compare("gt", x, Argument(0.0)), above, below)
                   : f.where(f.compare("le", x, Argument(0.0)), below, above);
}

// Elementwise functions of one operand: kSlope(formula, x, y) is the derivative.
template <auto kSlope>
Term pointwise(Formula& f) {
  const Term x = f.operand("self"), dx = f.tangent("self");
  return f.mul(dx, kSlope(f, x, f.y));
}
template <auto kSlope>
Term pointwise_by_default(Formula& f) {
  if (f.primal.inputs.size() > 1)
    return f.fail(ErrorCode::unsupported, "the forward derivative of " + f.primal.target +
                                              " is known only for its default arguments");
  return pointwise<kSlope>(f);
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
Term gelu(Formula& f) {
  const auto* name = f.find<std::string>("approximate");
  const bool is_tanh = name != nullptr && *name == "tanh";
  return is_tanh ? pointwise<[](Formula& g, Term x, Term) { return tanh_gelu_slope(g, x); }>(f)
                 : pointwise<[](Formula& g, Term x, Term) { return gelu_slope(g, x); }>(f);
}

using Tangent = Term (*)(Formula&);
using Rules = TextMap<std::string, DerivativeRule>;

// clang-format off
void add_pointwise(Rules& rules) {
  const auto add = [&](std::string_view op, Tangent tangent) { rules[std::string(op)] = {tangent, {"self"}}; };
  const auto add_real = [&](std::string_view op, Tangent tangent) { rules[std::string(op)] = {tangent, {"self"}, false}; };
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
  add("leaky_relu.default", bent<true, [](Formula& f, Term, Term dx) { return f.mul(dx, f.number_or("negative_slope", 0.01)); }>);
  add("celu.default",       bent<false, [](Formula& f, Term x, Term dx) {
    return f.mul(f.unary("exp.default", f.mul(x, 1 / f.number_or("alpha", 1))), dx); }>);
  add("elu.default",        bent<false, [](Formula& f, Term x, Term dx) {
    const double by = f.number_or("input_scale", 1);
    return f.mul(f.mul(f.unary("exp.default", f.mul(x, by)), dx), by * f.number_or("alpha", 1) * f.number_or("scale", 1)); }>);
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

Result<Term> tangent_of(DerivativeBuilder& builder, const DerivativeRule& rule,
                        const Differential& differential) {
  Formula formula(builder, rule, differential);
  const Term tangent = rule.tangent(formula);
  return formula.result(tangent);
}

LinearCall linear_call(DerivativeBuilder& builder, const DerivativeRule& rule,
                       const Differential& differential) {
  Formula formula(builder, rule, differential);
  std::optional<DerivativeCall> call = formula.linear_call();
  PT2_TRY_VOID(formula.result(kNoTerm));
  return call;
}
bool is_linear(const DerivativeRule& rule) { return rule.tangent == linear; }

const DerivativeRule* find_derivative_rule(std::string_view target) {
  static const Rules kRules = make_rules();
  if (!target.starts_with(kAten)) return nullptr;
  const auto found = kRules.find(std::string(target.substr(kAten.size())));
  return found == kRules.end() ? nullptr : &found->second;
}

}  // namespace pt2
