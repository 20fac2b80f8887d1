// The signature of a graph: the role of each input (parameter, buffer, constant, user input) and of
// each output (user output, mutation, gradient). Corresponds to torch/export/graph_signature.py,
// with its derived properties.
#ifndef PT2_IR_SIGNATURE_H
#define PT2_IR_SIGNATURE_H

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pt2/ir/graph.h"

namespace pt2 {

enum class InputKind : uint8_t {
  user_input,
  parameter,
  buffer,
  constant_tensor,
  custom_obj,
  token
};
enum class OutputKind : uint8_t {
  user_output,
  loss_output,
  buffer_mutation,
  parameter_mutation,
  gradient_to_parameter,
  gradient_to_user_input,
  user_input_mutation,
  token,
};
std::string_view input_kind_name(InputKind kind);
std::string_view output_kind_name(OutputKind kind);

// A value of the graph by name, or a constant. Names are not resolved, so that verification can
// report a wrong name.
struct ArgumentSpec {
  enum class Kind : uint8_t { tensor, sym_int, sym_float, sym_bool, custom_obj, token, constant };
  Kind kind = Kind::tensor;
  std::string name{};       // for a constant: the name of its input, empty in the oldest form
  std::string class_fqn{};  // custom_obj
  Argument value{};         // constant
  bool is_constant() const { return kind == Kind::constant; }
};
// Returns the spec of an argument of the graph: kind and name for a value, a constant otherwise.
ArgumentSpec spec_of(const Graph& graph, const Argument& argument);
// Returns the placeholder name for an FQN. "fc1.weight" with the prefix "p_" gives p_fc1_weight
// (torch/export/_trace.py, placeholder_naming_pass).
std::string placeholder_name(std::string_view prefix, std::string_view fqn);

struct InputSpec {
  InputKind kind = InputKind::user_input;
  ArgumentSpec arg{};
  std::optional<std::string> target{};  // FQN of the parameter, buffer, constant or custom object
  std::optional<bool> persistent{};     // buffers
};

struct OutputSpec {
  OutputKind kind = OutputKind::user_output;
  ArgumentSpec arg{};
  std::optional<std::string> target{};  // an FQN, or the name of the user input
};

using NameMap = std::vector<std::pair<std::string, std::string>>;  // in order of the specs

struct BackwardSignature {
  NameMap gradients_to_parameters{};
  NameMap gradients_to_user_inputs{};
  std::string loss_output{};
};

struct GraphSignature {
  std::vector<InputSpec> input_specs{};
  std::vector<OutputSpec> output_specs{};

  // Return the targets of the specs of one kind, in order of the specs.
  std::vector<std::string> parameters() const;
  std::vector<std::string> buffers() const;
  std::vector<std::string> non_persistent_buffers() const;
  std::vector<std::string> lifted_tensor_constants() const;
  std::vector<std::string> lifted_custom_objs() const;
  // Return the specs of user inputs and user outputs: names or constants. The loss output counts as
  // a user output, because a caller gets it among the results.
  std::vector<ArgumentSpec> user_inputs() const;
  std::vector<ArgumentSpec> user_outputs() const;
  // Return maps from names in the graph to targets.
  NameMap inputs_to_parameters() const;
  NameMap inputs_to_buffers() const;
  NameMap inputs_to_lifted_tensor_constants() const;
  NameMap inputs_to_lifted_custom_objs() const;
  NameMap buffers_to_mutate() const;
  NameMap parameters_to_mutate() const;
  NameMap user_inputs_to_mutate() const;
  std::vector<std::string> input_tokens() const;
  std::vector<std::string> output_tokens() const;
  // Returns the gradients and the loss output; nothing if there is no loss output.
  std::optional<BackwardSignature> backward_signature() const;
  // Renames a value in every spec.
  void replace_all_uses(std::string_view old_name, std::string_view new_name);
};

// Return one line for each spec, as str() of the Python classes: "p_w: PARAMETER target='w'".
std::string print(const InputSpec& spec);
std::string print(const OutputSpec& spec);
std::string print(const GraphSignature& signature);

}  // namespace pt2

#endif  // PT2_IR_SIGNATURE_H
