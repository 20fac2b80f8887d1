// Values as PyTorch and Python print them: torch/_tensor_str.py with its default options.
#ifndef PT2_RUN_REFERENCE_TENSOR_TEXT_H
#define PT2_RUN_REFERENCE_TENSOR_TEXT_H

#include <cstdint>
#include <string>

#include "pt2/value.h"

namespace pt2::run {

// The number of elements that tensor_text() prints: all of a small tensor, the first and last three
// along each dim of a large one. INT64_MAX if the number does not fit.
int64_t printed_elements(const Tensor& tensor);
// str(tensor): "tensor([1., 2.])". Time and memory in proportion to printed_elements().
std::string tensor_text(const Tensor& tensor);
// The same without elements, as PyTorch prints a tensor of device meta: "tensor(..., size=(2, 3))".
std::string tensor_size_text(const Tensor& tensor);

// str(value) of a number, text or list of these; tensors inside a list are printed as alone.
// `elements_left` is lowered by the elements that are printed; a tensor that has more is printed
// without them.
std::string value_text(const Value& value, int64_t& elements_left);

}  // namespace pt2::run

#endif  // PT2_RUN_REFERENCE_TENSOR_TEXT_H
