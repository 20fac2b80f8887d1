// Binds the arguments that a file gives (by name, without defaults) to a signature: puts them in
// its order and converts them to its types.
#ifndef PT2_OPS_BIND_H
#define PT2_OPS_BIND_H

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/signature.h"
#include "pt2/value.h"

namespace pt2::ops {

// The type as text, "Tensor?[]".
std::string type_name(const ArgumentType& type);
// True if the value has the type without any conversion. A tensor must be defined.
bool fits(const ArgumentType& type, const Value& value);

// The types of devices that torch.device knows.
std::span<const std::string_view> device_types();
// Returns the device that the text names for torch.device, "cuda:0"; nothing if there is none.
std::optional<Device> find_device(std::string_view text);

// The index of the parameter that receives an argument: found by name, or by position if the
// argument has no name. Error `invalid` if the signature has no such parameter.
Result<size_t> parameter_index(const Signature& signature, std::string_view argument_name,
                               size_t position);
// The default of a parameter that the file omits. Error `invalid` if the parameter is required, or
// if the default in the signature is not a value of the parameter's type.
Result<Value> default_value(const Parameter& parameter);
// Converts the value to the parameter's type: an int to a float, one int to int[2], and so on.
// Error `invalid`, naming both types, if it does not fit. Symbolic numbers must already be
// evaluated to an int, float or bool.
Result<Value> coerce(const Parameter& parameter, Value value);

// The arguments in the order of the signature, coerced; trailing parameters without an argument
// take their defaults.
Result<std::vector<Value>> bind_in_order(const Signature& signature,
                                         std::span<const Value> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_BIND_H
