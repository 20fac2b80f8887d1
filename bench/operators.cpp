// operators: reads lines "OPERATOR DTYPE" and prints for each the processor seconds of one call on
// random numbers, until the input ends. operators_bench.py asks, in turn with torch.
#include <time.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "ops/compose.h"
#include "ops/loops.h"

namespace {

using namespace pt2;

double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Tensor random_numbers(Sizes sizes, Dtype dtype) {
  Tensor out = Tensor::zeros(Dtype::float64, std::move(sizes));
  uint64_t state = 1;
  for (int64_t i = 0; i < out.numel(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    out.data<double>()[i] = static_cast<double>(state >> 40) / (1 << 24) - 0.5;
  }
  return *ops::apply("to.dtype", {out, dtype});
}

Result<Tensor> make_input(const std::string& name, Dtype dtype) {
  if (name == "fft") return random_numbers({1 << 20}, dtype);
  const int64_t n = name == "solve" ? 500 : 300;
  const Tensor a = random_numbers({n, n}, dtype);
  if (name != "eigh") return a;
  PT2_TRY(const Tensor turned, ops::apply("t.default", {a}));
  return ops::apply("add.Tensor", {a, turned});
}

Result<Tensor> compute(const std::string& name, const Tensor& input) {
  if (name == "svd") return ops::apply("linalg_svd.default", {input, true});
  if (name == "eigh") return ops::apply("linalg_eigh.default", {input});
  if (name == "solve") return ops::apply("linalg_solve.default", {input, input});
  return ops::apply("fft_fft.default", {input});
}

}  // namespace

int main() {
  std::string name;
  std::string dtype;
  while (std::cin >> name >> dtype) {
    const Tensor input =
        make_input(name, dtype == "float32" ? Dtype::float32 : Dtype::float64).value();
    const double begin = processor_seconds();
    compute(name, input).value();
    std::printf("%.9f\n", processor_seconds() - begin);
    std::fflush(stdout);
  }
}
