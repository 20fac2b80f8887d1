// Trains the digits classifier without Python. training.pt2 computes loss and gradients of one
// step, which PyTorch derived at export; this file has the loop. The trained weights then replace
// those of digits.pt2; PyTorch can load the resulting .pt2.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>

#include "pt2/model.h"
#include "pt2/save.h"
#include "pt2/tensor_file.h"

namespace {

using pt2::Dtype, pt2::Tensor, pt2::Value;

constexpr int64_t kBatch = 64;  // as exported
constexpr int64_t kPixels = 64;
constexpr int64_t kDigits = 10;
constexpr int kEpochs = 10;
constexpr float kRate = 0.1f;

struct Images {
  Tensor images;  // u8[n, 1, 8, 8]
  Tensor labels;  // u8[n]
  int64_t count() const { return labels.numel(); }
};

Images load_images(const std::string& part) {
  const auto file = pt2::read_tensor_file("digits_images.npz").value();
  const std::map<std::string, Tensor> tensors(file.begin(), file.end());
  return {tensors.at(part + "_images"), tensors.at(part + "_labels")};
}

// Returns the chosen images and labels as the programs take them: f32[n, 1, 8, 8], i64[n].
std::vector<Value> batch_of(const Images& all, std::span<const int64_t> chosen) {
  const int64_t count = static_cast<int64_t>(chosen.size());
  Tensor images = Tensor::zeros(Dtype::float32, {count, 1, 8, 8});
  Tensor labels = Tensor::zeros(Dtype::int64, {count});
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* pixels = all.images.data<uint8_t>() + chosen[i] * kPixels;
    std::copy_n(pixels, kPixels, images.data<float>() + i * kPixels);
    labels.data<int64_t>()[i] = all.labels.data<uint8_t>()[chosen[i]];
  }
  return {images, labels};
}

// Does a step of stochastic gradient descent for every parameter whose gradient is an output.
void descend(pt2::Session& session, const std::vector<Value>& outputs) {
  size_t position = 0;
  for (const pt2::OutputSpec& spec : session.program().signature.output_specs) {
    // The session keeps the buffers that the program mutates; they are not outputs.
    if (spec.kind == pt2::OutputKind::buffer_mutation) continue;
    const Value& output = outputs[position++];
    if (spec.kind != pt2::OutputKind::gradient_to_parameter) continue;
    const Tensor gradient = output.get_if<Tensor>()->contiguous();
    Tensor parameter = session.mutable_state(*spec.target).value();
    for (int64_t i = 0; i < parameter.numel(); ++i)
      parameter.data<float>()[i] -= kRate * gradient.data<float>()[i];
  }
}

// Makes one pass over all images in random order; returns the loss of the last batch.
float train_epoch(pt2::Session& session, const Images& images, std::mt19937& random) {
  std::vector<int64_t> order(images.count());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  float loss = 0;
  for (int64_t first = 0; first + kBatch <= images.count(); first += kBatch) {
    std::vector<Value> inputs =
        batch_of(images, std::span<const int64_t>(order).subspan(first, kBatch));
    session.seed(random());  // a new dropout mask each time
    const std::vector<Value> outputs = session.run(inputs).value();
    loss = outputs[0].get_if<Tensor>()->as<float>()[0];
    descend(session, outputs);
  }
  return loss;
}

// Returns the contents of digits.pt2 with the session's parameters and buffers instead of its own.
pt2::PackageContents trained_contents(const pt2::Package& digits, const pt2::Session& session) {
  pt2::PackageContents contents = pt2::package_contents(digits).value();
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

int64_t count_right(const pt2::Model& digits, const Images& images) {
  std::vector<int64_t> all(images.count());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<Value> batch = batch_of(images, all);
  const auto outputs = digits.run({batch[0]}).value();
  const float* row = outputs[0].get_if<Tensor>()->data<float>();
  int64_t right = 0;
  for (int64_t i = 0; i < images.count(); ++i, row += kDigits)
    right += std::max_element(row, row + kDigits) - row == images.labels.data<uint8_t>()[i];
  return right;
}

}  // namespace

int main(int count, char** arguments) {
  const pt2::Model step = pt2::Model::load("training.pt2").value();
  pt2::Session session(step);
  const Images images = load_images("train");
  std::mt19937 random(0);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const float loss = train_epoch(session, images, random);
    std::clog << "epoch " << epoch << ", loss " << loss << "\n";
  }

  const pt2::Package digits = pt2::Package::open("digits.pt2").value();
  const pt2::PackageContents contents = trained_contents(digits, session);
  if (count > 1) pt2::save_package(contents, arguments[1]).value();
  const Images held_out = load_images("test");
  const int64_t right = count_right(reopen(contents), held_out);
  std::clog << right << " of " << held_out.count() << " held-out digits right\n";
  std::cout << "more than 97 % of the held-out digits right: "
            << (100 * right > 97 * held_out.count() ? "yes" : "no") << "\n";
}
