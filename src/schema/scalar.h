// Reads one JSON token as one scalar of the schema.
#ifndef PT2_SCHEMA_SCALAR_H
#define PT2_SCHEMA_SCALAR_H

#include <string_view>

#include "schema/profile.h"
#include "schema/type.h"

namespace pt2::schema {

// Unusual properties of a token; nearly every token has none.
struct ScalarNote {
  std::string_view expected = {};  // not empty: the token is of another type, and this is the type
  bool unusual = false;            // the encoder would spell the value differently
  bool nonstandard = false;  // a non-finite float in a spelling that its version does not write
  bool lone_surrogate = false;
  bool unknown_enumerator = false;
};

// `type` is a boolean, integer, number, string or enumeration. `has_special_bytes`: somewhere in
// the text there are bytes from 0x7F on, so even strings without escapes may be spelled unusually.
ScalarNote read_scalar(std::string_view token, const Type& type, void* out, const Profile& profile,
                       bool has_special_bytes);

// Whether a token with this start can be a `type` at all; chooses between the types that a key has
// had.
bool may_be(const Type& type, std::string_view token);

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_SCALAR_H
