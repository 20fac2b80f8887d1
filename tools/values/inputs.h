// The inputs of a run: from the command line, or the file's own samples.
#ifndef PT2_TOOLS_VALUES_INPUTS_H
#define PT2_TOOLS_VALUES_INPUTS_H

#include <string>
#include <vector>

#include "pt2/limits.h"
#include "pt2/model.h"
#include "pt2/tensor_file.h"
#include "pt2/value.h"
#include "tools/command.h"

namespace pt2::tools {

struct GivenInputs {
  std::vector<std::string> arguments;
  bool cast = false;  // converts to the dtypes of the program's inputs, like Tensor.to
};
// Adds the options --input and --cast. Returns --input.
Option add_input_options(CommandLine& line, GivenInputs& inputs);

// Inputs in the order of model.inputs().
struct CallInputs {
  std::vector<Value> values{};
  // True if some inputs are random numbers, with the sizes that the file states.
  bool are_made_up = false;

  SessionOptions session(unsigned threads = 0) const {
    return {.threads = threads, .inputs_raise_limits = !are_made_up};
  }
};

// Each argument is NAME=VALUE, POSITION=VALUE, or just a file of tensors or JSON. A value is a file
// of tensors or, for numbers, booleans and text, a literal. Inputs that the program fixes
// (constants) may be omitted. Error `argument` lists every input with its type.
Result<CallInputs> read_inputs(const Model& model, const GivenInputs& given, const Limits& limits);

// Returns the tensor that a file of tensors has for an input: its only one, or the one of that
// name.
Result<Tensor> tensor_for(const std::string& input, const std::string& path, NamedTensors tensors);

// Returns example inputs as values, one for each leaf. Error `unsupported` names a leaf that is not
// a value.
Result<std::vector<Value>> sample_values(const SampleInputs& samples);
// Returns the file's example inputs. Error `argument` if the file has none.
Result<CallInputs> read_sample_inputs(const Model& model, const std::string& model_name,
                                      Environment& environment);
// Returns the example inputs, or random inputs if they are missing or unusable. Errors: those of
// RandomInputs.
Result<CallInputs> sample_or_random_inputs(const Model& model, const std::string& model_name,
                                           uint64_t seed, Environment& environment);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_VALUES_INPUTS_H
