// Programs exported from one model have its weights each. Those of equal content are taken from one
// of the files only, so that memory holds them once.
#ifndef PT2_DECODE_SHARED_WEIGHTS_H
#define PT2_DECODE_SHARED_WEIGHTS_H

#include <map>
#include <memory>
#include <utility>

#include "pt2/package.h"

namespace pt2::decode {

class SharedWeights {
 public:
  // Weights are offered in the order of the files.
  void add(std::shared_ptr<const Payloads> payloads) { files_.push_back(std::move(payloads)); }
  // A weight of an earlier file with this name, dtype, sizes and elements; an undefined tensor
  // where there is none. Reads the elements of both, the later one's pages are given back.
  Tensor find(const PayloadTensor& weight);
  // Of what was found, each storage once.
  uint64_t shared_bytes() const { return shared_bytes_; }

 private:
  bool are_equal(const Storage& earlier, const Storage& later);

  std::vector<std::shared_ptr<const Payloads>> files_;
  std::map<std::pair<const Storage*, const Storage*>, bool> compared_;
  uint64_t shared_bytes_ = 0;
};

}  // namespace pt2::decode

#endif  // PT2_DECODE_SHARED_WEIGHTS_H
