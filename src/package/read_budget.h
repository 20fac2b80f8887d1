// What whoever reads all elements of a file's tensors may read.
#ifndef PT2_PACKAGE_READ_BUDGET_H
#define PT2_PACKAGE_READ_BUDGET_H

#include <span>
#include <string>
#include <utility>

#include "pt2/package.h"

namespace pt2 {

// A file may name the same few bytes often, and let a stride of 0 make many elements of one; honest
// files read each byte about once. The budget is twice the bytes of the file's storages, and some
// for what small files repeat.
class ReadBudget {
 public:
  explicit ReadBudget(const Payloads& payloads);

  // False for a tensor that is too large for what is left.
  bool take(const Tensor& tensor);
  // The same as an Error `limit` that names it.
  Result<void> check(const std::string& name, const Tensor& tensor);

 private:
  friend Result<void> check_elements(std::span<const std::pair<std::string, Tensor>> tensors);
  explicit ReadBudget(uint64_t left) : left_(left) {}

  uint64_t left_;
};

// Error `limit` where these tensors together stand for too many bytes to read each.
Result<void> check_elements(std::span<const std::pair<std::string, Tensor>> tensors);

}  // namespace pt2

#endif  // PT2_PACKAGE_READ_BUDGET_H
