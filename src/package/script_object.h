// Instances of C++ classes among a program's constants, as values for operators that take them.
#pragma once

#include "pt2/pickle.h"
#include "pt2/value.h"

namespace pt2 {

// What a pickled torch.ScriptObject holds: numbers, text, tensors, None and lists of these; a dict
// is a list of pairs, a quantized tensor the list of its integers and of what its quantizer is made
// of: scale and zero point, or scales, zero points and axis. Errors: unsupported (a value of
// another kind, a tensor without elements), limit (nested too deeply, or too many values).
Result<Object> script_object(const PickleValue& value);

}  // namespace pt2
