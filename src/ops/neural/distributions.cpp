// Draws of torch.distributions whose parameters are tensors, and derivatives of draws with respect
// to these parameters (ATen/native/Distributions.cpp). Like PyTorch, a draw mixes float parameters
// with numbers in double: T is the dtype of the parameters.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "ops/checks.h"
#include "ops/compose.h"
#include "ops/dense.h"
#include "ops/pointwise/pointwise.h"

namespace pt2::ops {
namespace {

using OptionalGenerator = std::optional<Generator>;

// PyTorch's results are row-major for parameters of any strides.
Result<Meta> row_major_of(const Tensor& self, std::initializer_list<const Tensor*> others = {}) {
  PT2_TRY_VOID(check_floating(self, "self"));
  if (dtype_size(self.dtype()) < 4)
    return operator_error("self: found " + self.type_text() + ", expected float32 or float64");
  std::vector<Sizes> all{self.sizes()};
  for (const Tensor* other : others) {
    PT2_TRY_VOID(check_same_dtype(*other, self, "argument"));
    all.push_back(other->sizes());
  }
  PT2_TRY(const Sizes sizes, broadcast_sizes(all));
  return Meta(self.dtype(), sizes);
}
Result<Meta> row_major_like(const Tensor& self, const OptionalGenerator&) {
  PT2_TRY_VOID(check_floating(self, "self"));
  return Meta(self.dtype(), self.sizes());
}
Result<Meta> wide_row_major_like(const Tensor& self, const OptionalGenerator&) {
  return row_major_of(self);
}
Result<Meta> binomial_meta(const Tensor& count, const Tensor& prob, const OptionalGenerator&) {
  return row_major_of(count, {&prob});
}
Result<Meta> gamma_grad_meta(const Tensor& self, const Tensor& output) {
  return row_major_of(self, {&output});
}
Result<Meta> dirichlet_grad_meta(const Tensor& x, const Tensor& alpha, const Tensor& total) {
  return row_major_of(x, {&alpha, &total});
}

// Uses Hoermann's transformed rejection (1993) for rates from 10 on, else a product of uniform
// numbers.
double draw_poisson(RandomState& random, double rate) {
  if (rate == 0) return 0;
  if (rate < 10) {
    const double limit = std::exp(-rate);
    double count = 0;
    for (double product = random.uniform(); product > limit; product *= random.uniform()) ++count;
    return count;
  }
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double box = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = random.uniform() - 0.5;
    const double v = random.uniform();
    const double edge = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / edge + b) * u + rate + 0.43);
    if (edge >= 0.07 && v <= box) return k;
    if (k < 0 || (edge < 0.013 && v > edge)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (edge * edge) + b) <=
        k * log_rate - rate - log_gamma(k + 1))
      return k;
  }
}
Result<void> poisson(Context& context, Tensor& out, const Tensor& self, const OptionalGenerator&) {
  const Input<double> rates(self);
  Output<double> drawn(out);
  for (int64_t i = 0; i < rates.size(); ++i) {
    if (!(rates[i] >= 0))
      return operator_error("self: found the rate " + print_float(rates[i]) +
                            ", expected no negative one");
    const double count = draw_poisson(context.random(), rates[i]);
    // x86's result of converting a number that does not fit in int64.
    drawn[i] = std::fabs(count) < 0x1p63 ? count : -0x1p63;
  }
  return {};
}

