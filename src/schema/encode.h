// Encodes a value as JSON in a given spelling. Shared by the public encode functions and the
// decoder's spelling notes.
#ifndef PT2_SCHEMA_ENCODE_H
#define PT2_SCHEMA_ENCODE_H

#include <string>

#include "base/json.h"
#include "schema/profile.h"
#include "schema/type.h"

namespace pt2::schema {

std::string encode_as(const Type& type, const void* value, const Profile& profile, JsonStyle style);

// True if a member's value differs from its default, so that it must be written even if its version
// has no such field.
bool is_set(const Member& member, const void* owner);

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_ENCODE_H
