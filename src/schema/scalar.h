// Reads one JSON token as one scalar of the schema.
#ifndef PT2_SCHEMA_SCALAR_H
#define PT2_SCHEMA_SCALAR_H

#include <string_view>

#include "schema/profile.h"
#include "schema/type.h"

namespace pt2::schema {

// Unusual properties of a token; nearly every token has none.
struct ScalarNote {
  std::string_view expected = {};  // if the token has another type: the type expected instead
  bool unusual = false;            // the encoder would spell the value differently
  bool nonstandard = false;        // a non-finite float in a spelling that the version does not use
  bool lone_surrogate = false;
  bool unknown_enumerator = false;
};

// `type` is a boolean, integer, number, string or enumeration. `has_special_bytes` is true if any
// byte of the text is 0x7F or above: then even strings without escapes may have an unusual
// spelling.
ScalarNote read_scalar(std::string_view token, const Type& type, void* out, const Profile& profile,
                       bool has_special_bytes);

// True if a token with this first character can be a `type`. Chooses between the types of a key
// whose type changed.
bool may_be(const Type& type, std::string_view token);

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_SCALAR_H
