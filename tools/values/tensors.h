// The tensors of a file: weights, constants and sample inputs.
#ifndef PT2_TOOLS_VALUES_TENSORS_H
#define PT2_TOOLS_VALUES_TENSORS_H

#include <string>
#include <string_view>
#include <vector>

#include "pt2/package.h"
#include "tools/command.h"

namespace pt2::tools {

struct ListedTensor {
  std::string_view payload;  // "weights", "constants", "sample_inputs"
  std::string name;
  Tensor tensor;
  size_t storage = 0;  // within a payload, equal numbers share memory
  bool requires_grad = false;
  bool is_parameter = false;
};

// Content of a payload other than tensors with elements.
struct ListedObject {
  std::string_view payload;
  std::string name;
  std::string type;
};

struct TensorList {
  Pickle samples;  // owns the sample inputs
  std::vector<ListedTensor> tensors;
  std::vector<ListedObject> others;
};

Result<TensorList> read_tensor_list(const Package& package, const std::string& model,
                                    Environment& environment);

// Returns the CRC-32 of the elements in row-major order.
uint32_t content_crc32(const Tensor& tensor);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_VALUES_TENSORS_H
