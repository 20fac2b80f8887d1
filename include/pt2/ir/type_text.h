// Types of a program's inputs and outputs as text for people: "f32[s77 1..1024, 1, 8, 8]".
#ifndef PT2_IR_TYPE_TEXT_H
#define PT2_IR_TYPE_TEXT_H

#include <string>

#include "pt2/ir/program.h"

namespace pt2 {

// Returns the type of a tensor. If the program constrains a symbol, its range follows its first
// occurrence in the text.
std::string type_text(const Program& program, const TensorMeta& meta);
// As above, without ranges.
std::string type_text(const TensorMeta& meta);
// Returns the type of the value or constant of a spec: that of a tensor, "int s86", "int 3" for
// constants, "none", a class name.
std::string type_text(const Program& program, const ArgumentSpec& spec);
// Returns "f32", or "dtype 99" for an unknown number.
std::string dtype_text(ScalarType dtype);

}  // namespace pt2

#endif  // PT2_IR_TYPE_TEXT_H
