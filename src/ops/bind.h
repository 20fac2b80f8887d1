// From the arguments as a file gives them (by name, defaults left out) to the order and kinds of a
// signature.
#ifndef PT2_OPS_BIND_H
#define PT2_OPS_BIND_H

#include <span>
#include <string_view>
#include <vector>

#include "ops/signature.h"
#include "pt2/value.h"

namespace pt2::ops {

// "Tensor?[]".
std::string type_name(const ArgumentType& type);
// Whether the value is of the type as it stands, without any conversion. A tensor must be defined.
bool fits(const ArgumentType& type, const Value& value);

// The index of the parameter that an argument goes to: by name, or by position when it has no name.
// Error `invalid` when the signature has no such parameter.
Result<size_t> parameter_index(const Signature& signature, std::string_view argument_name,
                               size_t position);
// What a parameter gets when the file is silent. Error `invalid` when it is required, or when the
// signature's text for it is no value of the parameter's type.
Result<Value> default_value(const Parameter& parameter);
// The value in the kind that the parameter needs: an int where a float is wanted, one int for
// int[2], and so on. Error `invalid`, naming both kinds, when it does not fit. A symbolic number is
// an int, float or bool here.
Result<Value> coerce(const Parameter& parameter, Value value);

// Arguments in the order of the signature, coerced; those left out at the end take their defaults.
Result<std::vector<Value>> bind_in_order(const Signature& signature,
                                         std::span<const Value> arguments);

}  // namespace pt2::ops

#endif  // PT2_OPS_BIND_H
