// The tensors for a payload whose elements the file holds, and their bytes.
#ifndef PT2_PACKAGE_HELD_TENSORS_H
#define PT2_PACKAGE_HELD_TENSORS_H

#include <cstdint>
#include <set>
#include <span>

#include "pt2/package.h"

namespace pt2 {

// Returns the tensor itself, or the parts of a sparse, quantized or subclass tensor; empty if they
// are missing.
inline std::span<const Tensor> held_tensors(const PayloadTensor& payload) {
  if (payload.tensor.defined()) return {&payload.tensor, 1};
  return payload.parts;
}

inline uint64_t held_bytes(const PayloadTensor& payload) {
  uint64_t bytes = 0;
  for (const Tensor& tensor : held_tensors(payload))
    bytes += static_cast<uint64_t>(tensor.nbytes());
  return bytes;
}

// Counts tensors that share a storage once.
class SeenStorages {
 public:
  bool add(const Tensor& tensor) { return seen_.insert(tensor.storage().get()).second; }

 private:
  std::set<const void*> seen_;
};

}  // namespace pt2

#endif  // PT2_PACKAGE_HELD_TENSORS_H
