#include "models.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>

#include "c/models.h"
#include "calls.h"
#include "ops/forms/owned_signature.h"
#include "pt2/tools/run_trace.h"

namespace pt2::python {
namespace {

// How a model was loaded, so that it can be loaded again in another process.
struct PyModel {
  PyModel(Model loaded, nb::object from, nb::dict how)
      : callable(std::make_shared<Callable>(std::move(loaded))),
        path(std::move(from)),
        options(std::move(how)) {}

  std::shared_ptr<Callable> callable;
  nb::object path;  // None: bytes
  nb::dict options;
};

struct PyOperators {
  CustomOperators operators;
};

// Returns the results that a Python kernel gave, in the form that torch.library takes (torch/csrc/
// autograd/python_variable.h, pushPyOutToStack): None for no results, one result as it is, several
// as a tuple or list. A tuple may also hold the only result, unless this is a list itself.
std::vector<Value> results_of(nb::handle given, std::span<const ops::ArgumentType> types) {
  Flavour flavour = Flavour::own;
  std::vector<Value> out;
  if (types.empty() && given.is_none()) return out;
  const bool is_tuple = PyTuple_Check(given.ptr()) != 0;
  const bool is_sequence = is_tuple || PyList_Check(given.ptr()) != 0;
  if (types.size() == 1 ? is_tuple && !types[0].list : is_sequence)
    for (nb::handle item : given) out.push_back(to_value(item, flavour));
  else
    out.push_back(to_value(given, flavour));
  return out;
}

// Returns a kernel that calls a Python function with the arguments and results of forward.
CustomOperators::Kernel kernel_of(const std::string& schema, nb::callable function) {
  const ops::OwnedSignature signature{schema};  // add_kernel reports its faults
  // Kernels may be destroyed on any thread.
  std::shared_ptr<nb::callable> shared(new nb::callable(std::move(function)),
                                       [](nb::callable* held) {
                                         const nb::gil_scoped_acquire lock;
                                         delete held;
                                       });
  return [shared, types = signature.returns](
             std::span<const Value> arguments) -> Result<std::vector<Value>> {
    const nb::gil_scoped_acquire lock;
    try {
      nb::list given;
      for (const Value& argument : arguments) given.append(to_python(argument, Flavour::own));
      return results_of((*shared)(*nb::tuple(given)), types);
    } catch (nb::python_error& error) {
      Raised::keep(error);
      return Error{ErrorCode::invalid, std::string("the kernel raised ") + error.what(), ""};
    }
  };
}

struct PySession {
  std::shared_ptr<Callable> callable;
  Session session;
  std::atomic<unsigned long> user = 0;     // the thread that uses it
  std::shared_ptr<nb::object> observer{};  // shared with the function that the session has

