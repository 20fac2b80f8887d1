#include "decode/shared_weights.h"

#include <cstring>

#include "base/mapped_file.h"

namespace pt2::decode {

bool SharedWeights::are_equal(const Storage& earlier, const Storage& later) {
  if (&earlier == &later) return true;
  const auto [entry, is_new] = compared_.try_emplace({&earlier, &later}, false);
  if (!is_new) return entry->second;
  entry->second =
      earlier.size() == later.size() &&
      (later.size() == 0 || std::memcmp(earlier.data(), later.data(), later.size()) == 0);
  if (entry->second) {
    shared_bytes_ += later.size();
    release_pages({later.data(), later.size()});
  }
  return entry->second;
}

Tensor SharedWeights::find(const PayloadTensor& weight) {
  const Tensor& later = weight.tensor;
  if (!later.defined()) return {};
  for (const auto& file : files_) {
    const PayloadTensor* other = file->find(weight.kind, weight.name);
    if (other == nullptr || !other->tensor.defined()) continue;
    const Tensor& earlier = other->tensor;
    if (earlier.dtype() == later.dtype() && earlier.sizes() == later.sizes() &&
        earlier.strides() == later.strides() &&
        earlier.storage_offset() == later.storage_offset() &&
        are_equal(*earlier.storage(), *later.storage()))
      return earlier;
  }
  return {};
}

}  // namespace pt2::decode
