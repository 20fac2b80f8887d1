#include "ops/signature.h"

namespace pt2::ops {

std::string target_of(const Signature& signature) {
  const size_t colon = signature.name.find("::");
  if (colon == std::string_view::npos)
    return std::string(signature.name) + (signature.overload.empty() ? "" : ".") +
           std::string(signature.overload);
  std::string out = "torch.ops.";
  out += signature.name.substr(0, colon);
  out += '.';
  out += signature.name.substr(colon + 2);
  out += '.';
  out += signature.overload.empty() ? "default" : signature.overload;
  return out;
}

}  // namespace pt2::ops
