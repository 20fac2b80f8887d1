// Trains a program without Python: training.pt2 holds one step's loss and gradients (PyTorch made
// them when it was exported), the loop around it is here. The trained program becomes a .pt2 again.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <random>
#include <string>

#include "pt2/model.h"
#include "pt2/save.h"

namespace {

using pt2::Dtype, pt2::Tensor, pt2::Value;

constexpr int64_t kPoints = 96;
constexpr int kSteps = 400;
constexpr float kRate = 0.3f;

struct Batch {
  Tensor points = Tensor::zeros(Dtype::float32, {kPoints, 2});
  Tensor classes = Tensor::zeros(Dtype::int64, {kPoints});
};

// Points of three spiral arms, a class each.
Batch spirals(std::mt19937& random) {
  Batch batch;
  for (int64_t i = 0; i < kPoints; ++i) {
    const int64_t arm = i % 3;
    const float radius = static_cast<float>(random() % 1000) / 1000;
    const float angle = 2.1f * static_cast<float>(arm) + 1.5f * radius;
    batch.points.data<float>()[2 * i] = 2 * radius * std::cos(angle);
    batch.points.data<float>()[2 * i + 1] = 2 * radius * std::sin(angle);
    batch.classes.data<int64_t>()[i] = arm;
  }
  return batch;
}

int64_t count_right(const Tensor& logits, const Tensor& classes) {
  int64_t right = 0;
  for (int64_t i = 0; i < kPoints; ++i) {
    const float* row = logits.data<float>() + 3 * i;
    right += std::max_element(row, row + 3) - row == classes.data<int64_t>()[i];
  }
  return right;
}

// Every gradient among the outputs, with the parameter that it is of.
void descend(pt2::Session& session, const std::vector<Value>& outputs) {
  size_t position = 0;
  for (const pt2::OutputSpec& spec : session.program().signature.output_specs) {
    const Value& output = outputs[position++];
    if (spec.kind != pt2::OutputKind::gradient_to_parameter) continue;
    const Tensor gradient = output.get_if<Tensor>()->contiguous();
    Tensor parameter = session.mutable_state(*spec.target).value();
    for (int64_t i = 0; i < parameter.numel(); ++i)
      parameter.data<float>()[i] -= kRate * gradient.data<float>()[i];
  }
}

// The file that was opened, with the session's parameters instead of its own.
pt2::PackageContents trained_contents(const pt2::Model& model, const pt2::Session& session) {
  pt2::PackageContents contents = pt2::package_contents(model.package()).value();
  auto& tensors = std::get<std::vector<pt2::SavedTensor>>(contents.programs[0].state_dict);
  for (pt2::SavedTensor& tensor : tensors) tensor.tensor = *session.state(tensor.name);
  return contents;
}

pt2::Model reopen(const pt2::PackageContents& contents) {
  pt2::StringSink file;
  pt2::save_package(contents, file).value();
  auto bytes = std::make_shared<const std::string>(file.take());
  auto package =
      pt2::Package::open_bytes(std::as_bytes(std::span(*bytes)), bytes, "trained.pt2").value();
  return pt2::Model::from_package(std::make_shared<const pt2::Package>(std::move(package))).value();
}

}  // namespace

int main(int count, char** arguments) {
  const pt2::Model model = pt2::Model::load("training.pt2").value();
  pt2::Session session(model);
  std::mt19937 random(0);
  float first_loss = 0;
  float loss = 0;
  for (int step = 0; step < kSteps; ++step) {
    Batch batch = spirals(random);
    std::vector<Value> inputs{batch.points, batch.classes};
    const std::vector<Value> outputs = session.run(inputs).value();
    loss = outputs[0].get_if<Tensor>()->as<float>()[0];
    if (step == 0) first_loss = loss;
    descend(session, outputs);
  }
  std::cout << "loss below a tenth of the first: " << (loss < first_loss / 10 ? "yes" : "no")
            << "\n";

  // With an argument, the trained program becomes a file for PyTorch or anybody else.
  const pt2::PackageContents contents = trained_contents(model, session);
  if (count > 1) pt2::save_package(contents, arguments[1]).value();
  const Batch test = spirals(random);
  const auto outputs = reopen(contents).run({Value(test.points), Value(test.classes)}).value();
  const int64_t right = count_right(*outputs[1].get_if<Tensor>(), test.classes);
  std::cout << "more than 95 % right, saved and opened again: "
            << (100 * right > 95 * kPoints ? "yes" : "no") << "\n";
}
