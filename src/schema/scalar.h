// One JSON token into one scalar of the schema.
#ifndef PT2_SCHEMA_SCALAR_H
#define PT2_SCHEMA_SCALAR_H

#include <string_view>

#include "schema/profile.h"
#include "schema/type.h"

namespace pt2::schema {

// What is remarkable about a token; all false for nearly every token.
struct ScalarNote {
  std::string_view expected = {};  // not empty: the token is of another type, and this is the type
  bool unusual = false;            // the encoder would spell the value differently
  bool nonstandard = false;  // a non-finite float in a spelling that its version does not write
  bool lone_surrogate = false;
  bool unknown_enumerator = false;
};

// `type` is a boolean, integer, number, string or enumeration. `has_special_bytes`: the text has
// bytes from 0x7F on somewhere, so strings without escapes may be unusual too.
ScalarNote read_scalar(std::string_view token, const Type& type, void* out, const Profile& profile,
                       bool has_special_bytes);

// Whether a token that starts like this one can be a `type` at all; chooses between the types that
// a key had.
bool may_be(const Type& type, std::string_view token);

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_SCALAR_H