// The difference between log(k!) and Stirling's formula.
double stirling_rest(double k) {
  constexpr std::array kFirst{0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                              0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                              0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                              0.00833056343336287};
  if (k >= 0 && k < static_cast<double>(kFirst.size())) return kFirst[static_cast<size_t>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}
// Counts the geometric waiting times that fit into `count` trials.
template <class T>
T count_waits(RandomState& random, T count, T p) {
  const double log_failure = std::log1p(-p);
  T successes = 0;
  for (double trials = 0;; ++successes) {
    trials += std::ceil(std::log(random.uniform()) / log_failure);
    if (!(trials <= static_cast<double>(count))) return successes;
  }
}
// Hoermann's transformed rejection for binomial numbers (BTRS, 1993).
template <class T>
T reject_binomial(RandomState& random, T count, T p) {
  const double deviation = std::sqrt(count * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * static_cast<double>(p);
  const double center = static_cast<double>(count * p) + 0.5;
  const double box = 0.92 - 4.2 / b;
  const double odds = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((count + 1) * p);
  const double n = static_cast<double>(count);
  for (;;) {
    const double u = random.uniform() - 0.5;
    const double v = random.uniform();
    const double edge = 0.5 - std::fabs(u);
    const T k = static_cast<T>(std::floor((2 * a / edge + b) * u + center));
    if (k < 0 || k > count) continue;
    if (edge >= 0.07 && v <= box) return k;
    const double failures = static_cast<double>(count - k + 1);
    const double successes = static_cast<double>(k + 1);
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (n - mode + 1))) +
                         static_cast<double>(count + 1) * std::log((n - mode + 1) / failures) +
                         (static_cast<double>(k) + 0.5) * std::log(odds * failures / successes) +
                         stirling_rest(mode) + stirling_rest(n - mode) -
                         stirling_rest(static_cast<double>(k)) -
                         stirling_rest(static_cast<double>(count - k));
    if (std::log(v * alpha / (a / (edge * edge) + b)) <= bound) return k;
  }
}
template <class T>
T draw_binomial(RandomState& random, T count, T p) {
  if (count <= 0 || p <= 0) return 0;
  if (p >= 1) return count;
  // PyTorch does not return if the count is NaN.
  if (std::isnan(p) || std::isnan(count)) return std::numeric_limits<T>::quiet_NaN();
  const bool likely = static_cast<double>(p) > 0.5;
  const T rarer = likely ? static_cast<T>(1.0 - static_cast<double>(p)) : p;
  const T drawn = count * rarer >= 10 ? reject_binomial(random, count, rarer)
                                      : count_waits(random, count, rarer);
  return likely ? count - drawn : drawn;
}
void binomial(Context& context, Tensor& out, const Tensor& count, const Tensor& prob,
              const OptionalGenerator&) {
  with_float_compute_type(out.dtype(), [&]<class C>() {
    elementwise<C>(
        out, out.dtype(), [&](C n, C p) { return draw_binomial(context.random(), n, p); }, count,
        prob);
  });
}

// The method of Marsaglia and Tsang (2000) for a shape of at least 1. A smaller shape is raised by
// 1, and the number is scaled. The constants are floats.
template <class T>
Result<double> draw_gamma(RandomState& random, T shape) {
  double scale = 1;
  if (shape == 0) return 0;
  if (shape < 1) {
    scale = std::pow(1 - random.uniform(), static_cast<double>(1 / shape));
    shape += 1;
  }
  const double d = static_cast<double>(shape - T(1.0f / 3.0f));
  if (!(d > 0))
    return operator_error("self: found the shape " + std::to_string(shape) +
                          ", expected no negative one");
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x = 0;
    double y = 0;
    do {
      x = random.normal();
      y = 1 + c * x;
    } while (y <= 0);
    const double v = y * y * y;
    const double u = 1 - random.uniform();
    const double square = x * x;
    if (u < 1 - static_cast<double>(0.0331f) * square * square ||
        std::log(u) < 0.5 * square + d * (1 - v + std::log(v)))
      return scale * d * v;
  }
}
template <class T>
Result<void> fill_gamma(RandomState& random, Tensor& out, const Tensor& self) {
  const Input<T> shapes(self);
  Output<T> drawn(out);
  for (int64_t i = 0; i < shapes.size(); ++i) {
    PT2_TRY(const double number, draw_gamma<T>(random, shapes[i]));
    drawn[i] = std::max(std::numeric_limits<T>::min(), static_cast<T>(number));
  }
  return {};
}
Result<void> standard_gamma(Context& context, Tensor& out, const Tensor& self,
                            const OptionalGenerator&) {
  return with_float_compute_type(
      out.dtype(), [&]<class C>() { return fill_gamma<C>(context.random(), out, self); });
}

