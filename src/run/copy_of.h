// Copies of values: later nodes may write to the memory of the original.
#ifndef PT2_RUN_COPY_OF_H
#define PT2_RUN_COPY_OF_H

#include "pt2/value.h"

namespace pt2 {

// Returns a tensor in memory of its own; other values are returned as they are.
inline Value copy_of(const Value& value) {
  const auto* tensor = value.get_if<Tensor>();
  return tensor == nullptr || !tensor->defined() ? value : Value(tensor->clone());
}

}  // namespace pt2

#endif  // PT2_RUN_COPY_OF_H
