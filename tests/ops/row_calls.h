// Calls of every row of the operator table that succeed: recorded ones, some near them, listed
// ones, and made-up ones; and what can be seen of a call.
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
  // In PyTorch a result of a recorded call shared memory with an argument.
  bool shares_in_pytorch = false;
};
Row row_of(const OpDef& def);
// "aten::sum.dim_IntList"
std::string schema_name(const Signature& signature);
// In the order of the table.
std::vector<Row> rows_where(const std::function<bool(const OpDef&)>& condition);

struct Observed {
  Arguments arguments{};  // after the call
  std::vector<Value> results{};
  bool drew = false;
};
// Calls with copies of the arguments, which share memory where these do; nothing where it fails.
std::optional<Observed> observe(const OpDef& def, const Arguments& arguments);

// Copies that share memory where the originals do.
Arguments copies_of(const Arguments& arguments);

void for_each_tensor(const Value& value, const std::function<void(const Tensor&)>& visit);
// The value with every tensor replaced.
Value with_tensors(const Value& value, const std::function<Tensor(const Tensor&)>& change);
bool is_floating(const Tensor& tensor);

// Dtypes, sizes and elements, bit by bit, whatever the strides; numbers.
bool are_equal(const Value& a, const Value& b);
bool are_equal(const std::vector<Value>& a, const std::vector<Value>& b);
// The same with a tolerance for floating and complex elements.
bool are_close(const Value& a, const Value& b);
// Whether the elements, if there are any, lie in one storage.
bool shares_memory(const Value& a, const Value& b);
bool has_elements(const Value& value);

// Row-major, of other elements: floating ones are no integers and lie between -3 and 3.
Tensor with_other_elements(const Tensor& tensor, uint64_t seed);

}  // namespace pt2::ops

#endif  // PT2_TESTS_OPS_ROW_CALLS_H
