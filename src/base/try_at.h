// PT2_TRY for walking a structure: puts the step where reading failed before the error's place.
#ifndef PT2_BASE_TRY_AT_H
#define PT2_BASE_TRY_AT_H

#include "pt2/result.h"

// PT2_TRY_AT(Node node, fmt::format("[{}]", i), read_node(i)); `step` is evaluated on failure only.
#define PT2_TRY_AT(declaration, step, ...) \
  PT2_TRY_AT_IMPL_(PT2_JOIN(pt2_try_at_, __LINE__), declaration, step, __VA_ARGS__)
#define PT2_TRY_AT_IMPL_(result, declaration, step, ...)                      \
  auto result = (__VA_ARGS__);                                                \
  if (!result.has_value()) return ::pt2::at(std::move(result).error(), step); \
  declaration = *std::move(result)

#endif  // PT2_BASE_TRY_AT_H
