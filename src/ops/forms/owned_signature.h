// A signature created at run time that owns its text: for custom operators and derived forms.
#ifndef PT2_OPS_FORMS_OWNED_SIGNATURE_H
#define PT2_OPS_FORMS_OWNED_SIGNATURE_H

#include <string>
#include <vector>

#include "ops/signature.h"

namespace pt2::ops {

// Must not be moved, because `signature` points into the object.
struct OwnedSignature {
  std::string text;
  std::vector<Parameter> parameters;
  std::vector<ArgumentType> returns;
  Signature signature;
  // The first fault of the text, as in ParsedSignature; null if there is none.
  const char* fault = nullptr;
  size_t fault_position = 0;

  explicit OwnedSignature(std::string signature_text);
  OwnedSignature(const OwnedSignature&) = delete;
  OwnedSignature& operator=(const OwnedSignature&) = delete;
};

}  // namespace pt2::ops

#endif  // PT2_OPS_FORMS_OWNED_SIGNATURE_H
