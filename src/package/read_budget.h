// Limits the bytes that a reader of all elements of a file's tensors may read.
#ifndef PT2_PACKAGE_READ_BUDGET_H
#define PT2_PACKAGE_READ_BUDGET_H

#include <span>
#include <string>
#include <utility>

#include "pt2/package.h"

namespace pt2 {

// A file may name the same few bytes often, and a stride of 0 makes many elements of one. Honest
// files read each byte about once. The budget is twice the bytes of the file's storages, plus a
// constant for small files that repeat bytes.
class ReadBudget {
 public:
  explicit ReadBudget(const Payloads& payloads);

  // False if the tensor is larger than the rest of the budget.
  bool take(const Tensor& tensor);
  // Same as take(), but returns an Error `limit` that names the tensor.
  Result<void> check(const std::string& name, const Tensor& tensor);

 private:
  friend Result<void> check_elements(std::span<const std::pair<std::string, Tensor>> tensors);
  explicit ReadBudget(uint64_t left) : left_(left) {}

  uint64_t left_;
};

// Error `limit` if these tensors together stand for too many bytes to read.
Result<void> check_elements(std::span<const std::pair<std::string, Tensor>> tensors);

}  // namespace pt2

#endif  // PT2_PACKAGE_READ_BUDGET_H
