// Do the inputs of a call fit the program: count, dtypes, sizes, ranges of its symbols?
#pragma once

#include <span>

#include "pt2/guards.h"
#include "pt2/program.h"
#include "pt2/value.h"

namespace pt2::run {

// Binds the symbols of the inputs' sizes to the numbers of this call and compares everything else
// with them (torch/_export/utils.py, _check_input_constraints_for_graph), then checks the guards,
// as the _guards_fn of torch/export/_unlift.py does. `inputs` has one value per user input; `names`
// are user_input_names. Error `argument` naming input, dimension, what was found and what is
// allowed.
Result<void> check_inputs(const Program& program, std::span<const Guard> guards,
                          std::span<const Value> inputs, std::span<const std::string> names);

// The guards of the program that are understood; PyTorch may add forms, and a program runs without
// them.
std::vector<Guard> parse_guards(const Program& program);

}  // namespace pt2::run
