#include "leaves.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <utility>

#include "base/printable.h"
#include "c/values.h"

namespace pt2::python {
namespace {

constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kUnversioned = "dltensor";

// Objects that every call needs. They are made once and live as long as the process. No static of
// this module is initialised by Python code: that code may hand the interpreter's lock to a thread
// that then waits, with the lock, for the end of the same initialisation.
struct Names {
  nb::object dlpack, is_neg, version;
  Names()
      : dlpack(nb::steal(PyUnicode_InternFromString("__dlpack__"))),
        is_neg(nb::steal(PyUnicode_InternFromString("is_neg"))),
        version(nb::make_tuple(1, 0)) {}
};
const Names& names() {
  static const Names* all = nullptr;
  if (all == nullptr) all = new Names;
  return *all;
}

nb::object imported(const char* module, const char* name) {
  return nb::module_::import_(module).attr(name);
}

// Returns the function that makes tensors of this flavour.
nb::handle from_dlpack_of(Flavour flavour) {
  static PyObject* functions[3] = {};
  PyObject*& found = functions[static_cast<size_t>(flavour)];
  if (found == nullptr)
    found = imported(flavour == Flavour::numpy ? "numpy" : "torch", "from_dlpack").release().ptr();
  return found;
}

// A class that has __dlpack__.
struct ArrayClass {
  PyObject* type = nullptr;
  Flavour flavour = Flavour::own;
  bool has_versions = true;  // __dlpack__ takes max_version, unless it has refused it
};

Flavour flavour_of_module(const std::string& module) {
  const auto belongs = [&](std::string_view to) {
    return module == to || module.starts_with(std::string(to) + ".");
  };
  return belongs("numpy") ? Flavour::numpy : belongs("torch") ? Flavour::torch : Flavour::own;
}

// The first class of NumPy and the first class of torch that were seen.
std::span<ArrayClass> known_classes() {
  static ArrayClass known[2];
  return known;
}
ArrayClass* find_class(nb::handle object) {
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()));
  for (ArrayClass& each : known_classes())
    if (each.type == type) return &each;
  return nullptr;
}

Flavour flavour_of_class(nb::handle type) {
  return flavour_of_module(nb::cast<std::string>(nb::str(type.attr("__module__"))));
}

// Sets the flavour by the module of the class or of its bases: a program's own subclass of ndarray
// is an array. Returns `unknown` if the class is not remembered.
ArrayClass& remember_class(nb::handle object, ArrayClass& unknown) {
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()));
  for (nb::handle base : nb::handle(type).attr("__mro__"))
    if (unknown.flavour == Flavour::own) unknown.flavour = flavour_of_class(base);
  if (flavour_of_class(type) == Flavour::own) return unknown;
  ArrayClass& place = known_classes()[unknown.flavour == Flavour::numpy ? 0 : 1];
  if (place.type != nullptr) return unknown;
  Py_INCREF(type);
  return place = {type, unknown.flavour};
}

nb::object ask_for_capsule(nb::handle object, ArrayClass& its) {
  const auto method = object.attr(names().dlpack);
  if (its.has_versions) {
    try {
      return method(nb::arg("max_version") = names().version);
    } catch (const nb::python_error& error) {
      if (!error.matches(PyExc_TypeError)) throw;
    }
    its.has_versions = false;  // a producer older than versioned DLPack
  }
  return method();
}

// A copy in the native byte order, with strides that are multiples of an element. NumPy refuses
// other arrays only when a capsule is requested.
nb::object in_native_order(nb::handle array) {
  const nb::object dtype = array.attr("dtype");
  return array.attr("astype")(dtype.attr("newbyteorder")("="));
}

// Returns the DLPack capsule of a NumPy array, or of a copy of it if the array has another byte
// order or strides that are no multiple of an element.
nb::object ask_numpy(nb::handle array, ArrayClass& its, Purpose purpose) {
  try {
    return ask_for_capsule(array, its);
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_BufferError)) throw;
  }
  const nb::object dtype = array.attr("dtype");
  const auto kind = nb::cast<std::string>(dtype.attr("kind"));
  try {
    if (std::string_view("biufc").find(kind) != std::string_view::npos)
      return ask_for_capsule(in_native_order(array), its);
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_BufferError)) throw;
  }
  raise({ErrorCode::argument,
         "found an array of dtype " + nb::cast<std::string>(nb::str(dtype)) +
             ", expected numbers or bools",
         purpose.text()});
}

