// The spelling of a file beyond the values of a struct. Used only by the codec: the decoder records
// it, the encoder reproduces it.
#ifndef PT2_SCHEMA_TRACE_H
#define PT2_SCHEMA_TRACE_H

#include <cstdint>
#include <string>
#include <vector>

#include "pt2/format/schema.h"

namespace pt2::schema {

class Trace {
 public:
  // A key of the struct in the file; fields are in the file's order.
  struct Field {
    int member = -1;   // index into Type::members; -1: unknown
    std::string key;   // as spelled, without quotes
    std::string json;  // the value of an unknown member
  };
  // An unusually spelled value directly in this struct, not in a nested struct.
  struct Spelling {
    std::string path;   // from the struct: ".arg.as_floats[3]"
    std::string usual;  // the encoder's spelling; while it is still the same, `spelled` is written
    std::string spelled;  // the file's spelling
  };

  std::vector<Field> fields;  // empty: the usual keys in the usual order
  std::vector<Spelling> spellings;
  // Only for the outermost struct: the spelling of the whole file.
  bool compact = false;   // no blanks after commas and colons
  bool raw_utf8 = false;  // text beyond ASCII is not escaped as \uXXXX
};

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_TRACE_H
