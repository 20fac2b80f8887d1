// Graphs for tests of plans. Case runs a graph by its plan and by the reference executor, and
// compares the results.
#ifndef PT2_TESTS_RUN_PLAN_PLAN_CASE_H
#define PT2_TESTS_RUN_PLAN_PLAN_CASE_H

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "ops/loops.h"
#include "pt2/ir/builder.h"
#include "run/graph_maker.h"
#include "run/plan/layout.h"
#include "run/plan/plan.h"
#include "run/plan/workspace.h"
#include "upper_halves.h"

namespace pt2::run {

// Names of steps, in their order.
using Names = std::vector<std::string>;

// A graph and the values of its inputs. The plan knows the values of weights.
class Case {
 public:
  ValueId input(const Sizes& sizes) { return add(sizes, false); }
  ValueId weight(const Sizes& sizes, float least = -1) { return add(sizes, true, least); }
  // Adds a node. ATen targets omit their prefix: "add.Tensor".
  ValueId call(const std::string& target, std::vector<NamedArgument> arguments) {
    const bool is_whole = target.starts_with("torch.ops.");
    return maker_.call(is_whole ? target : "torch.ops.aten." + target, std::move(arguments));
  }
  std::vector<ValueId> calls(const std::string& target, std::vector<NamedArgument> arguments,
                             size_t results) {
    const bool is_whole = target.starts_with("torch.ops.");
    return maker_.calls(is_whole ? target : "torch.ops.aten." + target, std::move(arguments),
                        results);
  }
  // Sets the recorded outputs of the node that defines `id`.
  void set_results(ValueId id, std::vector<Argument> results) {
    maker_.graph.set_node_outputs(maker_.graph.value(id).definition.node, std::move(results));
  }
  // Sets the recorded sizes of a value and, if given, its recorded dtype and strides.
  void record(ValueId id, const Sizes& sizes, std::optional<Dtype> dtype = std::nullopt,
              const Sizes& strides = {}) {
    TensorMeta meta;
    if (dtype) meta.dtype = ScalarType{dtype_info(*dtype).schema_number};
    for (const int64_t size : sizes) meta.sizes.emplace_back(size);
    for (const int64_t stride : strides) meta.strides.emplace_back(stride);
    maker_.graph.set_value_meta(id, std::move(meta));
  }
  // Records that a value is a number that calls decide.
  void record_number(ValueId id) { maker_.graph.set_value_meta(id, SymFloat{}); }
  void output(ValueId id) { outputs_.push_back(Argument(id)); }

  // Returns the names of the plan's steps. The test fails if planned and reference results differ.
  Names check() {
    maker_.graph.set_outputs(outputs_);
    const auto bound = bind_graph(maker_.graph).value();
    const auto plan = make_plan(*bound, constants_, std::vector<bool>(constants_.size(), true));
    const std::vector<Value> expected = execute(maker_.graph, copies()).value();
    Workspace workspace(2);
    const std::function<void(const StepTime&)> note_step = [&](const StepTime& step) {
      kernels_.emplace_back(step.kernel);
    };
    // The second round reuses the memory of the first.
    for (int round = 0; round < 2; ++round) {
      ops::Context context;
      Executor executor(context);
      kernels_.clear();
      const auto found = plan->run(copies(), {.on_step = &note_step}, executor, workspace);
      left_upper_halves_ = test::upper_halves_in_use().value_or(false);
      EXPECT_TRUE(found) << found.error().text();
      if (!found) return {};
      for (size_t i = 0; i < expected.size(); ++i) compare(i, (*found)[i], expected[i]);
    }
    check_recording(*plan, workspace, expected);
    Names names;
    for (const StepPointer& step : plan->steps) names.emplace_back(step->name());
    return names;
  }
  // The kernels that computed the steps, in their order: "reference" for a step that declined.
  const Names& kernels() const { return kernels_; }
  // True if the upper halves of vector registers were in use after the last call of the plan.
  bool left_upper_halves() const { return left_upper_halves_; }
  // True if the plan and the reference executor fail with the same error.
  bool fails_alike() { return outcomes() == Outcomes{.both_fail = true, .agree = true}; }
  // True if both fail with the same error, or neither fails.
  bool agrees() { return outcomes().agree; }
  // True if the call could be recorded.
  bool was_recorded() const { return was_recorded_; }
  // The number of launches that the recording repeats.
  size_t launches() const { return launches_; }
  // True if the recording was valid for other elements as well.
  bool took_others() const { return took_others_; }

