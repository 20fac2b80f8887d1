// The custom operators of the corpus programs, which were written in Python (torch.library,
// namespaces corpus and corpus_effect).
#ifndef PT2_TESTS_CORPUS_OPERATORS_H
#define PT2_TESTS_CORPUS_OPERATORS_H

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "pt2/ops/custom_operators.h"

namespace pt2::test {

// Returns y = x * a + sum(dims), plus bias in the mode "add" and minus bias in other modes.
inline Tensor scale_shift(const Tensor& x, double a, const std::vector<int64_t>& dims,
                          const std::optional<Tensor>& bias, const std::string& mode,
                          const std::vector<bool>&) {
  Tensor y = x.contiguous().clone();
  const auto factor = static_cast<float>(a);
  const auto shift = static_cast<float>(std::accumulate(dims.begin(), dims.end(), int64_t{0}));
  const float sign = mode == "add" ? 1.0f : -1.0f;
  const Tensor added = bias ? bias->contiguous() : Tensor::zeros(Dtype::float32, y.sizes());
  for (int64_t i = 0; i < y.numel(); ++i) {
    float& element = y.data<float>()[i];
    element = element * factor + shift;
    element += sign * added.data<float>()[i];
  }
  return y;
}

inline void add_into(Tensor out, const Tensor& x) {
  const Tensor added = x.contiguous();
  for (int64_t i = 0; i < out.numel(); ++i)
    out.data<float>()[i * out.stride(0)] += added.data<float>()[i];
}

// Returns x.clone().chunk(n), None and n + 1 for a vector x.
inline std::tuple<std::vector<Tensor>, std::optional<Tensor>, int64_t> parts(const Tensor& x,
                                                                             int64_t n) {
  const Tensor copy = x.contiguous().clone();
  const int64_t length = (x.size(0) + n - 1) / n;
  std::vector<Tensor> chunks;
  for (int64_t start = 0; start < x.size(0); start += length)
    chunks.push_back(copy.with_view({std::min(length, x.size(0) - start)}, {1}, start));
  return {chunks, std::nullopt, n + 1};
}

inline Result<void> add_corpus_operators(CustomOperators& operators) {
  PT2_TRY_VOID(operators.add(
      "corpus::scale_shift(Tensor x, float a, int[] dims, Tensor? bias=None, *, str mode=\"add\", "
      "bool[] flags=[]) -> Tensor",
      scale_shift));
  PT2_TRY_VOID(operators.add("corpus::add_into(Tensor(a!) out, Tensor x) -> ()", add_into));
  PT2_TRY_VOID(operators.add("corpus::parts(Tensor x, int n) -> (Tensor[], Tensor?, int)", parts));
  return operators.add("corpus_effect::note(Tensor x) -> Tensor",
                       [](const Tensor& x) { return x.clone(); });
}

}  // namespace pt2::test

#endif  // PT2_TESTS_CORPUS_OPERATORS_H
