#include "lower/derivative_rules.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/hash/text_hash.h"
#include "ir/target.h"
#include "ops/table.h"

namespace pt2 {
namespace {

const Argument* find(const std::vector<NamedArgument>& inputs, std::string_view name) {
  const auto found = std::ranges::find(inputs, name, &NamedArgument::name);
  return found == inputs.end() ? nullptr : &found->arg;
}

// What a rule speaks of must be there under its name: a file may leave it out, or give it by
// position alone.
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

// Formulas as they are written on paper. The first error stays; what follows it is not called.
class Formula {
 public:
  Formula(DerivativeBuilder& builder, ValueId like) : builder_(builder), like_(like) {}

  Term call(std::string_view op, std::vector<NamedArgument> inputs) {
    if (error_) return kNoTerm;
    Result<Term> term =
        builder_.call({std::string(kAten) + std::string(op), std::move(inputs), like_});
    if (term) return *term;
    error_ = std::move(term).error();
    return kNoTerm;
  }
  Term unary(std::string_view op, Term a) { return call(op, {named("self", a)}); }
  Term binary(std::string_view op, Term a, Argument b) {
    return call(op, {named("self", a), {.name = "other", .arg = std::move(b)}});
  }
  Term mul(Term a, Term b) { return binary("mul.Tensor", a, Argument(b)); }
  Term mul(Term a, double b) { return binary("mul.Tensor", a, Argument(b)); }
  Term div(Term a, Term b) { return binary("div.Tensor", a, Argument(b)); }
  Term add(Term a, Term b) { return binary("add.Tensor", a, Argument(b)); }
  Term add(Term a, double b) { return binary("add.Tensor", a, Argument(b)); }
  Term sub(Term a, Term b) { return binary("sub.Tensor", a, Argument(b)); }
  Term neg(Term a) { return unary("neg.default", a); }
  Term square(Term a) { return mul(a, a); }
  Term one_minus(Term a) { return add(neg(a), 1.0); }
  Term sum(Term a, const Argument& dim) {
    return call("sum.dim_IntList",
                {named("self", a),
                 {.name = "dim", .arg = Argument(ArgumentList{ListKind::ints, {dim}})},
                 {.name = "keepdim", .arg = Argument(true)}});
  }
  Result<Term> result(Term term) {
    if (error_) return *std::move(error_);
    return term;
  }

  static NamedArgument named(std::string name, Term term) {
    return {.name = std::move(name), .arg = Argument(term)};
  }

