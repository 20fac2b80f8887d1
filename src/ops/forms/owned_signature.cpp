#include "ops/forms/owned_signature.h"

namespace pt2::ops {

OwnedSignature::OwnedSignature(std::string signature_text) : text(std::move(signature_text)) {
  const ParsedSignature parsed = SignatureParser(text).parse();
  fault = parsed.fault;
  fault_position = parsed.fault_position;
  if (fault != nullptr) return;
  parameters.assign(parsed.parameters.begin(), parsed.parameters.begin() + parsed.parameter_count);
  returns.assign(parsed.returns.begin(), parsed.returns.begin() + parsed.return_count);
  signature = {parsed.text,        parsed.name,    parsed.overload,
               parameters.data(),  returns.data(), parsed.parameter_count,
               parsed.return_count};
}

}  // namespace pt2::ops
