// What a file may cost before it is refused. Every number a file states is checked against these,
// and against the file's real size, before anything is allocated for it.
#ifndef PT2_LIMITS_H
#define PT2_LIMITS_H

#include <cstdint>

namespace pt2 {

struct Limits {
  // The largest model packages seen have some thousand records; a directory of millions is an
  // attack on memory.
  uint64_t max_entries = 1'000'000;
  // PyTorchFileWriter's own limit is 65535; no real name comes near.
  uint32_t max_name_bytes = 4096;
  // A deflated record inflates in memory: bound what one may become, and by which factor it may
  // grow.
  uint64_t max_inflated_bytes = 1ull << 30;
  uint64_t max_inflate_ratio = 200;
  // The whole program is decoded into memory; 24-layer transformers have 1.4 MB, the largest seen
  // some 100 MB.
  uint64_t max_json_bytes = 1ull << 30;
  // Nested sub-graphs cost about 12 levels each; Python's own recursion limit stops torch near 300.
  uint32_t max_json_depth = 512;
  // One opcode is at least one byte, so this bounds time by size; state dicts have some 20 opcodes
  // a tensor.
  uint64_t max_pickle_opcodes = 50'000'000;
  uint32_t max_pickle_depth = 1000;
  // What a pickle's values may take in memory, storages aside: one byte of a pickle can make a
  // whole object, and a list named many times within another multiplies. A state dict takes some 2
  // KB a tensor.
  uint64_t max_pickle_memory = 256ull << 20;
  // Tensors saved without elements become zeros of whatever size the file says. The zeros of one
  // program take address space alone, but time when they are computed with.
  uint64_t max_fake_bytes = 16ull << 30;
  // Sum of what may be allocated for one run's intermediate tensors.
  uint64_t max_tensor_bytes = 1ull << 40;
  // Rounds of all loops of one call together (while_loop, scan, map, vmap): a condition that never
  // turns false would run forever.
  uint64_t max_loop_rounds = 10'000'000;
  // Nodes that passes may add to a program, counted in nodes of the usual size: unrolled vmap
  // regions, views that are written through and nested derivatives multiply. torch.export.load
  // takes about a millisecond for each.
  uint64_t max_new_nodes = 100'000;
};

}  // namespace pt2

#endif  // PT2_LIMITS_H