// Gamma numbers, drawn in double, divided by their sum along the last dimension.
Result<void> sample_dirichlet(Context& context, Tensor& out, const Tensor& self,
                              const OptionalGenerator&) {
  PT2_TRY(Tensor drawn, allocate(Meta(Dtype::float64, self.sizes())));
  PT2_TRY_VOID(fill_gamma<double>(context.random(), drawn, self));
  PT2_TRY(const Tensor sum,
          apply(aten<"sum.dim_IntList">, {drawn, Value::List{int64_t{-1}}, true}));
  with_float_compute_type(out.dtype(), [&]<class C>() {
    const Input<double> numbers(drawn);
    const Input<double> sums(broadcast_to(sum, drawn.sizes()));
    Output<C> parts(out);
    for (int64_t i = 0; i < numbers.size(); ++i)
      parts[i] =
          std::min(std::nextafter(C(1), C(0)),
                   std::max(std::numeric_limits<C>::min(), static_cast<C>(numbers[i] / sums[i])));
  });
  return {};
}

// digamma(x); +inf at poles, from either side.
double digamma(double x) { return x <= 0 && x == std::floor(x) ? HUGE_VAL : digamma_of(x); }

// The derivative of a gamma number x with respect to its shape: -(dF/dshape) / density.
double gamma_slope_near_zero(double shape, double x) {
  double numerator = 1;
  double first = 1 / shape;
  double second = 1 / (shape * shape);
  for (int i = 1; i <= 5; ++i) {
    numerator *= -x / i;
    first += numerator / (shape + i);
    second += numerator / ((shape + i) * (shape + i));
  }
  const double power = std::pow(x, shape);
  const double density = std::pow(x, shape - 1) * std::exp(-x);
  const double cdf_slope = (std::log(x) - digamma(shape)) * (power * first) - power * second;
  const double slope = -cdf_slope / density;
  return std::isnan(slope) ? 0 : slope;
}
// Rice's saddle point expansion, and its series around x = shape, where the expansion is singular.
double gamma_slope_of_large(double shape, double x) {
  if (static_cast<double>(0.9f) * shape <= x && x <= static_cast<double>(1.1f) * shape) {
    const double square = shape * shape;
    return (1 + 24 * shape * (1 + 12 * shape)) *
           (1440 * square + 6 * x * (53 - 120 * x) - 65 * x * x / shape +
            shape * (107 + 3600 * x)) /
           (1244160 * square * square);
  }
  const double log_ratio = std::log(x / shape);
  const double root = std::sqrt(8 * shape);
  const double distance = shape - x;
  const double tail = std::pow(x - shape - shape * log_ratio, -1.5);
  const double both = root / distance + (x < shape ? -tail : tail);
  const double term = log_ratio * both - std::sqrt(2 / shape) * (shape + x) / (distance * distance);
  const double stirling = 1 + 1 / (12 * shape) * (1 + 1 / (24 * shape));
  return -stirling * x * term / root;
}
template <size_t N>
double polynomial(const std::array<double, N>& coefficients, double x) {
  double sum = 0;
  for (size_t i = N; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}
// For the other arguments: exp(p / q), where p and q are polynomials of log(x / shape) and
// log(shape).
double gamma_slope_fitted(double shape, double x) {
  constexpr std::array<std::array<double, 3>, 8> kCoefficients{
      {{0.16009398, 0.53487893, 0.040121004},
       {-0.094634809, 0.1298071, -0.0065914022},
       {0.025146376, 0.065735949, -0.0026286047},
       {-0.0030648343, -0.0015649758, -0.0013441777},
       {1, 0.16639465, 0.017050642},
       {0.32668115, 0.020070113, -0.0021309326},
       {0.10406089, -0.0035938915, 0.00085092367},
       {0.0014179084, -0.00058392623, -1.5247877e-07}}};
  const double u = std::log(x / shape);
  std::array<double, 4> p{};
  std::array<double, 4> q{};
  for (size_t i = 0; i < 4; ++i) {
    p[i] = polynomial(kCoefficients[i], u);
    q[i] = polynomial(kCoefficients[i + 4], u);
  }
  const double v = std::log(shape);
  return std::exp(polynomial(p, v) / polynomial(q, v));
}
double gamma_slope(double shape, double x) {
  if (x < static_cast<double>(0.8f)) return gamma_slope_near_zero(shape, x);
  return shape > 8 ? gamma_slope_of_large(shape, x) : gamma_slope_fitted(shape, x);
}
void standard_gamma_grad(Tensor& out, const Tensor& self, const Tensor& output) {
  with_float_compute_type(out.dtype(), [&]<class C>() {
    elementwise<C>(
        out, out.dtype(),
        [](C shape, C x) {
          return gamma_slope(static_cast<double>(shape), static_cast<double>(x));
        },
        self, output);
  });
}

// The derivative of a beta number x with respect to alpha, divided by 1 - x; by a series for x near
// 0.
template <class T>
T beta_slope_near_zero(T x, T alpha, T beta) {
  const T factor = static_cast<T>(digamma(static_cast<double>(alpha))) -
                   static_cast<T>(digamma(static_cast<double>(alpha + beta))) - std::log(x);
  T numerator = 1;
  T series = numerator / alpha * (factor + 1 / alpha);
  for (int i = 1; i <= 10; ++i) {
    const T step = static_cast<T>(i);
    numerator *= (step - beta) * x / step;
    series += numerator / (alpha + step) * (factor + 1 / (alpha + step));
  }
  const T slope = x * std::pow(1 - x, -beta) * series;
  return std::isnan(slope) ? T(0) : slope;
}
// The same with respect to beta, by a series for x near 0.
template <class T>
T other_beta_slope_near_zero(T x, T alpha, T beta) {
  const T factor = static_cast<T>(digamma(static_cast<double>(alpha + beta))) -
                   static_cast<T>(digamma(static_cast<double>(beta)));
  T numerator = 1;
  T product = 1;
  T product_slope = 0;
  T series = factor / alpha;
  for (int i = 1; i <= 8; ++i) {
    const T step = static_cast<T>(i);
    numerator *= -x / step;
    product_slope = product_slope * (beta - step) + product;
    product *= beta - step;
    series += numerator / (alpha + step) * (product_slope + factor * product);
  }
  const T slope = -std::pow(1 - x, 1 - beta) * series;
  return std::isnan(slope) ? T(0) : slope;
}
// The same for large alpha and beta: Rice's saddle point expansion, and its series around the mean.
double beta_slope_of_large(double x, double alpha, double beta) {
  const double total = alpha + beta;
  const double mean = alpha / total;
  const double deviation = std::sqrt(alpha * beta / (total + 1)) / total;
  if (mean - 0.1 * deviation <= x && x <= mean + 0.1 * deviation) {
    const double square = beta * beta;
    const std::array<double, 5> by_alpha{
        47 * x * square * square, (43 + 20 * (16 + 27 * beta) * x) * square * beta,
        3 * (59 + 180 * beta - 90 * x) * square, (453 + 1620 * beta * (1 - x) - 455 * x) * beta,
        8 * (1 - x) * (135 * beta - 11)};
    return (1 + 12 * alpha) * (1 + 12 * beta) / (total * total) / (1 - x) *
           polynomial(by_alpha, alpha) /
           (12960 * alpha * alpha * alpha * square * (1 + 12 * total));
  }
  const auto stirling = [](double n) { return 1 + 1 / (12 * n) + 1 / (288 * n * n); };
  const double distance = alpha * (x - 1) + beta * x;
  const double term1 = (2 * alpha * alpha * (x - 1) + alpha * beta * (x - 1) - x * beta * beta) /
                       (std::sqrt(2 * alpha / beta) * std::pow(total, 1.5) * distance * distance);
  const double term2 = 0.5 * std::log(alpha / (total * x));
  const double term3 = std::sqrt(8 * alpha * beta / total) / distance;
  const double term4 = std::pow(
      beta * std::log(beta / (total * (1 - x))) + alpha * std::log(alpha / (total * x)), -1.5);
  return stirling(alpha) * stirling(beta) / stirling(total) * -x /
         std::sqrt(2 * alpha * beta / total) *
         (term1 + term2 * (term3 + (x < mean ? term4 : -term4)));
}
// For the other arguments: an analytic approximation, corrected by a quotient of polynomials of
// log(x), log(alpha / x) and log(total) - log(alpha / x).
double beta_slope_fitted(double x, double alpha, double total) {
  using Grid = std::array<std::array<std::array<double, 4>, 3>, 3>;
  constexpr Grid kNumerator{
      {{{{1.003668233, -0.01061107488, -0.0657888334, 0.01201642863},
         {0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033},
         {-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013}}},
       {{{0.221950385, -0.3187676331, 0.01799915743, 0.01074823814},
         {-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057},
         {0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05}}},
       {{{-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565},
         {0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181},
         {0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05}}}}};
  constexpr Grid kDenominator{
      {{{{1, -0.02924021934, -0.04438342661, 0.007285809825},
         {0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521},
         {-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149}}},
       {{{0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273},
         {0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956},
         {-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05}}},
       {{{0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05},
         {0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05},
         {-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06}}}}};
  const double u = std::log(x);
  const double a = std::log(alpha) - u;
  const double b = std::log(total) - a;
  const auto evaluate = [&](const Grid& grid) {
    std::array<double, 3> by_u{};
    for (size_t i = 0; i < 3; ++i) {
      std::array<double, 3> by_a{};
      for (size_t j = 0; j < 3; ++j) by_a[j] = polynomial(grid[i][j], b);
      by_u[i] = polynomial(by_a, a);
    }
    return polynomial(by_u, u);
  };
  return evaluate(kNumerator) / evaluate(kDenominator) * x * (digamma(total) - digamma(alpha)) /
         (total - alpha);
}
template <class T>
T beta_slope(T x, T alpha, T total) {
  const T beta = total - alpha;
  const T boundary = total * x * (1 - x);
  if (x <= T(0.5) && boundary < T(2.5)) return beta_slope_near_zero(x, alpha, beta);
  if (x >= T(0.5) && boundary < T(0.75)) return -other_beta_slope_near_zero(1 - x, beta, alpha);
  const double wide_x = static_cast<double>(x);
  const double wide_alpha = static_cast<double>(alpha);
  const double wide_total = static_cast<double>(total);
  if (alpha > 6 && beta > 6)
    return static_cast<T>(beta_slope_of_large(wide_x, wide_alpha, wide_total - wide_alpha));
  return static_cast<T>(beta_slope_fitted(wide_x, wide_alpha, wide_total));
}
void dirichlet_grad(Tensor& out, const Tensor& x, const Tensor& alpha, const Tensor& total) {
  with_float_compute_type(out.dtype(), [&]<class C>() {
    elementwise<C>(
        out, out.dtype(), [](C at, C a, C sum) { return beta_slope(at, a, sum); }, x, alpha, total);
  });
}

// clang-format off
constexpr OpDef kDistributionsOps[] = {
    op<"aten::poisson(Tensor self, Generator? generator=None) -> Tensor", row_major_like, poisson>.with({.draws = Facts::Draws::by_elements, .work = 60}),
    op<"aten::binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor", binomial_meta, binomial>.with({.work = 60}),
    op<"aten::_standard_gamma(Tensor self, Generator? generator=None) -> Tensor", wide_row_major_like, standard_gamma>.with({.draws = Facts::Draws::by_elements, .work = 60}),
    op<"aten::_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor", wide_row_major_like, sample_dirichlet>.with({.work = 60}),
    op<"aten::_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", gamma_grad_meta, standard_gamma_grad>.with({.work = 200}),
    op<"aten::_dirichlet_grad(Tensor x, Tensor alpha, Tensor total) -> Tensor", dirichlet_grad_meta, dirichlet_grad>.with({.work = 200}),
};
// clang-format on

}  // namespace

std::span<const OpDef> distributions_ops() { return kDistributionsOps; }

}  // namespace pt2::ops
