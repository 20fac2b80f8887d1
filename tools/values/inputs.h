// The inputs of a run: from the command line, or the file's own samples.
#ifndef PT2_TOOLS_VALUES_INPUTS_H
#define PT2_TOOLS_VALUES_INPUTS_H

#include <string>
#include <vector>

#include "pt2/limits.h"
#include "pt2/model.h"
#include "pt2/value.h"
#include "tools/command.h"

namespace pt2::tools {

struct GivenInputs {
  std::vector<std::string> arguments;
  bool cast = false;  // to the dtypes of the program's inputs, as Tensor.to does
};
// The options --input and --cast, of which it returns the first.
Option add_input_options(CommandLine& line, GivenInputs& inputs);

// In the order of model.inputs().
struct CallInputs {
  std::vector<Value> values{};
  // Whether some are random numbers, of the sizes that the file states.
  bool are_made_up = false;

  SessionOptions session(unsigned threads = 0) const {
    return {.threads = threads, .inputs_raise_limits = !are_made_up};
  }
};

// Each argument is NAME=VALUE, POSITION=VALUE,
// or just a file: of tensors, or JSON. A value is a file of tensors or, for numbers, booleans and
// text, a literal. Inputs that the program fixes (constants) may be omitted. Error `argument` lists
// every input with its type.
Result<CallInputs> read_inputs(const Model& model, const GivenInputs& given, const Limits& limits);

// Example inputs as values, one for each leaf. Error `unsupported` naming the leaf that is none.
Result<std::vector<Value>> sample_values(const SampleInputs& samples);
// The example inputs that the file holds. Error `argument` when it has none.
Result<CallInputs> read_sample_inputs(const Model& model, const std::string& model_name,
                                      Environment& environment);
// The same, or random ones where there are none that can be used. Errors: those of RandomInputs.
Result<CallInputs> sample_or_random_inputs(const Model& model, const std::string& model_name,
                                           uint64_t seed, Environment& environment);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_VALUES_INPUTS_H
