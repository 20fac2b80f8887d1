// Which inputs of a program share the memory of one stored tensor.
#ifndef PT2_PACKAGE_SHARED_MEMORY_H
#define PT2_PACKAGE_SHARED_MEMORY_H

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "pt2/ir/signature.h"
#include "pt2/package.h"

namespace pt2 {

// Returns a function that numbers the memory of an input's weight: equal numbers share it. Nothing
// for inputs without a stored tensor.
inline std::function<std::optional<size_t>(const InputSpec&)> storage_numbers(
    std::shared_ptr<const Payloads> payloads) {
  return [payloads = std::move(payloads)](const InputSpec& spec) -> std::optional<size_t> {
    const PayloadTensor* payload = payloads->bound_to(spec);
    if (payload == nullptr || !payload->missing.empty()) return std::nullopt;
    return payload->storage_group;
  };
}

}  // namespace pt2

#endif  // PT2_PACKAGE_SHARED_MEMORY_H
