// Python's classes and functions.
#ifndef PT2_PYTHON_MODELS_H
#define PT2_PYTHON_MODELS_H

#include "leaves.h"
#include "pt2/limits.h"
#include "pt2/ops/custom_operators.h"
#include "pt2/run_options.h"

namespace pt2::python {

// Adds Decoder.
void add_decoder_class(nb::module_& module);
// Adds Model, Session and Operators.
void add_model_classes(nb::module_& module);
// Adds verify, convert, json, dis, operators, command.
void add_functions(nb::module_& module);

// Returns the result of body(), which runs without the interpreter's lock.
template <class F>
auto released(const F& body) {
  const nb::gil_scoped_release release;
  return body();
}

// Takes "planned" or "reference".
EngineKind engine_from(const std::string& name);
// Takes an Operators object, or None.
CustomOperators operators_from(nb::handle operators);
// Returns Limits{} with the entries of `limits`, which dict() takes, or None.
Limits limits_from(nb::handle limits);

}  // namespace pt2::python

#endif  // PT2_PYTHON_MODELS_H
