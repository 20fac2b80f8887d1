// A user's program that is compiled with -fno-exceptions and keeps its numbers in its own arrays:
// no_exceptions MODEL prints the largest of ten results.
#include <pt2/pt2.h>

#include <cstdio>
#include <vector>

int main(int, char** arguments) {
  const pt2::Result<pt2::Model> model = pt2::Model::load(arguments[1]);
  if (!model) return std::puts(model.error().text().c_str()), 1;
  std::vector<float> image(64, 0.5f);
  const pt2::Result<std::vector<pt2::Value>> outputs =
      model->run({{"image", pt2::Tensor::view(image.data(), {1, 1, 8, 8})}});
  if (!outputs) return std::puts(outputs.error().text().c_str()), 1;
  const pt2::Tensor* logits = (*outputs)[0].get_if<pt2::Tensor>();
  if (logits == nullptr || logits->try_as<int32_t>().has_value()) return 1;
  float largest = 0;
  for (float x : logits->elements<float>()) largest = x > largest ? x : largest;
  const pt2::Value count(image.size());
  return count.is<int64_t>() && pt2::Tensor::of({1.f, 2.f}).numel() == 2 && largest > 0 ? 0 : 1;
}
