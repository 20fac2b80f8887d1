// What a file said beyond the values of a struct. Only the codec looks at it: the decoder notes,
// the encoder obeys.
#ifndef PT2_SCHEMA_TRACE_H
#define PT2_SCHEMA_TRACE_H

#include <cstdint>
#include <string>
#include <vector>

#include "pt2/schema.h"

namespace pt2::schema {

class Trace {
 public:
  // A key of the struct as the file had it, in the file's order.
  struct Field {
    int member = -1;   // index into Type::members; -1: nobody knows it
    std::string key;   // as spelled, without quotes
    std::string json;  // the value of an unknown member
  };
  // A value inside this struct, and in no struct deeper, that the file spells in a way of its own.
  struct Spelling {
    std::string path;     // from the struct: ".arg.as_floats[3]"
    std::string usual;    // what the encoder would write; obeyed only while it still would
    std::string spelled;  // what the file has instead
  };

  std::vector<Field> fields;  // empty: the usual keys in the usual order
  std::vector<Spelling> spellings;
  // Of the outermost struct: how the whole file is written.
  bool compact = false;   // no blanks after commas and colons
  bool raw_utf8 = false;  // text beyond ASCII as it is, not as \uXXXX
};

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_TRACE_H
