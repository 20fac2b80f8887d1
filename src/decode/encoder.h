// The program of an encoder-decoder that reads what the decoder then looks at, once for all tokens.
#ifndef PT2_DECODE_ENCODER_H
#define PT2_DECODE_ENCODER_H

#include <string_view>

#include "decode/batch.h"
#include "pt2/model.h"

namespace pt2::decode {

// What the program is called.
constexpr std::string_view kEncoder = "encoder";

// Runs it on what `batch` has of its inputs, and writes what is encoded into `batch`. Errors:
// `argument` for an input that is not given, those of Session::run.
Result<void> encode(const Model& encoder, unsigned threads, const CallOptions& options,
                    Batch& batch);

}  // namespace pt2::decode

#endif  // PT2_DECODE_ENCODER_H
