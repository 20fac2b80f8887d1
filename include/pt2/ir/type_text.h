// The types of a program's inputs and outputs as people write them: "f32[s77 1..1024, 1, 8, 8]".
#ifndef PT2_IR_TYPE_TEXT_H
#define PT2_IR_TYPE_TEXT_H

#include <string>

#include "pt2/ir/program.h"

namespace pt2 {

// A symbol is followed by its range where the program constrains it, once in each text.
std::string type_text(const Program& program, const TensorMeta& meta);
// The same without ranges.
std::string type_text(const TensorMeta& meta);
// Of what a spec names: a tensor, "int s86", "int 3" for constants, "none", a class name.
std::string type_text(const Program& program, const ArgumentSpec& spec);
// "f32", or "dtype 99" for a number that is not known here.
std::string dtype_text(ScalarType dtype);

}  // namespace pt2

#endif  // PT2_IR_TYPE_TEXT_H
