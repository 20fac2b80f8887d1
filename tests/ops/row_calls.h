// Successful calls of every row of the operator table (recorded calls, variants of these, listed
// calls and made-up calls), and observations of a call's effects.
#ifndef PT2_TESTS_OPS_ROW_CALLS_H
#define PT2_TESTS_OPS_ROW_CALLS_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ops/table.h"
#include "pt2/value.h"

namespace pt2::ops {

using Arguments = std::vector<Value>;

struct Row {
  const OpDef* def = nullptr;
  std::string target;
  std::vector<Arguments> calls{};
  // True if in PyTorch a result of a recorded call shared memory with an argument.
  bool shares_in_pytorch = false;
};
Row row_of(const OpDef& def);
// "aten::sum.dim_IntList"
std::string schema_name(const Signature& signature);
// Returns the rows that meet the condition, in the order of the table.
std::vector<Row> rows_where(const std::function<bool(const OpDef&)>& condition);

struct Observed {
  Arguments arguments{};  // after the call
  std::vector<Value> results{};
  bool drew = false;  // random numbers; or printed
};
// Makes the call with copies_of() the arguments. Nothing (nullopt) if the call fails.
std::optional<Observed> observe(const OpDef& def, const Arguments& arguments);

// Returns copies that share memory with each other where the originals do.
Arguments copies_of(const Arguments& arguments);

void for_each_tensor(const Value& value, const std::function<void(const Tensor&)>& visit);
// Returns the value with every tensor replaced by `change` of it.
Value with_tensors(const Value& value, const std::function<Tensor(const Tensor&)>& change);
bool is_floating(const Tensor& tensor);

// Compares dtypes, sizes and elements bit by bit, and numbers. Ignores strides.
bool are_equal(const Value& a, const Value& b);
bool are_equal(const std::vector<Value>& a, const std::vector<Value>& b);
// As are_equal, with a tolerance for floating and complex elements.
bool are_close(const Value& a, const Value& b);
// True if both have elements and these lie in the same storage.
bool shares_memory(const Value& a, const Value& b);
bool has_elements(const Value& value);

// Returns a row-major tensor with other elements. Floating ones are non-integers between -3 and 3.
Tensor with_other_elements(const Tensor& tensor, uint64_t seed);

}  // namespace pt2::ops

#endif  // PT2_TESTS_OPS_ROW_CALLS_H
