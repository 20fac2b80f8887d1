#include "models.h"

NB_MODULE(_native, module) {
#if defined(__x86_64__) && defined(__GNUC__)
  // The minimum instruction set of the wheel's kernels (CMakeLists.txt).
  if (!__builtin_cpu_supports("sse4.2")) throw nanobind::import_error("pt2 needs SSE4.2");
#endif
  nanobind::set_leak_warnings(false);  // sessions may outlive the interpreter's clean-up
  pt2::python::add_tensor_class(module);
  pt2::python::add_model_classes(module);
  pt2::python::add_decoder_class(module);
  pt2::python::add_functions(module);
  module.attr("version") = PT2_VERSION;
}
