// Models and sessions as Python has them.
#ifndef PT2_PYTHON_MODELS_H
#define PT2_PYTHON_MODELS_H

#include "leaves.h"
#include "pt2/limits.h"

namespace pt2::python {

// Model, Session and Operators.
void add_model_classes(nb::module_& module);
// verify, convert, json, dis, operators, command.
void add_functions(nb::module_& module);

// Limits{} with the entries of `limits`, a dict or None.
Limits limits_from(nb::handle limits);

}  // namespace pt2::python

#endif  // PT2_PYTHON_MODELS_H
