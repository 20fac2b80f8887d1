// How a program is called, computed once: its flat inputs and outputs, the graph inputs that they
// stand for, and whether each result goes to the caller or is a new value of state.
#ifndef PT2_RUN_CALLING_CONVENTION_H
#define PT2_RUN_CALLING_CONVENTION_H

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/check_inputs.h"
#include "pt2/model.h"

namespace pt2::run {

// What a call does with one output of the graph.
struct GraphOutput {
  enum class Role : uint8_t {
    result,    // returned to the caller, part of the result of forward
    gradient,  // returned to the caller, beside the result of forward
    mutation,  // the new value of a graph input
    ignored,
  };
  Role role = Role::ignored;
  // For a mutation: the position of the written input, if it exists, and its name for messages.
  std::optional<size_t> target{};
  std::string name{};

  bool is_callers() const { return role == Role::result || role == Role::gradient; }
};

struct CallingConvention {
  // The program must outlive this object. Its signature must have one spec per input and output of
  // the graph.
  explicit CallingConvention(const Program& program);
  CallingConvention(const CallingConvention&) = delete;
  CallingConvention& operator=(const CallingConvention&) = delete;

  // Returns the graph input with this FQN, or with this name in the graph.
  std::optional<size_t> find_state(std::string_view name) const;
  // The same for names in recorded calls of releases up to 2.2, which name state after the module
  // while the file uses dynamo's names: "bn.weight" or "bn_weight" for "L__self___bn.weight".
  std::optional<size_t> find_recorded_state(std::string_view name) const;

  std::vector<ModelValue> inputs;
  std::vector<ModelValue> outputs;
  std::vector<CallArgument> arguments;
  TreeSpec result;
  InputConditions conditions;
  std::vector<size_t> input_positions;          // positions among the graph's inputs
  std::vector<std::optional<Value>> constants;  // values of inputs that the program fixes
  std::vector<GraphOutput> graph_outputs;

 private:
  using Index = std::map<std::string, size_t, std::less<>>;
  Index states_;
  Index recorded_states_;
};

// Error `argument`: lists the inputs of the program, where `found` were given.
Error wrong_input_count(const CallingConvention& convention, size_t found);

}  // namespace pt2::run

#endif  // PT2_RUN_CALLING_CONVENTION_H
