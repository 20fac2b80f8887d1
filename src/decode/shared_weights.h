// Shares weights between programs exported from one model, which each have a copy of the weights.
// Weights with equal content come from one file only, so memory holds them once.
#ifndef PT2_DECODE_SHARED_WEIGHTS_H
#define PT2_DECODE_SHARED_WEIGHTS_H

#include <map>
#include <memory>
#include <utility>

#include "pt2/package.h"

namespace pt2::decode {

class SharedWeights {
 public:
  // Adds a file. find() searches files in the order of add().
  void add(std::shared_ptr<const Payloads> payloads) { files_.push_back(std::move(payloads)); }
  // Returns the weight of an earlier file with the same name, dtype, sizes, strides, offset and
  // storage bytes; an undefined tensor if there is none. Reads both storages; releases the pages of
  // the later one.
  Tensor find(const PayloadTensor& weight);
  // Returns the bytes of the shared storages; each storage counts once.
  uint64_t shared_bytes() const { return shared_bytes_; }

 private:
  bool are_equal(const Storage& earlier, const Storage& later);

  std::vector<std::shared_ptr<const Payloads>> files_;
  std::map<std::pair<const Storage*, const Storage*>, bool> compared_;
  uint64_t shared_bytes_ = 0;
};

}  // namespace pt2::decode

#endif  // PT2_DECODE_SHARED_WEIGHTS_H
