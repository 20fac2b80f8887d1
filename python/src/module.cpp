#include "models.h"

NB_MODULE(_native, module) {
  nanobind::set_leak_warnings(false);  // sessions may outlive the interpreter's own clean-up
  pt2::python::add_tensor_class(module);
  pt2::python::add_model_classes(module);
  pt2::python::add_decoder_class(module);
  pt2::python::add_functions(module);
  module.attr("version") = PT2_VERSION;
}
