// Values for the symbols of a program: those of the exported example, and others that its ranges
// allow.
#pragma once

#include <optional>
#include <vector>

#include "pt2/program.h"

namespace pt2::run {

struct SymbolSamples {
  // The recorded hints; symbols without one are not bound.
  SymbolBindings hints;
  // Every symbol is bound to a value of its range. No two symbols have equal values in all of them,
  // and half of the samples are multiples of 24, as conditions such as s0 % 8 == 0 want them.
  std::vector<SymbolBindings> others;
};

// Linear in the values of the program.
SymbolSamples sample_symbols(const Program& program);

}  // namespace pt2::run
