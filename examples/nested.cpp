// Calls a program as Python would: it passes and gets containers, and addresses values by name.
#include <iostream>

#include "pt2/model.h"

int main() {
  using pt2::Dtype, pt2::Tensor, pt2::Tree;
  pt2::Model model = pt2::Model::load("nested.pt2").value();

  const float pixels[] = {-3, 0.5, 2, 0.25, 0.75, 0};
  auto scalar = [](float value) { return Tensor::from<float>(Dtype::float32, {}, {&value, 1}); };
  Tree sample = Tree::dict({{"range", Tree::tuple({scalar(-1), scalar(1)})},
                            {"image", Tensor::from<float>(Dtype::float32, {2, 3}, pixels)}});
  Tree result =
      model.call({{"sample", sample}, {"weights", Tree::list({scalar(1), scalar(0.5)})}}).value();

  for (float total : result["totals"][1].tensor().value().as<float>()) std::cout << total << "\n";
  std::cout << result["summary"]["largest"].tensor().value().as<float>()[0] << "\n";

  // Errors in the input are reported before anything runs, with the place in the containers.
  auto refused = model.call({{"sample.image", scalar(0)}});
  std::cout << refused.error().message << "\n";
  std::cout << result["summary"]["mean"].tensor().error().message << "\n";
}
