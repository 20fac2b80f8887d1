// Instances of C++ classes among a program's constants, as values for the operators that take them.
#ifndef PT2_PACKAGE_SCRIPT_OBJECT_H
#define PT2_PACKAGE_SCRIPT_OBJECT_H

#include "pt2/format/pickle.h"
#include "pt2/format/pickle_write.h"
#include "pt2/value.h"

namespace pt2 {

// Converts a pickled torch.ScriptObject. The values of the result take their memory from
// `bytes_left`. Its state may hold numbers, text, tensors, None and lists
// of these. A dict becomes a list of pairs. A quantized tensor becomes a list of its integers and
// the parameters of its quantizer: scale and zero point, or scales, zero points and axis. Errors:
// unsupported (a value of another kind, a tensor without elements), limit (nested too deeply, or
// too large).
Result<Object> script_object(const PickleValue& value, uint64_t& bytes_left);

// Converts a pickled torch.Generator; the state of the result is the tensor of get_state(). Errors:
// invalid (a state that PyTorch refuses too), unsupported (a device other than the CPU).
Result<Object> generator_object(const PickleValue& value);

// Returns the state of an object in the form of TorchScript's own pickles, where lists state their
// element type (torch.save leaves it to the class). Empty and mixed lists state none. Takes its
// memory from `bytes_left`. Errors: limit. Imitates torch/csrc/jit/serialization/pickler.cpp,
// pushIValueImpl.
Result<PickleValue> typed_state(PickleBuilder& builder, const PickleValue& state,
                                uint64_t& bytes_left);

}  // namespace pt2

#endif  // PT2_PACKAGE_SCRIPT_OBJECT_H
