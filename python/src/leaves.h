// Converts Python objects to values and back: tensors through DLPack, without copies; numbers, text
// and None directly.
#ifndef PT2_PYTHON_LEAVES_H
#define PT2_PYTHON_LEAVES_H

#include <nanobind/nanobind.h>

#include "pt2/model.h"
#include "pt2/result.h"
#include "pt2/value.h"

namespace pt2::python {

namespace nb = nanobind;

// The kind of tensor that results have: the kind that the caller passed.
enum class Flavour : uint8_t { own, numpy, torch };

// Raises the class of pt2._errors for the error's code, from `cause` if there is one.
[[noreturn]] void raise(const Error& error, nb::handle cause = {});
template <class T>
T unwrap(Result<T> result, nb::handle cause = {}) {
  if (!result) raise(result.error(), cause);
  return *std::move(result);
}
inline void unwrap(Result<void> result, nb::handle cause = {}) {
  if (!result) raise(result.error(), cause);
}

// The purpose of an object: "input 'x'". The text is made only for messages.
struct Purpose {
  Purpose(const char* of = "", std::string_view called = {}) : kind(of), name(called) {}
  std::string text() const {
    return name.empty() ? kind : std::string(kind) + " '" + std::string(name) + "'";
  }

  const char* kind;
  std::string_view name;
};

// Accepts any object with __dlpack__, and NumPy's scalars. Raises ArgumentError, naming the
// purpose, if the object is not a tensor on the CPU. Sets `flavour` if it is still `own`. Copies
// NumPy elements that cannot be used in place (negative strides, another byte order).
Tensor to_tensor(nb::handle object, Flavour& flavour, Purpose purpose = {});
// `input`, if not null, is the input that the value is for: messages name it, and a NumPy scalar
// becomes the tensor that it takes.
Value to_value(nb::handle object, Flavour& flavour, const ModelValue* input = nullptr);
// Convert a Python int and a str. Raise ArgumentError, naming the purpose, if that fails.
int64_t to_int64(nb::handle number, Purpose purpose);
std::string to_text(nb::handle object, Purpose purpose);
// Converts a str, bytes or os.PathLike to the bytes that the system knows a file by, also if they
// are not UTF-8. Raises ArgumentError for a path with a zero, of which the system would take the
// part before it.
std::string to_path(nb::handle path);
// Converts text that may quote a path: bytes that are not UTF-8 become \xNN.
nb::object text_of(std::string_view text);
// "an object of class int".
std::string described(nb::handle object);
// A tensor with a dtype that NumPy lacks becomes a pt2.Tensor.
nb::object to_python(Value value, Flavour flavour);
// Returns the result of tensor.__dlpack__.
nb::object to_capsule(const Tensor& tensor, bool versioned);

void add_tensor_class(nb::module_& module);

}  // namespace pt2::python

#endif  // PT2_PYTHON_LEAVES_H
