// The encoder of an encoder-decoder program pair. It runs once; the decoder uses its results for
// all tokens.
#ifndef PT2_DECODE_ENCODER_H
#define PT2_DECODE_ENCODER_H

#include <string_view>

#include "decode/batch.h"
#include "pt2/model.h"

namespace pt2::decode {

// The program's name.
constexpr std::string_view kEncoder = "encoder";

// Runs the encoder on the inputs in `batch`, and writes the results into `batch`. Errors:
// `argument` for an input that is not given; those of Session::run.
Result<void> encode(const Model& encoder, unsigned threads, const CallOptions& options,
                    Batch& batch);

}  // namespace pt2::decode

#endif  // PT2_DECODE_ENCODER_H