// Returns the DLPack capsule of any other object. Its maker refuses some with BufferError: torch
// refuses tensors that require gradients, or have no elements in memory.
nb::object ask_other(nb::handle object, ArrayClass& its, Purpose purpose) {
  try {
    return ask_for_capsule(object, its);
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_BufferError)) throw;
    raise({ErrorCode::argument, nb::cast<std::string>(nb::str(error.value())), purpose.text()},
          error.value());
  }
}

// Takes the tensor out of the capsule and marks the capsule as used. Fails if the tensor is
// unusable.
template <class Managed>
Result<Tensor> take(nb::handle capsule, const char* name, const char* used) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  PT2_TRY(Tensor tensor, c::from_dlpack(managed));
  PyCapsule_SetName(capsule.ptr(), used);
  return tensor;
}

Result<Tensor> from_capsule(nb::handle capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), kVersioned))
    return take<DLManagedTensorVersioned>(capsule, kVersioned, "used_dltensor_versioned");
  if (PyCapsule_IsValid(capsule.ptr(), kUnversioned))
    return take<DLManagedTensor>(capsule, kUnversioned, "used_dltensor");
  return Error{ErrorCode::argument, "__dlpack__ gave no capsule of a tensor", ""};
}

template <class Managed>
void free_unused(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;  // a consumer took it
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <class Managed>
nb::object capsule_of(const Tensor& tensor, const char* name, PyCapsule_Destructor destructor) {
  Managed* managed = c::to_dlpack<Managed>(tensor);
  PyObject* capsule = PyCapsule_New(managed, name, destructor);
  if (capsule == nullptr) {
    managed->deleter(managed);
    nb::raise_python_error();
  }
  return nb::steal(capsule);
}

bool has_numpy_dtype(Dtype dtype) {
  return dtype_info(dtype).numpy_descriptor != std::string_view();
}

nb::handle numpy_dtype(Dtype dtype) {
  static std::vector<PyObject*> found(dtypes().size());
  PyObject*& place = found[static_cast<size_t>(dtype)];
  if (place == nullptr)
    place =
        imported("numpy", "dtype")(std::string(dtype_info(dtype).numpy_descriptor)).release().ptr();
  return place;
}

nb::tuple tuple_of(const Sizes& sizes) {
  PyObject* out = PyTuple_New(static_cast<Py_ssize_t>(sizes.size()));
  if (out == nullptr) nb::raise_python_error();
  for (size_t i = 0; i < sizes.size(); ++i)
    PyTuple_SetItem(out, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
  return nb::steal<nb::tuple>(out);
}

// Copying this many bytes is faster than numpy.from_dlpack.
constexpr int64_t kFewBytes = 16 << 10;

// Returns an array over a copy in Python's memory. The tensor must be row-major and not empty.
nb::object numpy_copy(const Tensor& tensor) {
  static PyObject* make = nullptr;
  if (make == nullptr) make = imported("numpy", "ndarray").release().ptr();
  PyObject* memory = PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(tensor.raw_data()),
                                                   static_cast<Py_ssize_t>(tensor.nbytes()));
  if (memory == nullptr) nb::raise_python_error();
  return nb::handle(make)(tuple_of(tensor.sizes()), numpy_dtype(tensor.dtype()), nb::steal(memory));
}

nb::object tensor_to_python(Tensor tensor, Flavour flavour) {
  if (flavour == Flavour::own || (flavour == Flavour::numpy && !has_numpy_dtype(tensor.dtype())))
    return nb::cast(std::move(tensor));
  // torch has neither read-only tensors nor a representation of undefined tensors.
  if (!tensor.defined()) tensor = Tensor::zeros(tensor.dtype(), tensor.sizes());
  // A storage with other users stays shared.
  if (flavour == Flavour::numpy && tensor.nbytes() <= kFewBytes && tensor.numel() > 0 &&
      tensor.is_contiguous() && tensor.storage().use_count() == 1)
    return numpy_copy(tensor);
  if (flavour == Flavour::torch && tensor.storage()->is_read_only()) tensor = tensor.clone();
  return from_dlpack_of(flavour)(nb::cast(std::move(tensor)));
}

// Returns the same bytes as unsigned integers.
Tensor bits_of(const Tensor& tensor) {
  switch (dtype_size(tensor.dtype())) {
    case 1:
      return tensor.with_dtype(Dtype::uint8);
    case 2:
      return tensor.with_dtype(Dtype::uint16);
    case 4:
      return tensor.with_dtype(Dtype::uint32);
    case 8:
      return tensor.with_dtype(Dtype::uint64);
    default:
      raise({ErrorCode::argument, "found " + tensor.type_text() + ", too wide for integers", ""});
  }
}

// The inverse of `bits_of`: for dtypes that the maker of the array has no name for.
Tensor tensor_of_bits(nb::handle bits, const std::string& name) {
  const std::optional<Dtype> dtype = find_dtype(name);
  if (!dtype) raise({ErrorCode::argument, "found no dtype '" + name + "'", "dtype"});
  Flavour flavour = Flavour::own;
  const Tensor tensor = to_tensor(bits, flavour, "bits");
  if (dtype_category(tensor.dtype()) != DtypeCategory::integer ||
      dtype_size(tensor.dtype()) != dtype_size(*dtype))
    raise({ErrorCode::argument,
           "found " + tensor.type_text() + ", expected integers as wide as " + name, "bits"});
  return tensor.with_dtype(*dtype);
}

// Converts bfloat16 to float32, NumPy's closest dtype: bfloat16 is the upper half of a float32.
Tensor widened(const Tensor& tensor) {
  const Tensor rows = tensor.contiguous();
  Tensor out = Tensor::zeros(Dtype::float32, tensor.sizes());
  for (int64_t i = 0; i < rows.numel(); ++i)
    out.data<uint32_t>()[i] = static_cast<uint32_t>(rows.data<uint16_t>()[i]) << 16;
  return out;
}

nb::object to_numpy(const Tensor& tensor) {
  if (tensor.dtype() == Dtype::bfloat16) return tensor_to_python(widened(tensor), Flavour::numpy);
  if (!has_numpy_dtype(tensor.dtype()))
    raise({ErrorCode::argument,
           "NumPy has no dtype for " + tensor.type_text() + "; bits() are its bytes", ""});
  return tensor_to_python(tensor, Flavour::numpy);
}

Purpose purpose_of(const ModelValue* input) {
  return input == nullptr ? Purpose() : Purpose("input", input->name);
}

// Raises RecursionError for lists that are nested too deeply: a list may contain itself.
class Nesting {
 public:
  Nesting() {
    if (Py_EnterRecursiveCall(" in a list of values") != 0) nb::raise_python_error();
  }
  ~Nesting() { Py_LeaveRecursiveCall(); }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
};

// True for NumPy's scalars, which are not arrays: the results of array.mean() and array[0].
bool is_numpy_scalar(nb::handle object) {
  if (PyObject_HasAttr(object.ptr(), names().dlpack.ptr()) ||
      !PyObject_HasAttrString(object.ptr(), "dtype"))
    return false;
  return flavour_of_class(object.type()) == Flavour::numpy;
}

// Raises if a Python number, which has no dtype, is passed for a zero-dimensional tensor.
void refuse_number(nb::handle number, const ModelValue& input) {
  const auto dtype = input.tensor->dtype.dtype();
  if (!input.tensor->sizes.empty() || !dtype || !has_numpy_dtype(*dtype)) return;
  if (PyLong_Check(number.ptr()))
    to_int64(number, purpose_of(&input));  // raises if too long to show
  const auto text = nb::cast<std::string>(nb::repr(number));
  // Not every NumPy has np.bool.
  const std::string name = *dtype == Dtype::bool_ ? "bool_" : std::string(dtype_name(*dtype));
  raise({ErrorCode::argument,
         "found " + text + ", expected " + input.type + "; pass np.array(" + text + ", np." + name +
             ")",
         purpose_of(&input).text()});
}

nb::object dlpack(const Tensor& tensor, nb::object, nb::object max_version, nb::object device,
                  std::optional<bool> copy) {
  if (!device.is_none() && to_int64(device[0], "dl_device") != c::kDlpackCpu)
    throw nb::buffer_error("the tensor is on the CPU");
  const bool versioned = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;
  if (copy.value_or(false) || (!versioned && tensor.defined() && tensor.storage()->is_read_only()))
    return to_capsule(tensor.clone(), versioned);
  return to_capsule(tensor, versioned);
}

}  // namespace

