// The inputs of a run: from the command line, or the file's own samples.
#ifndef PT2_TOOLS_VALUES_INPUTS_H
#define PT2_TOOLS_VALUES_INPUTS_H

#include <span>
#include <string>
#include <vector>

#include "pt2/limits.h"
#include "pt2/model.h"
#include "pt2/value.h"
#include "tools/command.h"

namespace pt2::tools {

// The option --input, as read_inputs takes it.
Option add_input_option(CommandLine& line, std::vector<std::string>& inputs);

// Returns the inputs in the order of model.inputs(). Each argument is NAME=VALUE, POSITION=VALUE,
// or just a file of tensors. A value is a file or, for numbers, booleans and text, a literal.
// Inputs that the program fixes (constants) may be omitted. Error `argument` lists every input with
// its type.
Result<std::vector<Value>> read_inputs(const Model& model, std::span<const std::string> arguments,
                                       const Limits& limits);

// Example inputs as values, one for each leaf. Error `unsupported` naming the leaf that is none.
Result<std::vector<Value>> sample_values(const SampleInputs& samples);
// The example inputs that the file holds. Error `argument` when it has none.
Result<std::vector<Value>> read_sample_inputs(const Model& model, const std::string& model_name,
                                              Environment& environment);
// The same, or random ones where there are none that can be used. Errors: those of random_inputs.
Result<std::vector<Value>> sample_or_random_inputs(const Model& model,
                                                   const std::string& model_name, uint64_t seed,
                                                   Environment& environment);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_VALUES_INPUTS_H