 private:
  DerivativeBuilder& builder_;
  ValueId like_;
  std::optional<Error> error_;
};

// Roundings, sizes and whatever else is the same for all values nearby.
Result<Term> constant(DerivativeBuilder&, const DerivativeRule&, const Differential&) {
  return kNoTerm;
}

// The tangent in the operand's place. A zero among several is made real; a number becomes 0.
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
  return Argument(formula.unary("zeros_like.default", *primal.get_if<Term>()));
}

Result<Term> linear(DerivativeBuilder& builder, const DerivativeRule& rule, const Differential& d) {
  PT2_TRY(std::optional<DerivativeCall> call, linear_call(builder, rule, d));
  if (!call) return kNoTerm;
  return builder.call(*std::move(call));
}

// Operators that are linear in each of `rule.operands`: the product rule. What is added to the
// product, a bias, has a tangent of its own.
Result<Term> product(DerivativeBuilder& builder, const DerivativeRule& rule,
                     const Differential& d) {
  Formula formula(builder, d.primal.like);
  Term sum = kNoTerm;
  const auto add = [&](Term term) { sum = sum == kNoTerm ? term : formula.add(sum, term); };
  for (std::string_view operand : rule.operands) {
    const Argument* tangent = find(d.tangents, operand);
    if (tangent == nullptr || !has_term(*tangent)) continue;
    DerivativeCall call = d.primal;
    for (NamedArgument& input : call.inputs) {
      if (input.name == operand) input.arg = *tangent;
      if (input.name == "bias") input.arg = Argument(None{});
    }
    PT2_TRY(const Term term, builder.call(std::move(call)));
    add(term);
  }
  const Argument* bias = find(d.tangents, "bias");
  if (bias != nullptr && has_term(*bias)) {
    if (d.primal.target != "torch.ops.aten.linear.default")
      return Error{
          ErrorCode::unsupported,
          "the forward derivative by the bias of " + d.primal.target + " is not known here",
          {}};
    PT2_TRY_VOID(expect_tensors(d, {"bias"}));
    add(*bias->get_if<Term>());
  }
  return formula.result(sum);
}

Result<Term> addmm(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  if (find(d.primal.inputs, "beta") != nullptr || find(d.primal.inputs, "alpha") != nullptr)
    return Error{ErrorCode::unsupported, "addmm with beta or alpha has dual operands", {}};
  PT2_TRY_VOID(expect_tensors(d, {"self", "mat1", "mat2"}));
  Formula formula(builder, d.primal.like);
  const Term left = *find(d.primal.inputs, "mat1")->get_if<Term>();
  const Term right = *find(d.primal.inputs, "mat2")->get_if<Term>();
  const Term left_tangent = *find(d.tangents, "mat1")->get_if<Term>();
  const Term right_tangent = *find(d.tangents, "mat2")->get_if<Term>();
  const auto mm = [&](Term a, Term b) {
    return formula.call("mm.default", {Formula::named("self", a), Formula::named("mat2", b)});
  };
  Term sum = *find(d.tangents, "self")->get_if<Term>();
  const auto add = [&](Term term) { sum = sum == kNoTerm ? term : formula.add(term, sum); };
  if (left_tangent != kNoTerm) add(mm(left_tangent, right));
  if (right_tangent != kNoTerm) add(mm(left, right_tangent));
  return formula.result(sum);
}

// y = a / b: (da - y db) / b.
Result<Term> quotient(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect(d, {"self", "other"}));
  Formula formula(builder, d.primal.like);
  const auto* numerator = find(d.tangents, "self")->get_if<Term>();
  const auto* denominator = find(d.tangents, "other")->get_if<Term>();
  Term change = numerator == nullptr ? kNoTerm : *numerator;
  if (denominator != nullptr && *denominator != kNoTerm) {
    const Term part = formula.mul(d.result, *denominator);
    change = change == kNoTerm ? formula.neg(part) : formula.sub(change, part);
  }
  return formula.result(formula.binary("div.Tensor", change, *find(d.primal.inputs, "other")));
}

// x^n for a number n.
Result<Term> power(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self"}));
  PT2_TRY_VOID(expect(d, {"exponent"}));
  Formula formula(builder, d.primal.like);
  const Argument& exponent = *find(d.primal.inputs, "exponent");
  double n = 0;
  if (const auto* integer = exponent.get_if<int64_t>())
    n = static_cast<double>(*integer);
  else if (const auto* real = exponent.get_if<double>())
    n = *real;
  else
    return Error{ErrorCode::unsupported, "the exponent of a dual number is not a constant", {}};
  const Term x = *find(d.primal.inputs, "self")->get_if<Term>();
  const Term dx = *find(d.tangents, "self")->get_if<Term>();
  const Term lower =
      formula.call("pow.Tensor_Scalar",
                   {Formula::named("self", x), {.name = "exponent", .arg = Argument(n - 1)}});
  return formula.result(formula.mul(dx, formula.mul(lower, n)));
}

// y (dx - sum(y dx)).
Result<Term> softmax(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self"}));
  PT2_TRY_VOID(expect(d, {"dim"}));
  Formula formula(builder, d.primal.like);
  const Term weighted = formula.mul(d.result, *find(d.tangents, "self")->get_if<Term>());
  const Term total = formula.sum(weighted, *find(d.primal.inputs, "dim"));
  return formula.result(formula.sub(weighted, formula.mul(d.result, total)));
}

