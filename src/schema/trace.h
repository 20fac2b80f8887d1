// What a file said beyond the values of a struct. Only the codec uses it: the decoder records it,
// the encoder reproduces it.
#ifndef PT2_SCHEMA_TRACE_H
#define PT2_SCHEMA_TRACE_H

#include <cstdint>
#include <string>
#include <vector>

#include "pt2/format/schema.h"

namespace pt2::schema {

class Trace {
 public:
  // A key of the struct as the file had it, in the file's order.
  struct Field {
    int member = -1;   // index into Type::members; -1: unknown
    std::string key;   // as spelled, without quotes
    std::string json;  // the value of an unknown member
  };
  // A value directly in this struct, not in a nested one, that the file spells unusually.
  struct Spelling {
    std::string path;     // from the struct: ".arg.as_floats[3]"
    std::string usual;    // the encoder's spelling; while it still is, `spelled` is written
    std::string spelled;  // what the file has instead
  };

  std::vector<Field> fields;  // empty: the usual keys in the usual order
  std::vector<Spelling> spellings;
  // Of the outermost struct only: how the whole file is written.
  bool compact = false;   // no blanks after commas and colons
  bool raw_utf8 = false;  // text beyond ASCII as it is, not as \uXXXX
};

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_TRACE_H
