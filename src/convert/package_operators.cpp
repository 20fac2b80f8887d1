#include "convert/package_operators.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "ir/graph_place.h"
#include "ir/target.h"

namespace pt2 {
namespace {

// Namespaces that `import torch` registers in 2.6 to 2.15 (torch._C._jit_get_all_schemas). Names
// that begin with '_' belong to parts of PyTorch.
constexpr std::string_view kOfPyTorch[] = {"aten",
                                           "c10d",
                                           "cuda",
                                           "debugprims",
                                           "export",
                                           "fsdp",
                                           "inductor",
                                           "inductor_prims",
                                           "mkl",
                                           "mkldnn",
                                           "mkldnn_prepacked",
                                           "onednn",
                                           "onnx",
                                           "prim",
                                           "prims",
                                           "profiler",
                                           "quantization",
                                           "quantized",
                                           "rngprims",
                                           "sparse",
                                           "static_runtime",
                                           "symm_mem"};

bool belongs_to_package(std::string_view target) {
  const std::string_view library = target_namespace(target);
  return !library.empty() && !library.starts_with('_') &&
         std::ranges::find(kOfPyTorch, library) == std::end(kOfPyTorch);
}

}  // namespace

std::vector<std::string> package_operators(const Program& program) {
  std::set<std::string> found;
  for (const PlacedGraph& placed : placed_graphs(program))
    for (const NodeId id : placed.graph->nodes())
      if (const std::string& target = placed.graph->node(id).target; belongs_to_package(target))
        found.insert(target);
  return {found.begin(), found.end()};
}

}  // namespace pt2
