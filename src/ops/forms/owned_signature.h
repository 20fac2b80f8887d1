// A signature that is made at run time and owns its text: of a custom operator, of a derived form.
#ifndef PT2_OPS_FORMS_OWNED_SIGNATURE_H
#define PT2_OPS_FORMS_OWNED_SIGNATURE_H

#include <string>
#include <vector>

#include "ops/signature.h"

namespace pt2::ops {

// Stays where it is made, for the signature points into it.
struct OwnedSignature {
  std::string text;
  std::vector<Parameter> parameters;
  std::vector<ArgumentType> returns;
  Signature signature;
  // As ParsedSignature: the first thing that is wrong with the text, null when nothing is.
  const char* fault = nullptr;
  size_t fault_position = 0;

  explicit OwnedSignature(std::string signature_text);
  OwnedSignature(const OwnedSignature&) = delete;
  OwnedSignature& operator=(const OwnedSignature&) = delete;
};

}  // namespace pt2::ops

#endif  // PT2_OPS_FORMS_OWNED_SIGNATURE_H
