// Values and tensors of the C interface.
#ifndef PT2_C_VALUES_H
#define PT2_C_VALUES_H

#include <optional>
#include <vector>

#include "c/border.h"
#include "c/dlpack_abi.h"
#include "pt2/value.h"

struct pt2_value {
  pt2::Value value;
  // Of a list: the depth of nested lists, and the number of values in all of them.
  uint32_t depth = 0;
  uint64_t items = 1;
};

namespace pt2::c {

pt2_dtype to_c(Dtype dtype);
std::optional<Dtype> from_c(pt2_dtype dtype);

// Returns a tensor over the view's memory. Errors `argument`: a dtype that does not exist, sizes
// that are negative or overflow, null memory for elements, elements that are not aligned.
Result<Tensor> read_view(const pt2_tensor_view* view, std::shared_ptr<const void> owner);
// The pointers are valid while the tensor stays at its address.
pt2_tensor_view view_of(const Tensor& tensor);

// Returns a tensor that shares the memory of `managed`, whose deleter is called after the last use;
// it is not called if this fails.
Result<Tensor> from_dlpack(DLManagedTensorVersioned* managed);
Result<Tensor> from_dlpack(DLManagedTensor* managed);
// `Managed` is either of the two. Fails only with std::bad_alloc.
template <class Managed>
Managed* to_dlpack(Tensor tensor);

// Returns an owned handle; throws only std::bad_alloc.
pt2_value* make_value(Value value);

// Handles that are freed with this object. Code that takes a handle leaves NULL in its place.
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
