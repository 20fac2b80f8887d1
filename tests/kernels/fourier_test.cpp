#include "kernels/dtypes/fourier.h"

#include <complex>
#include <numbers>

#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using Number = std::complex<double>;

Number root(int64_t k, int64_t n) {
  return std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
}

std::vector<Number> transform_plainly(const std::vector<Number>& x, bool forward) {
  const auto n = static_cast<int64_t>(x.size());
  std::vector<Number> out(x.size());
  for (int64_t k = 0; k < n; ++k)
    for (int64_t j = 0; j < n; ++j) {
      const Number turn = root(j * k % n, n);
      out[static_cast<size_t>(k)] += x[static_cast<size_t>(j)] * (forward ? turn : std::conj(turn));
    }
  return out;
}

// A call with its memory, for random lines that are stored one after another or interleaved.
template <class T>
struct Case {
  std::vector<int64_t> factors;
  std::vector<std::complex<T>> roots, real_roots, from, to;
  std::vector<T> work;
  FourierLines<T> call;

  Case(test::Random& random, std::vector<int64_t> radices, int64_t from_length, int64_t to_length)
      : factors(std::move(radices)) {
    call.n = 1;
    for (const int64_t factor : factors) call.n *= factor;
    for (int64_t k = 0; k < call.n; ++k) roots.emplace_back(root(k, call.n));
    for (int64_t k = 0; 2 * k <= call.n; ++k) real_roots.emplace_back(root(k, 2 * call.n));
    call.lines = random.whole(1, fourier_lanes<T>());
    if (random.whole(0, 2) == 0) call.lines = fourier_lanes<T>();
    const bool side_by_side = random.whole(0, 1) == 1;
    call.from_stride = side_by_side ? call.lines : 1;
    call.from_distance = side_by_side ? 1 : from_length + 1;
    call.to_stride = side_by_side ? 1 : call.lines;
    call.to_distance = side_by_side ? to_length + 1 : 1;
    for (int64_t i = 0; i < (from_length + 1) * call.lines; ++i)
      from.emplace_back(random.number(-1, 1), random.number(-1, 1));
    to.resize(static_cast<size_t>((to_length + 1) * call.lines));
    work.resize(static_cast<size_t>(fourier_work<T>(call.n)));
    call.factors = factors;
    call.roots = reinterpret_cast<const T*>(roots.data());
    call.real_roots = reinterpret_cast<const T*>(real_roots.data());
    call.from = reinterpret_cast<const T*>(from.data());
    call.to = reinterpret_cast<T*>(to.data());
    call.work = work.data();
  }
  std::vector<Number> line(int64_t l, int64_t length) const {
    std::vector<Number> out;
    for (int64_t j = 0; j < length; ++j)
      out.emplace_back(from[static_cast<size_t>(j * call.from_stride + l * call.from_distance)]);
    return out;
  }
  Number result(int64_t l, int64_t k) const {
    return Number(to[static_cast<size_t>(k * call.to_stride + l * call.to_distance)]);
  }
};

const std::vector<std::vector<int64_t>> kFactors = {
    {},     {2},       {3},       {4, 4},    {5, 2},  {7},          {8},     {8, 5},
    {8, 8}, {8, 4, 4}, {8, 3, 8}, {4, 3, 5}, {31, 3}, {4, 4, 2, 5}, {11, 13}};

template <class T>
void check_complex(double tolerance) {
  test::Random random(1);
  for (const auto& factors : kFactors)
    for (const bool forward : {true, false}) {
      int64_t n = 1;
      for (const int64_t factor : factors) n *= factor;
      Case<T> plain(random, factors, n, n);
      plain.call.forward = forward;
      plain.call.scale = static_cast<T>(0.5);
      transform_lines(plain.call);
      for (int64_t l = 0; l < plain.call.lines; ++l) {
        const std::vector<Number> expected = transform_plainly(plain.line(l, n), forward);
        for (int64_t k = 0; k < n; ++k)
          ASSERT_LT(std::abs(plain.result(l, k) - expected[static_cast<size_t>(k)] * 0.5),
                    tolerance * static_cast<double>(n))
              << n << " at " << k;
      }
    }
}

template <class T>
void check_real(double tolerance) {
  test::Random random(2);
  for (const auto& factors : kFactors) {
    int64_t n = 1;
    for (const int64_t factor : factors) n *= factor;
    Case<T> there(random, factors, n, 2 * n);
    // Each complex element holds two adjacent real numbers.
    there.call.from_stride = 1;
    there.call.from_distance = n + 1;
    there.call.real = RealLines::to_spectra;
    there.call.length = 2 * n;
    there.call.scale = static_cast<T>(0.5);
    transform_lines(there.call);
    for (int64_t l = 0; l < there.call.lines; ++l) {
      std::vector<Number> numbers;
      for (const Number& pair : there.line(l, n)) {
        numbers.emplace_back(pair.real());
        numbers.emplace_back(pair.imag());
      }
      const std::vector<Number> expected = transform_plainly(numbers, true);
      for (int64_t k = 0; k < 2 * n; ++k)
        ASSERT_LT(std::abs(there.result(l, k) - expected[static_cast<size_t>(k)]),
                  tolerance * static_cast<double>(n))
            << n << " at " << k;
    }
    Case<T> back(random, factors, n + 1, n);
    back.call.forward = false;
    back.call.real = RealLines::from_spectra;
    transform_lines(back.call);
    for (int64_t l = 0; l < back.call.lines; ++l) {
      std::vector<Number> spectrum = back.line(l, n + 1);
      spectrum[0] = spectrum[0].real();
      spectrum.back() = spectrum.back().real();
      for (int64_t k = n - 1; k > 0; --k)
        spectrum.push_back(std::conj(spectrum[static_cast<size_t>(k)]));
      const std::vector<Number> expected = transform_plainly(spectrum, false);
      for (int64_t j = 0; j < n; ++j) {
        const Number pair(expected[static_cast<size_t>(2 * j)].real(),
                          expected[static_cast<size_t>(2 * j + 1)].real());
        ASSERT_LT(std::abs(back.result(l, j) - pair), tolerance * static_cast<double>(n))
            << n << " at " << j;
      }
    }
  }
}

TEST(FourierTest, ComplexLinesAreTheirDefinition) {
  test::on_every_target([] {
    check_complex<double>(1e-13);
    check_complex<float>(1e-6);
  });
}

TEST(FourierTest, RealLinesAreTheirDefinition) {
  test::on_every_target([] {
    check_real<double>(1e-13);
    check_real<float>(1e-6);
  });
}

}  // namespace
}  // namespace pt2::kernels
