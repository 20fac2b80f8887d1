// The dataclasses of the early draft as C++ types. They are made from draft.def, as those of
// schema.h are made from schema.def.
#ifndef PT2_FORMAT_DRAFT_TYPES_H
#define PT2_FORMAT_DRAFT_TYPES_H

#include "pt2/format/schema.h"

namespace pt2 {

namespace draft {

using schema::Alternatives;
using schema::Bool;
using schema::Box;
using schema::Dict;
using schema::Float;
using schema::Int;
using schema::List;
using schema::None;
using schema::String;
using schema::TraceHolder;
using schema::UnionOf;

struct GraphModule;

#define PT2_TABLE "pt2/format/draft.def"
#include "pt2/format/schema_types.def"

}  // namespace draft

}  // namespace pt2

#endif  // PT2_FORMAT_DRAFT_TYPES_H
