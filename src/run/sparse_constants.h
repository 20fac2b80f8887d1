// Constants that the file holds in a sparse layout. There are no sparse tensors here; a program
// that turns the constant into a dense one before anything else can still run.
#ifndef PT2_RUN_SPARSE_CONSTANTS_H
#define PT2_RUN_SPARSE_CONSTANTS_H

#include "pt2/graph.h"
#include "pt2/limits.h"
#include "pt2/package.h"

namespace pt2::run {

// Whether `payload` is a COO tensor whose indices and values were read.
bool is_sparse_coo(const PayloadTensor& payload);

// The dense tensor that `payload` stands for; places named several times hold the sum
// (Tensor.coalesce). `input` is the graph's name of it. Errors: `unsupported` when a node does
// anything else with it than aten.to_dense, `invalid` when indices lie outside, `limit` when it is
// larger than Limits::max_fake_bytes.
Result<Tensor> dense_constant(const Graph& graph, std::string_view input,
                              const PayloadTensor& payload, const Limits& limits);

}  // namespace pt2::run

#endif  // PT2_RUN_SPARSE_CONSTANTS_H