  // The tolerance of results, absolute and relative.
  double tolerance = 1e-5;

  // Converts an input and its recorded dtype to `dtype`.
  void make_halves(ValueId id, Dtype dtype) {
    const Tensor& numbers = *values_[place_of(id)].get_if<Tensor>();
    Tensor halves = Tensor::zeros(dtype, numbers.sizes());
    ops::copy_elements(halves, numbers);
    record(id, numbers.sizes(), dtype);
    fill(id, std::move(halves));
  }

  // Converts an input and its recorded dtype to `dtype`, a complex one, with imaginary parts of its
  // own.
  void make_complex(ValueId id, Dtype dtype) {
    const Tensor& real = *values_[place_of(id)].get_if<Tensor>();
    Tensor wide = Tensor::zeros(Dtype::complex128, real.sizes());
    ops::copy_elements(wide, real);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (auto& number :
         std::span(wide.data<std::complex<double>>(), static_cast<size_t>(wide.numel())))
      number.imag(uniform(random_));
    Tensor numbers = Tensor::zeros(dtype, real.sizes());
    ops::copy_elements(numbers, wide);
    record(id, numbers.sizes(), dtype);
    fill(id, std::move(numbers));
  }

  void fill(ValueId id, Tensor tensor) {
    const size_t at = place_of(id);
    values_[at] = Value(std::move(tensor));
    if (!constants_[at].is_none()) constants_[at] = values_[at];
  }

