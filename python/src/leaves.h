// Python's objects as values and back: tensors through DLPack, without copies; numbers, text and
// None as they are.
#ifndef PT2_PYTHON_LEAVES_H
#define PT2_PYTHON_LEAVES_H

#include <nanobind/nanobind.h>

#include "pt2/model.h"
#include "pt2/result.h"
#include "pt2/value.h"

namespace pt2::python {

namespace nb = nanobind;

// Whose tensors results are: those that the caller gave.
enum class Flavour : uint8_t { own, numpy, torch };

// Raises the class of pt2._errors that belongs to the code; from `cause`, where there is one.
[[noreturn]] void raise(const Error& error, nb::handle cause = {});
template <class T>
T unwrap(Result<T> result, nb::handle cause = {}) {
  if (!result) raise(result.error(), cause);
  return *std::move(result);
}
inline void unwrap(Result<void> result, nb::handle cause = {}) {
  if (!result) raise(result.error(), cause);
}

// What an object is for: "input 'x'". Made into text for messages alone.
struct Purpose {
  Purpose(const char* of = "", std::string_view called = {}) : kind(of), name(called) {}
  std::string text() const {
    return name.empty() ? kind : std::string(kind) + " '" + std::string(name) + "'";
  }

  const char* kind;
  std::string_view name;
};

// Anything with __dlpack__, and scalars of NumPy; raises ArgumentError, naming the purpose, for
// what is no tensor on the CPU. Sets `flavour` where it is `own` still. Elements that cannot be
// used where they are (negative strides, another byte order) are copied if they are NumPy's.
Tensor to_tensor(nb::handle object, Flavour& flavour, Purpose purpose = {});
// `input`, where there is one, is what the value is for: messages name it, and a scalar of NumPy
// becomes the tensor that it takes.
Value to_value(nb::handle object, Flavour& flavour, const ModelValue* input = nullptr);
// A Python int, and a str. Raises ArgumentError, naming the purpose, for what does not fit.
int64_t to_int64(nb::handle number, Purpose purpose);
std::string to_text(nb::handle object, Purpose purpose);
// "an object of class int".
std::string described(nb::handle object);
// A dtype that NumPy lacks comes as pt2.Tensor.
nb::object to_python(Value value, Flavour flavour);
// What tensor.__dlpack__ gives.
nb::object to_capsule(const Tensor& tensor, bool versioned);

void add_tensor_class(nb::module_& module);

}  // namespace pt2::python

#endif  // PT2_PYTHON_LEAVES_H
