// Models of the corpus, and inputs for their calls.
#ifndef PT2_TESTS_RUN_CORPUS_MODEL_H
#define PT2_TESTS_RUN_CORPUS_MODEL_H

#include <memory>
#include <string>
#include <vector>

#include "pt2/model.h"
#include "pt2/package.h"
#include "run/graph_maker.h"

namespace pt2::run {

inline std::shared_ptr<const Package> corpus_package(const std::string& name) {
  const std::string path = std::string(PT2_TEST_DATA) + "/corpus/2.15.0/" + name + ".pt2";
  return std::make_shared<const Package>(Package::open(path).value());
}

inline Model corpus_model(const std::string& name) {
  return Model::from_package(corpus_package(name)).value();
}

// Returns varying numbers that begin at `start`, so that calls with another `start` differ.
inline Value numbers_for(const ModelValue& input, float start, float step = 0.01f) {
  Sizes sizes;
  for (const SymInt& size : input.tensor->sizes)
    sizes.push_back(size.is_symbolic() ? 4 : size.literal());
  std::vector<float> values(static_cast<size_t>(checked_numel(sizes).value()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = start + step * static_cast<float>(i % 97);
  return Value(floats(sizes, values));
}

inline std::vector<Value> inputs_of(const Model& model, float start, float step = 0.01f) {
  std::vector<Value> inputs;
  for (const ModelValue& input : model.inputs()) inputs.push_back(numbers_for(input, start, step));
  return inputs;
}

}  // namespace pt2::run

#endif  // PT2_TESTS_RUN_CORPUS_MODEL_H
