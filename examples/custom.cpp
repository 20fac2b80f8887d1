// Runs a program that calls custom operators.
#include <iostream>

#include "mylib.h"
#include "pt2/model.h"

int main() {
  pt2::CustomOperators operators;
  mylib::add_operators(operators).value();
  pt2::Model model = pt2::Model::load("custom.pt2", {.operators = operators}).value();

  const float x[] = {1, -2, 3, -4, 5, -6};
  std::vector<pt2::Value> outputs =
      model.run({{"x", pt2::Tensor::from<float>(pt2::Dtype::float32, {2, 3}, x)}}).value();
  for (float element : outputs[0].get_if<pt2::Tensor>()->as<float>()) std::cout << element << " ";
  std::cout << "\n";

  // Without the kernels, the error names the missing operators and the places of their calls.
  std::cout << pt2::Model::load("custom.pt2").error().message << "\n";
}
