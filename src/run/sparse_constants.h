// Constants stored in a sparse layout. libpt2 has no sparse tensors; a program can still run if its
// first operation makes the constant dense.
#ifndef PT2_RUN_SPARSE_CONSTANTS_H
#define PT2_RUN_SPARSE_CONSTANTS_H

#include "pt2/ir/graph.h"
#include "pt2/limits.h"
#include "pt2/package.h"

namespace pt2::run {

// True if `payload` is a COO tensor whose indices and values were read.
bool is_sparse_coo(const PayloadTensor& payload);

// Returns the dense tensor that `payload` represents; repeated indices are summed
// (Tensor.coalesce). `input` is its name in the graph. Errors: `unsupported` if a node uses it
// other than by aten.to_dense, `invalid` if an index is out of range, `limit` if the tensor is
// larger than Limits::max_fake_bytes.
Result<Tensor> dense_constant(const Graph& graph, std::string_view input,
                              const PayloadTensor& payload, const Limits& limits);

}  // namespace pt2::run

#endif  // PT2_RUN_SPARSE_CONSTANTS_H