// dx - sum(exp(y) dx).
Result<Term> log_softmax(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self"}));
  PT2_TRY_VOID(expect(d, {"dim"}));
  Formula formula(builder, d.primal.like);
  const Term dx = *find(d.tangents, "self")->get_if<Term>();
  const Term weighted = formula.mul(formula.unary("exp.default", d.result), dx);
  return formula.result(formula.sub(dx, formula.sum(weighted, *find(d.primal.inputs, "dim"))));
}

// Functions of one number: kSlope(formula, x, y) is the derivative.
template <auto kSlope>
Result<Term> pointwise(DerivativeBuilder& builder, const DerivativeRule&, const Differential& d) {
  PT2_TRY_VOID(expect_tensors(d, {"self"}));
  Formula f(builder, d.primal.like);
  const Term x = *find(d.primal.inputs, "self")->get_if<Term>();
  const Term dx = *find(d.tangents, "self")->get_if<Term>();
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
  add("relu.default",       pointwise<[](Formula& f, Term, Term y) { return f.unary("sign.default", y); }>);
  add("rsqrt.default",      pointwise<[](Formula& f, Term, Term y) { return f.mul(f.mul(y, f.square(y)), -0.5); }>);
  add("sigmoid.default",    pointwise<[](Formula& f, Term, Term y) { return f.mul(y, f.one_minus(y)); }>);
  add("silu.default",       pointwise<[](Formula& f, Term x, Term y) { const Term s = f.unary("sigmoid.default", x); return f.add(s, f.mul(y, f.one_minus(s))); }>);
  add("sin.default",        pointwise<[](Formula& f, Term x, Term) { return f.unary("cos.default", x); }>);
  add("sinh.default",       pointwise<[](Formula& f, Term x, Term) { return f.unary("cosh.default", x); }>);
  add("sqrt.default",       pointwise<[](Formula& f, Term, Term y) { return f.mul(f.unary("reciprocal.default", y), 0.5); }>);
  add("square.default",     pointwise<[](Formula& f, Term x, Term) { return f.mul(x, 2.0); }>);
  add("tan.default",        pointwise<[](Formula& f, Term, Term y) { return f.add(f.square(y), 1.0); }>);
  add("tanh.default",       pointwise<[](Formula& f, Term, Term y) { return f.one_minus(f.square(y)); }>);
  add("gelu.default",       pointwise_by_default<[](Formula& f, Term x, Term) {
    const Term cdf = f.mul(f.add(f.unary("erf.default", f.mul(x, 1 / std::numbers::sqrt2)), 1.0), 0.5);
    const Term density = f.mul(f.unary("exp.default", f.mul(f.square(x), -0.5)), std::numbers::inv_sqrtpi / std::numbers::sqrt2);
    return f.add(cdf, f.mul(x, density)); }>);
  add("softplus.default",   pointwise_by_default<[](Formula& f, Term x, Term) { return f.unary("sigmoid.default", x); }>);
}

// What rows of the table say themselves (ops/facts.h).
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
      {"bmm.default",         {product,     {"self", "mat2"}}},
      {"conv1d.default",      {product,     {"input", "weight"}}},
      {"conv2d.default",      {product,     {"input", "weight"}}},
      {"conv3d.default",      {product,     {"input", "weight"}}},
      {"div.Tensor",          {quotient}},
      {"dot.default",         {product,     {"self", "tensor"}}},
      {"linear.default",      {product,     {"input", "weight"}}},
      {"log_softmax.int",     {log_softmax}},
      {"_log_softmax.default", {log_softmax}},
      {"matmul.default",      {product,     {"self", "other"}}},
      {"mm.default",          {product,     {"self", "mat2"}}},
      {"mul.Tensor",          {product,     {"self", "other"}}},
      {"mv.default",          {product,     {"self", "vec"}}},
      {"outer.default",       {product,     {"self", "vec2"}}},
      {"pow.Tensor_Scalar",   {power}},
      {"softmax.int",         {softmax}},
      {"_softmax.default",    {softmax}},
  };
  for (const auto& [op, rule] : others) rules[std::string(op)] = rule;
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