void raise(const Error& error, nb::handle cause) {
  static PyObject* make = nullptr;
  if (make == nullptr) make = imported("pt2._errors", "make").release().ptr();
  const std::string code(error_code_name(error.code));
  const nb::object exception = nb::handle(make)(code, text_of(error.message), text_of(error.where));
  if (cause.is_valid()) PyException_SetCause(exception.ptr(), cause.inc_ref().ptr());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

std::string described(nb::handle object) {
  return "an object of class " + nb::cast<std::string>(nb::str(object.type().attr("__name__")));
}

int64_t to_int64(nb::handle number, Purpose purpose) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0)
    raise({ErrorCode::argument,
           "found an integer beyond int64, expected one from -2**63 to 2**63 - 1", purpose.text()});
  if (value == -1 && PyErr_Occurred() != nullptr) nb::raise_python_error();
  return value;
}

std::string to_text(nb::handle object, Purpose purpose) {
  std::string out;
  if (!nb::try_cast(object, out))
    raise({ErrorCode::argument,
           "found " + described(object) + ", expected text, without surrogates", purpose.text()});
  return out;
}

nb::object text_of(std::string_view text) {
  PyObject* made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (made == nullptr) nb::raise_python_error();
  return nb::steal(made);
}

std::string to_path(nb::handle path) {
  const nb::object bytes = nb::module_::import_("os").attr("fsencode")(path);
  std::string out(PyBytes_AsString(bytes.ptr()), nb::len(bytes));
  if (out.find('\0') != out.npos)
    raise({ErrorCode::argument, "found a path with a zero byte", printable_line(out)});
  return out;
}