 private:
  struct Outcomes {
    bool both_fail;
    bool agree;
    bool operator==(const Outcomes&) const = default;
  };
  Outcomes outcomes() {
    maker_.graph.set_outputs(outputs_);
    const auto bound = bind_graph(maker_.graph);
    if (!bound) return {.both_fail = true, .agree = true};
    const auto plan = make_plan(**bound, constants_, std::vector<bool>(constants_.size(), true));
    const auto expected = execute(maker_.graph, copies());
    Workspace workspace(2);
    ops::Context context;
    Executor executor(context);
    const auto found = plan->run(copies(), {}, executor, workspace);
    // Memory may run out at another of their tensors.
    const auto are_alike = [](const Error& a, const Error& b) {
      return a.text() == b.text() || (a.code == ErrorCode::limit && b.code == ErrorCode::limit);
    };
    return {.both_fail = !found && !expected,
            .agree = found.has_value() == expected.has_value() &&
                     (found || are_alike(found.error(), expected.error()))};
  }
  // Records a call and replays it with the same elements in other memory.
  void check_recording(const Plan& plan, Workspace& workspace, const std::vector<Value>& expected) {
    std::vector<Value> inputs = copies();
    std::vector<const Value*> given;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (constants_[i].is_none()) given.push_back(&inputs[i]);
    ops::Context context;
    Executor executor(context);
    Recording recording(maker_.graph, 1 << 12, false);
    ASSERT_TRUE(plan.run(copies(), {}, executor, workspace, &recording));
    was_recorded_ = recording.is_usable();
    launches_ = recording.launch_count();
    for (int round = 0; was_recorded_ && round < 2; ++round) {
      ASSERT_TRUE(recording.run(given, {}).value());
      for (size_t i = 0; i < expected.size(); ++i)
        compare(i, Value(recording.outputs()[i]), expected[i]);
    }
    if (was_recorded_) check_other_elements(recording);
  }
  // Replays the recording with other elements. It must compute with them, or refuse them.
  void check_other_elements(const Recording& recording) {
    std::vector<Value> inputs = copies();
    std::vector<const Value*> given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!constants_[i].is_none()) continue;
      auto* tensor = inputs[i].get_if<Tensor>();
      const int64_t count = tensor->dtype() == Dtype::float32     ? tensor->numel()
                            : tensor->dtype() == Dtype::complex64 ? 2 * tensor->numel()
                                                                  : 0;
      for (int64_t at = 0; at < count; ++at) tensor->data<float>()[at] *= 0.5f;
      given.push_back(&inputs[i]);
    }
    const std::vector<Value> expected = execute(maker_.graph, inputs).value();
    took_others_ = recording.run(given, {}).value();
    for (size_t i = 0; took_others_ && i < expected.size(); ++i)
      compare(i, Value(recording.outputs()[i]), expected[i]);
  }
  ValueId add(const Sizes& sizes, bool known, float least = -1) {
    const ValueId id = maker_.input("i" + std::to_string(values_.size()));
    ids_.push_back(id);
    std::vector<float> numbers(static_cast<size_t>(checked_numel(sizes).value()));
    std::uniform_real_distribution<float> uniform(least, 1.0f);
    for (float& number : numbers) number = uniform(random_);
    values_.emplace_back(floats(sizes, std::move(numbers)));
    constants_.push_back(known ? values_.back() : Value());
    return id;
  }
  size_t place_of(ValueId id) const {
    return static_cast<size_t>(std::ranges::find(ids_, id) - ids_.begin());
  }
  // Returns copies of the inputs, so that each run starts with the same values. Weights are shared:
  // here no program writes to them.
  std::vector<Value> copies() const {
    std::vector<Value> out;
    for (size_t i = 0; i < values_.size(); ++i)
      out.push_back(constants_[i].is_none() ? Value(values_[i].get_if<Tensor>()->clone())
                                            : values_[i]);
    return out;
  }
  void compare(size_t result, const Value& found, const Value& expected) const {
    const Tensor &a = *found.get_if<Tensor>(), &b = *expected.get_if<Tensor>();
    ASSERT_EQ(a.sizes(), b.sizes());
    ASSERT_EQ(a.dtype(), b.dtype());
    const std::vector<double> x = numbers(a), y = numbers(b);
    const Dtype precision = real_dtype(a.dtype());
    const double room = precision == Dtype::float64    ? 1e-14
                        : precision == Dtype::float16  ? 1e-3
                        : precision == Dtype::bfloat16 ? 8e-3
                                                       : tolerance;
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
      EXPECT_NEAR(x[i], y[i], room * (1 + std::abs(y[i])))
          << "result " << result << ", element " << i;
    }
  }
  static std::vector<double> numbers(const Tensor& tensor) {
    if (dtype_category(tensor.dtype()) == DtypeCategory::complex) return numbers(parts_of(tensor));
    Tensor wide = Tensor::zeros(Dtype::float64, tensor.sizes());
    ops::copy_elements(wide, tensor);
    return {wide.as<double>().begin(), wide.as<double>().end()};
  }

  GraphMaker maker_;
  std::vector<ValueId> ids_;  // of the inputs
  std::vector<Value> values_;
  std::vector<Value> constants_;
  std::vector<Argument> outputs_;
  Names kernels_;
  std::mt19937 random_{7};
  bool left_upper_halves_ = false;
  bool was_recorded_ = false;
  size_t launches_ = 0;
  bool took_others_ = false;
};

inline NamedArgument input(ValueId id) { return named("input", Argument(id)); }
inline NamedArgument self(ValueId id) { return named("self", Argument(id)); }
inline NamedArgument other(ValueId id) { return named("other", Argument(id)); }

}  // namespace pt2::run

#endif  // PT2_TESTS_RUN_PLAN_PLAN_CASE_H
