// The JSON spelling of each schema version, apart from its fields: the behaviour of PyTorch's
// serialize.py of that time.
#ifndef PT2_SCHEMA_PROFILE_H
#define PT2_SCHEMA_PROFILE_H

#include <string_view>

#include "pt2/format/schema.h"

namespace pt2::schema {

enum class UnionSpelling : uint8_t {
  all_alternatives,  // dataclasses.asdict: {"as_none": null, "as_int": 3, ...}
  type_and_value,    // {"$type": "as_int", "$value": 3}
  single_key,        // {"as_int": 3}
};

struct Profile {
  int version;
  UnionSpelling unions;
  bool omits_null;         // omits null fields whose default is null
  bool none_is_list;       // as_none is [], the empty tuple, instead of true
  bool quotes_non_finite;  // "Infinity" instead of a bare Infinity
  bool plain_version;      // "schema_version": 2
  // Observed in each file, not determined by its version; see Trace.
  bool compact = false;
  bool raw_utf8 = false;
};

constexpr Profile profile_of(int version) {
  return {
      .version = version,
      .unions = version < 300   ? UnionSpelling::all_alternatives
                : version < 501 ? UnionSpelling::type_and_value
                                : UnionSpelling::single_key,
      .omits_null = version >= 300 && version < 803,
      .none_is_list = version < 802,
      .quotes_non_finite = version >= 807,
      .plain_version = version < 300,
  };
}

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_PROFILE_H
