// A pass makes a program into another that computes the same, in a form that whoever uses it needs.
#pragma once

#include <string>
#include <vector>

#include "pt2/diagnostics.h"

namespace pt2 {

// Something of the program that has no such form.
struct PassFailure {
  std::string where{};  // in the program's JSON, before anything was changed; empty: `node` alone
  NodePlace node{};
  std::string text{};
};

struct PassResult {
  bool changed = false;
  std::vector<PassFailure> failures{};
};

}  // namespace pt2
