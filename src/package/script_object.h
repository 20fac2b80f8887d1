// Instances of C++ classes among a program's constants, as values for operators that take them.
#ifndef PT2_PACKAGE_SCRIPT_OBJECT_H
#define PT2_PACKAGE_SCRIPT_OBJECT_H

#include "pt2/pickle.h"
#include "pt2/pickle_write.h"
#include "pt2/value.h"

namespace pt2 {

// What a pickled torch.ScriptObject holds: numbers, text, tensors, None and lists of these; a dict
// is a list of pairs, a quantized tensor the list of its integers and of what its quantizer is made
// of: scale and zero point, or scales, zero points and axis. Errors: unsupported (a value of
// another kind, a tensor without elements), limit (nested too deeply, or too many values).
Result<Object> script_object(const PickleValue& value);

// The state of an object as TorchScript's own pickles have it, where lists say of what they are:
// torch.save leaves that to the class. Lists without elements, or with elements of several types,
// say nothing. Errors: limit. Imitates torch/csrc/jit/serialization/pickler.cpp, pushIValueImpl.
Result<PickleValue> typed_state(PickleBuilder& builder, const PickleValue& state);

}  // namespace pt2

#endif  // PT2_PACKAGE_SCRIPT_OBJECT_H