nb::object to_capsule(const Tensor& tensor, bool versioned) {
  if (versioned)
    return capsule_of<DLManagedTensorVersioned>(tensor, kVersioned, [](PyObject* capsule) {
      free_unused<DLManagedTensorVersioned>(capsule, kVersioned);
    });
  return capsule_of<DLManagedTensor>(tensor, kUnversioned, [](PyObject* capsule) {
    free_unused<DLManagedTensor>(capsule, kUnversioned);
  });
}

Tensor to_tensor(nb::handle object, Flavour& flavour, Purpose purpose) {
  ArrayClass unknown;
  ArrayClass* its = find_class(object);
  if (its == nullptr) {
    if (nb::isinstance<Tensor>(object)) return nb::cast<Tensor>(object);
    if (is_numpy_scalar(object))
      return to_tensor(imported("numpy", "asarray")(object), flavour, purpose);
    if (!PyObject_HasAttr(object.ptr(), names().dlpack.ptr()))
      raise({ErrorCode::argument,
             "found " + described(object) +
                 ", expected an array, a tensor or another object with "
                 "__dlpack__",
             purpose.text()});
    its = &remember_class(object, unknown);
  }
  if (flavour == Flavour::own) flavour = its->flavour;
  // torch exports such tensors, unlike conjugate ones, with the wrong sign.
  if (its->flavour == Flavour::torch && nb::cast<bool>(object.attr(names().is_neg)()))
    raise({ErrorCode::argument,
           "found a tensor with the negative bit set; pass tensor.resolve_neg()", purpose.text()});
  const bool is_numpy = its->flavour == Flavour::numpy;
  Result<Tensor> tensor =
      from_capsule(is_numpy ? ask_numpy(object, *its, purpose) : ask_other(object, *its, purpose));
  if (!tensor && is_numpy) {
    const nb::object copy =
        nb::module_::import_("numpy").attr("array")(object, nb::arg("order") = "C");
    tensor = from_capsule(ask_for_capsule(copy, *its));
  }
  if (!tensor) raise(at(std::move(tensor).error(), purpose.text()));
  return *std::move(tensor);
}