  PySession(std::shared_ptr<Callable> of, Session started)
      : callable(std::move(of)), session(std::move(started)) {}
};

// Locks the session for its lifetime; raises if it is in use.
class Use {
 public:
  explicit Use(PySession& session) : session_(session) {
    const unsigned long me = PyThread_get_thread_ident();
    unsigned long user = 0;
    if (session.user.compare_exchange_strong(user, me)) return;
    raise({ErrorCode::argument,
           user == me ? "the session is in the middle of a call, and its observers and kernels "
                        "cannot use it; give them a fork() made before"
                      : "the session is used by another thread; give each its own",
           ""});
  }
  ~Use() { session_.user = 0; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  Session* operator->() { return &session_.session; }
  Session& operator*() { return session_.session; }

 private:
  PySession& session_;
};

LoadOptions load_options(const nb::dict& options) {
  LoadOptions out;
  for (const auto& [key, value] : options) {
    const auto name = nb::cast<std::string>(key);
    if (name == "program") out.model = to_text(value, "program");
    if (name == "limits") out.limits = limits_from(value);
    if (name == "operators") out.operators = operators_from(value);
    if (name == "engine") out.engine = engine_from(to_text(value, "engine"));
  }
  return out;
}

// Implements tp_call of a class, which Python calls with a tuple, and a dict or nullptr. A method
// __call__ would be slower: each call would look it up and make a dict for it.
template <class Class, class F>
PyObject* call_object(PyObject* self, PyObject* args, PyObject* kwargs, const F& body) noexcept {
  try {
    if (!nb::inst_ready(self)) throw nb::type_error("found an object that was never made");
    return body(*nb::inst_ptr<Class>(self), args, kwargs).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const nb::builtin_exception& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* call_model(PyObject* self, PyObject* args, PyObject* kwargs) noexcept {
  return call_object<PyModel>(self, args, kwargs, [](PyModel& model, auto... given) {
    Callable::Borrowed session(*model.callable);
    return model.callable->call(*session, given...);
  });
}

PyObject* call_session(PyObject* self, PyObject* args, PyObject* kwargs) noexcept {
  return call_object<PySession>(self, args, kwargs, [](PySession& session, auto... given) {
    Use use(session);
    return session.callable->call(*use, given...);
  });
}

PyModel load_path(const nb::object& path, const nb::dict& options) {
  const std::string text = to_path(path);
  const LoadOptions wanted = load_options(options);
  return {unwrap(released([&] { return Model::load(text, wanted); })),
          nb::module_::import_("os").attr("fsdecode")(path), options};
}

PyModel load_bytes(const nb::bytes& bytes, const nb::dict& options) {
  const LoadOptions wanted = load_options(options);
  std::shared_ptr<const void> owner(new nb::bytes(bytes), [](const nb::bytes* held) {
    const nb::gil_scoped_acquire lock;
    delete held;
  });
  const std::span all(static_cast<const std::byte*>(bytes.data()), bytes.size());
  return {unwrap(released([&]() -> Result<Model> {
            PT2_TRY(Package package, Package::open_bytes(all, owner, "bytes", wanted.limits));
            return Model::from_package(std::make_shared<const Package>(std::move(package)), wanted);
          })),
          nb::none(), options};
}

nb::list places(const Program& program, std::span<const ModelValue> values) {
  const nb::object make = nb::module_::import_("pt2._info").attr("Place");
  nb::list out;
  for (const ModelValue& value : values) {
    const c::PlaceSizes sizes = c::place_sizes(program, value);
    nb::list shape;
    for (size_t i = 0; i < sizes.sizes.size(); ++i) {
      if (sizes.sizes[i] >= 0)
        shape.append(sizes.sizes[i]);
      else
        shape.append(
            nb::make_tuple(sizes.minimum[i], sizes.maximum[i] == INT64_MAX
                                                 ? nb::object(nb::none())
                                                 : nb::object(nb::int_(sizes.maximum[i]))));
    }
    const auto dtype = value.tensor ? value.tensor->dtype.dtype() : std::nullopt;
    out.append(make(value.name, value.type,
                    dtype ? nb::object(nb::str(std::string(dtype_name(*dtype)).c_str()))
                          : nb::object(nb::none()),
                    value.tensor ? nb::object(nb::tuple(shape)) : nb::object(nb::none()),
                    value.is_keyword));
  }
  return out;
}

void add_model(nb::module_& module) {
  static const PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(&call_model)},
                                      {0, nullptr}};
  nb::class_<PyModel>(module, "Model", nb::type_slots(slots),
                      "A program ready to run. It is immutable, so threads may share it. A call "
                      "takes the arguments of the Python model and returns its results; each call "
                      "starts from the state in the file.")
      .def(
          "run",
          [](const PyModel& self, nb::handle inputs, std::optional<double> timeout) {
            Callable::Borrowed session(*self.callable);
            return self.callable->run(*session, inputs, timeout);
          },
          nb::arg("inputs"), nb::kw_only(), nb::arg("timeout").none() = nb::none(),
          "Runs the program. `inputs` is a dict by name, or a list in the order of the property "
          "`inputs`. Returns the results as a dict by name. Raises CancelledError after `timeout` "
          "seconds.")
      .def(
          "session",
          [](const PyModel& self, unsigned threads) {
            return new PySession(self.callable,
                                 Session(self.callable->model(), {.threads = threads}));
          },
          nb::arg("threads") = 0,
          "Returns a session: its calls keep the state that the program changes. `threads` bounds "
          "the threads of a call; 0 means one for each processor.")
      .def(
          "trim", [](const PyModel& self) { return self.callable->model().trim(); },
          nb::call_guard<nb::gil_scoped_release>(),
          "Frees the memory that finished calls keep for later calls. Returns the number of bytes "
          "freed.")
      .def_prop_ro("inputs",
                   [](const PyModel& self) {
                     const Model& model = self.callable->model();
                     return places(model.program(), model.inputs());
                   })
      .def_prop_ro("outputs",
                   [](const PyModel& self) {
                     const Model& model = self.callable->model();
                     return places(model.program(), model.outputs());
                   })
      .def_prop_ro(
          "state_names",
          [](const PyModel& self) { return c::state_names(self.callable->model().program()); })
      .def_prop_ro("path", [](const PyModel& self) { return self.path; })
      .def("__reduce__",
           [](const PyModel& self) {
             if (self.path.is_none())
               raise({ErrorCode::argument, "a model from bytes cannot be pickled", ""});
             if (self.options.contains("operators") &&
                 !nb::object(self.options["operators"]).is_none())
               raise({ErrorCode::argument, "a model with custom operators cannot be pickled", ""});
             return nb::make_tuple(nb::module_::import_("pt2").attr("_load_again"),
                                   nb::make_tuple(self.path, self.options));
           })
      .def("__repr__", [](const PyModel& self) {
        std::string text;
        for (const ModelValue& input : self.callable->model().inputs())
          text += (text.empty() ? "" : ", ") + input.name + ": " + input.type;
        return "<pt2.Model (" + text + ")>";
      });
  module.def("load_path", &load_path);
  module.def("load_bytes", &load_bytes);
}

// Observers often refer to their session: `self.session.observe(self.see)`. The garbage collector
// finds such a cycle only if it is shown the observer.
int traverse_session(PyObject* self, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const auto* session = nb::inst_ptr<PySession>(self);
  if (session->observer != nullptr) Py_VISIT(session->observer->ptr());
  return 0;
}
int clear_session(PyObject* self) noexcept {
  if (!nb::inst_ready(self)) return 0;
  auto* session = nb::inst_ptr<PySession>(self);
  session->session.observe({});
  session->observer.reset();
  return 0;
}

void set_observer(PySession& self, nb::object function) {
  if (!function.is_none() && PyCallable_Check(function.ptr()) == 0)
    raise({ErrorCode::argument,
           "found " + described(function) + ", expected a function(name, target, value) or None",
           ""});
  Use session(self);
  if (function.is_none()) {
    self.observer.reset();
    return session->observe({});
  }
  std::shared_ptr<nb::object> shared(new nb::object(std::move(function)), [](nb::object* held) {
    const nb::gil_scoped_acquire lock;
    delete held;
  });
  session->observe([shared](const ObservedValue& observed) -> Result<void> {
    const nb::gil_scoped_acquire lock;
    try {
      (*shared)(observed.name, observed.node.target, to_python(observed.value, Flavour::own));
      return {};
    } catch (nb::python_error& error) {
      Raised::keep(error);
      return Error{ErrorCode::invalid, std::string("the observer raised ") + error.what(), ""};
    }
  });
  self.observer = std::move(shared);
}

std::vector<std::string> names_of(const PySession& session) {
  return c::state_names(session.callable->model().program());
}

void add_session(nb::module_& module) {
  static const PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(&call_session)},
                                      {Py_tp_traverse, reinterpret_cast<void*>(&traverse_session)},
                                      {Py_tp_clear, reinterpret_cast<void*>(&clear_session)},
                                      {0, nullptr}};
  nb::class_<PySession>(
      module, "Session", nb::type_slots(slots),
      "A sequence of calls that keeps the state that the program changes (buffers). Only one "
      "thread at a time may use a session; fork() makes a session for another thread.")
      .def(
          "run",
          [](PySession& self, nb::handle inputs, std::optional<double> timeout) {
            Use session(self);
            return self.callable->run(*session, inputs, timeout);
          },
          nb::arg("inputs"), nb::kw_only(), nb::arg("timeout").none() = nb::none(),
          "Runs the program as Model.run does, and keeps its changes to the state.")
      .def(
          "fork",
          [](PySession& self) {
            Use session(self);
            return new PySession(self.callable, session->fork());
          },
          "Returns a new session that starts with a copy of this session's state.")
      .def(
          "seed", [](PySession& self, uint64_t seed) { Use(self)->seed(seed); }, nb::arg("seed"))
      .def("observe", &set_observer, nb::arg("function").none(),
           "Calls function(name, target, value) for every value that later calls compute. None "
           "stops this.")
      .def(
          "__getitem__",
          [](PySession& self, const std::string& name) {
            Use session(self);
            const Tensor* tensor = session->state(name);
            if (tensor == nullptr) throw nb::key_error(name.c_str());
            return tensor->clone();
          },
          nb::arg("name"),
          "Returns a copy of the current value of a parameter, buffer or constant.")
      .def(
          "__setitem__",
          [](PySession& self, const std::string& name, nb::handle value) {
            Use session(self);
            if (session->state(name) == nullptr) throw nb::key_error(name.c_str());
            Flavour flavour = Flavour::own;
            unwrap(c::set_state(*session, name, to_tensor(value, flavour, {"state", name})));
          },
          nb::arg("name"), nb::arg("value").none(),
          "Copies the elements of `value` into a parameter, buffer or constant. Later calls of "
          "this session use them.")
      .def(
          "__contains__",
          [](PySession& self, nb::handle name) {
            if (!PyUnicode_Check(name.ptr())) return false;
            return Use(self)->state(to_text(name, "the name of a state")) != nullptr;
          },
          nb::arg("name").none())
      .def("__iter__", [](PySession& self) { return nb::iter(nb::cast(names_of(self))); })
      .def("keys", &names_of, "Returns the model's `state_names`.");
}

void add_operators(nb::module_& module) {
  nb::class_<PyOperators>(module, "Operators",
                          "Kernels for custom operators, which PyTorch itself does not define.")
      .def(nb::init<>())
      .def(
          "add",
          [](PyOperators& self, const std::string& schema, nb::callable kernel) {
            unwrap(self.operators.add_kernel(schema, kernel_of(schema, std::move(kernel))));
          },
          nb::arg("schema"), nb::arg("kernel"),
          "Adds the kernel of one operator. `schema` has the form that torch.library.define takes: "
          "'mylib::scale(Tensor x, float f) -> Tensor'. The kernel is called with the operator's "
          "arguments in order; tensors are pt2.Tensor. It returns its result, a tuple of several, "
          "or None; a tensor is an object with __dlpack__.");
}

}  // namespace

EngineKind engine_from(const std::string& name) {
  if (name == "planned") return EngineKind::planned;
  if (name == "reference") return EngineKind::reference;
  raise({ErrorCode::argument, "there is no engine '" + name + "'", ""});
}

CustomOperators operators_from(nb::handle operators) {
  if (operators.is_none()) return {};
  if (!nb::isinstance<PyOperators>(operators))
    raise({ErrorCode::argument, "found " + described(operators) + ", expected Operators",
           "operators"});
  return nb::cast<PyOperators&>(operators).operators;
}

void add_model_classes(nb::module_& module) {
  add_operators(module);
  add_session(module);
  add_model(module);
}

}  // namespace pt2::python
