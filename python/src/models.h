// Models and sessions as Python has them.
#ifndef PT2_PYTHON_MODELS_H
#define PT2_PYTHON_MODELS_H

#include "leaves.h"
#include "pt2/limits.h"
#include "pt2/ops/custom_operators.h"
#include "pt2/run_options.h"

namespace pt2::python {

// Decoder.
void add_decoder_class(nb::module_& module);
// Model, Session and Operators.
void add_model_classes(nb::module_& module);
// verify, convert, json, dis, operators, command.
void add_functions(nb::module_& module);

// "planned" or "reference".
EngineKind engine_from(const std::string& name);
// Of an Operators object, or None.
CustomOperators operators_from(nb::handle operators);
// Limits{} with the entries of `limits`, a dict or None.
Limits limits_from(nb::handle limits);

}  // namespace pt2::python

#endif  // PT2_PYTHON_MODELS_H
