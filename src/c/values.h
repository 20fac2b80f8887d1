// Values and tensors as C has them.
#ifndef PT2_C_VALUES_H
#define PT2_C_VALUES_H

#include <optional>
#include <vector>

#include "c/border.h"
#include "c/dlpack_abi.h"
#include "pt2/value.h"

struct pt2_value {
  pt2::Value value;
  // Of a list: how deep lists lie in it, and how many values all of them hold.
  uint32_t depth = 0;
  uint64_t items = 1;
};

namespace pt2::c {

pt2_dtype to_c(Dtype dtype);
std::optional<Dtype> from_c(pt2_dtype dtype);

// A tensor over the view's memory. Errors `argument`: a dtype that does not exist, sizes that are
// negative or overflow, no memory where there are elements, elements that are not aligned.
Result<Tensor> read_view(const pt2_tensor_view* view, std::shared_ptr<const void> owner);
// Pointers live as long as the tensor stays where it is.
pt2_tensor_view view_of(const Tensor& tensor);

// The tensor shares the memory of `managed`, whose deleter is called when the last user is gone;
// not if this fails.
Result<Tensor> from_dlpack(DLManagedTensorVersioned* managed);
Result<Tensor> from_dlpack(DLManagedTensor* managed);
// `Managed` is either of the two. Never fails but by std::bad_alloc.
template <class Managed>
Managed* to_dlpack(Tensor tensor);

// An owned handle; throws std::bad_alloc alone.
pt2_value* make_value(Value value);

// Handles that are freed with it; whoever takes one leaves NULL in its place.
class OwnedValues {
 public:
  explicit OwnedValues(size_t count) : values_(count) {}
  OwnedValues(const OwnedValues&) = delete;
  OwnedValues& operator=(const OwnedValues&) = delete;
  ~OwnedValues() {
    for (pt2_value* value : values_) pt2_value_free(value);
  }
  std::vector<pt2_value*>& values() { return values_; }

 private:
  std::vector<pt2_value*> values_;
};

}  // namespace pt2::c

#endif  // PT2_C_VALUES_H