Value to_value(nb::handle object, Flavour& flavour, const ModelValue* input) {
  if (find_class(object) != nullptr) return to_tensor(object, flavour, purpose_of(input));
  PyObject* pointer = object.ptr();
  if (pointer == Py_None) return {};
  if (input != nullptr && input->tensor != nullptr) {
    if (is_numpy_scalar(object)) return to_tensor(object, flavour, purpose_of(input));
    if (PyLong_Check(pointer) || PyFloat_Check(pointer) || PyComplex_Check(pointer))
      refuse_number(object, *input);
  }
  if (PyBool_Check(pointer)) return pointer == Py_True;
  if (PyLong_Check(pointer)) return to_int64(object, purpose_of(input));
  if (PyFloat_Check(pointer)) return nb::cast<double>(object);
  if (PyUnicode_Check(pointer)) return to_text(object, purpose_of(input));
  if (PyComplex_Check(pointer))
    return std::complex<double>(PyComplex_RealAsDouble(pointer), PyComplex_ImagAsDouble(pointer));
  if (PyObject_HasAttr(pointer, names().dlpack.ptr()))
    return to_tensor(object, flavour, purpose_of(input));
  if (PyList_Check(pointer) || PyTuple_Check(pointer)) {
    const Nesting nesting;
    Value::List list;
    for (nb::handle item : object) list.push_back(to_value(item, flavour, input));
    return list;
  }
  if (is_numpy_scalar(object)) {
    // NumPy's bool has no __index__, and the __float__ of its complex numbers drops a part.
    const nb::object plain = object.attr("item")();
    if (PyBool_Check(plain.ptr()) || PyComplex_Check(plain.ptr()))
      return to_value(plain, flavour, input);
  }
  if (PyObject_HasAttrString(pointer, "__index__"))
    return to_int64(nb::int_(object), purpose_of(input));
  if (PyObject_HasAttrString(pointer, "__float__")) return nb::cast<double>(nb::float_(object));
  raise({ErrorCode::argument,
         "found " + described(object) + ", expected a tensor, a number, text or None",
         purpose_of(input).text()});
}

nb::object to_python(Value value, Flavour flavour) {
  if (auto* tensor = value.get_if<Tensor>()) return tensor_to_python(std::move(*tensor), flavour);
  if (value.is_none()) return nb::none();
  if (const auto* number = value.get_if<int64_t>()) return nb::int_(*number);
  if (const auto* number = value.get_if<double>()) return nb::float_(*number);
  if (const auto* truth = value.get_if<bool>()) return nb::bool_(*truth);
  if (const auto* text = value.get_if<std::string>()) return nb::str(text->c_str(), text->size());
  if (const auto* number = value.get_if<std::complex<double>>())
    return nb::steal(PyComplex_FromDoubles(number->real(), number->imag()));
  if (const auto* items = value.get_if<Value::List>()) {
    nb::list out;
    for (const Value& item : *items) out.append(to_python(item, flavour));
    return out;
  }
  const std::string text = value.type_text();
  return nb::str(text.c_str(), text.size());
}

void add_tensor_class(nb::module_& module) {
  nb::class_<Tensor>(
      module, "Tensor",
      "A tensor of this library. numpy.from_dlpack(t) and torch.from_dlpack(t) share its memory.")
      .def_prop_ro("dtype",
                   [](const Tensor& self) { return std::string(dtype_name(self.dtype())); })
      .def_prop_ro("shape", [](const Tensor& self) { return tuple_of(self.sizes()); })
      .def_prop_ro(
          "strides", [](const Tensor& self) { return tuple_of(self.strides()); },
          "The strides, counted in elements.")
      .def_prop_ro("nbytes", &Tensor::nbytes)
      .def("__dlpack__", &dlpack, nb::kw_only(), nb::arg("stream").none() = nb::none(),
           nb::arg("max_version").none() = nb::none(), nb::arg("dl_device").none() = nb::none(),
           nb::arg("copy").none() = nb::none())
      .def("__dlpack_device__", [](const Tensor&) { return nb::make_tuple(c::kDlpackCpu, 0); })
      .def(
          "numpy", &to_numpy,
          "Returns a NumPy array over the tensor's memory; bfloat16 becomes a float32 copy. Raises "
          "ArgumentError for other dtypes that NumPy lacks.")
      .def(
          "__array__",
          [](const Tensor& self, nb::object dtype, nb::object copy) {
            if (copy.is(nb::handle(Py_False)) && self.dtype() == Dtype::bfloat16)
              throw nb::value_error("NumPy has no bfloat16, so the elements must be copied");
            const nb::object array = to_numpy(self);
            if (dtype.is_none() && copy.is_none()) return array;
            return nb::module_::import_("numpy").attr("array")(
                array, nb::arg("dtype") = dtype,
                nb::arg("copy") = copy.is_none() ? nb::bool_(true) : copy);
          },
          nb::arg("dtype").none() = nb::none(), nb::arg("copy").none() = nb::none())
      .def("bits", &bits_of, "Returns the same bytes as a tensor of unsigned integers.")
      .def_static("from_bits", &tensor_of_bits, nb::arg("bits"), nb::arg("dtype"),
                  "Returns a tensor of the dtype over the bytes of an array of integers.")
      .def("__repr__", [](const Tensor& self) { return "<pt2.Tensor " + self.type_text() + ">"; });
}

}  // namespace pt2::python
