#include "calls.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "base/printable.h"
#include "base/random_state.h"
#include "ir/higher_order.h"
#include "pt2/ops/operators.h"
#include "run/model_shared.h"

namespace pt2::python {
namespace {

// Smaller programs without a loop end before a user could press a key.
constexpr size_t kLongProgram = 64;
constexpr auto kBetweenSignals = std::chrono::milliseconds(50);
constexpr size_t kMaxIdle = 64;

bool on_main_thread() {
  static unsigned long main = 0;  // set here for the reason that leaves.cpp gives at its names
  if (main == 0)
    main = nb::cast<unsigned long>(
        nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  return PyThread_get_thread_ident() == main;
}

bool may_take_long(const Program& program) {
  const auto has_graphs = [&](NodeId id) {
    return find_higher_order_operator(program.graph.node(id).target) != nullptr;
  };
  return program.graph.nodes().size() > kLongProgram ||
         std::ranges::any_of(program.graph.nodes(), has_graphs);
}

nb::object python_text(const std::string& text) { return nb::str(text.c_str(), text.size()); }

}  // namespace

EarlyEnd::EarlyEnd(bool may_be_long, std::optional<double> timeout) {
  options_.on_print = [](std::string_view text) {
    const nb::gil_scoped_acquire lock;
    try {
      nb::print(python_text(std::string(text)));
    } catch (nb::python_error& error) {  // sys.stdout is closed: no reason to end the call
      error.discard_as_unraisable("pt2: what the program prints");
    }
  };
  if (may_be_long && on_main_thread()) options_.should_stop = [this] { return is_interrupted(); };
  if (timeout) {
    if (!(*timeout >= 0))  // also true for nan
      raise({ErrorCode::argument,
             fmt::format("found a timeout of {}, expected seconds, 0 or more", *timeout), ""});
    const std::chrono::duration<double> seconds(std::min(*timeout, 1e9));
    options_.deadline = std::chrono::steady_clock::now() +
                        std::chrono::duration_cast<std::chrono::nanoseconds>(seconds);
  }
}

bool EarlyEnd::is_interrupted() {
  const auto now = std::chrono::steady_clock::now();
  if (interrupted_ || now - last_ < kBetweenSignals) return interrupted_;
  last_ = now;
  const nb::gil_scoped_acquire lock;
  interrupted_ = PyErr_CheckSignals() != 0;
  return interrupted_;
}

thread_local Raised* Raised::current_ = nullptr;

Callable::Callable(Model model)
    : model_(std::move(model)), result_(model_.shared()->convention.result, "") {
  const run::CallingConvention& convention = model_.shared()->convention;
  size_t first = 0;
  for (const CallArgument& argument : convention.arguments) {
    arguments_.push_back({python_text(argument.name), PyTree(argument.spec, argument.name), first});
    first += arguments_.back().tree.leaf_count();
    if (!argument.is_keyword) positional_count_ = arguments_.size();
  }
  for (const run::GraphOutput& output : convention.graph_outputs)
    if (output.is_callers()) is_result_.push_back(output.role == run::GraphOutput::Role::result);
  for (const ModelValue& output : convention.outputs)
    output_names_.push_back(python_text(output.name));
  // A session has its own copies of the storages that are written and of generators.
  const auto is_generator = [](const Value& weight) {
    const auto* object = weight.get_if<Object>();
    return object != nullptr && (*object)->class_name == kGeneratorClass;
  };
  has_state_ = !model_.shared()->written_storages().empty() ||
               std::ranges::any_of(model_.shared()->weights, is_generator);
  may_be_long_ = may_take_long(model_.program());
}

bool Callable::has_constants(const Argument& argument) const {
  const std::span all(model_.shared()->convention.constants);
  return std::ranges::all_of(all.subspan(argument.first, argument.tree.leaf_count()),
                             [](const auto& constant) { return constant.has_value(); });
}

// Keyword arguments are in the order of the call that the program was exported with, which need not
// be that of forward's parameters: by position, they could be taken for one another. PyTorch
// refuses them, too (torch/export/_tree_utils.py, reorder_kwargs).
void Callable::check_positional(size_t found) const {
  if (found <= positional_count_) return;
  std::string names;
  for (size_t i = positional_count_; i < arguments_.size(); ++i)
    names += (names.empty() ? "; the program takes '" : "', '") +
             nb::cast<std::string>(arguments_[i].name);
  raise({ErrorCode::argument,
         "found " + std::to_string(found) + " arguments without a keyword, expected at most " +
             std::to_string(positional_count_) + names + (names.empty() ? "" : "' by keyword"),
         ""});
}

void Callable::check_keywords(const nb::dict& kwargs, size_t positional) const {
  std::string names;
  for (const Argument& each : arguments_)
    names += (names.empty() ? " '" : ", '") + nb::cast<std::string>(each.name) + "'";
  for (const auto& [key, value] : kwargs) {
    const auto named = [&](const Argument& each) { return each.name.equal(key); };
    const auto at = std::ranges::find_if(arguments_, named) - arguments_.begin();
    const std::string name = printable(to_text(nb::repr(key), "the name of an argument"));
    if (static_cast<size_t>(at) == arguments_.size())
      raise({ErrorCode::argument,
             "there is no argument " + name + ", which was given by keyword; the program takes" +
                 (names.empty() ? " none" : names),
             ""});
    if (static_cast<size_t>(at) < positional)
      raise({ErrorCode::argument, name + " is given twice, by position and by keyword", ""});
  }
}

void Callable::add_constants(const Argument& argument, std::vector<Value>& inputs) const {
  const run::CallingConvention& convention = model_.shared()->convention;
  for (size_t i = argument.first; i < argument.first + argument.tree.leaf_count(); ++i) {
    if (!convention.constants[i])
      raise({ErrorCode::argument, "is missing; it is " + convention.inputs[i].type,
             "input '" + convention.inputs[i].name + "'"});
    inputs.push_back(*convention.constants[i]);
  }
}

std::vector<Value> Callable::inputs_of(nb::handle args, nb::handle kwargs, Flavour& flavour) const {
  const std::span<const ModelValue> expected = model_.inputs();
  std::vector<Value> inputs;
  inputs.reserve(expected.size());
  const auto positional = static_cast<size_t>(PyTuple_Size(args.ptr()));
  Py_ssize_t named = kwargs.is_valid() ? PyDict_Size(kwargs.ptr()) : 0;
  check_positional(positional);
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    if (i < positional) {
      argument.tree.flatten(PyTuple_GetItem(args.ptr(), static_cast<Py_ssize_t>(i)), expected,
                            inputs, flavour);
      continue;
    }
    PyObject* given =
        named > 0 ? PyDict_GetItemWithError(kwargs.ptr(), argument.name.ptr()) : nullptr;
    if (given != nullptr) {
      --named;
      argument.tree.flatten(nb::borrow(given), expected, inputs, flavour);
    } else {
      // An error about a misspelt keyword is clearer than one about the missing argument.
      if (named > 0 && !has_constants(argument))
        check_keywords(nb::borrow<nb::dict>(kwargs), positional);
      add_constants(argument, inputs);
    }
  }
  if (named > 0) check_keywords(nb::borrow<nb::dict>(kwargs), positional);
  return inputs;
}

std::vector<Value> Callable::run_released(Session& session, std::vector<Value>& inputs,
                                          std::optional<double> timeout) const {
  EarlyEnd end(may_be_long_, timeout);
  return call_released(end, [&] { return session.run(inputs, end.options()); });
}

nb::object Callable::call(Session& session, nb::handle args, nb::handle kwargs) const {
  Flavour flavour = Flavour::own;
  std::vector<Value> inputs = inputs_of(args, kwargs, flavour);
  std::vector<Value> outputs = run_released(session, inputs, std::nullopt);
  size_t kept = 0;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (is_result_[i] && kept++ != i) outputs[kept - 1] = std::move(outputs[i]);
  size_t next = 0;
  if (kept != result_.leaf_count())
    raise({ErrorCode::invalid, "the program gave another number of results", ""});
  return result_.unflatten(outputs, next, flavour);
}

nb::dict Callable::run(Session& session, nb::handle given, std::optional<double> timeout) const {
  Flavour flavour = Flavour::own;
  const std::span<const ModelValue> expected = model_.inputs();
  std::vector<Value> inputs;
  if (PyDict_Check(given.ptr())) {
    NamedTrees named;
    for (const auto& [key, value] : nb::borrow<nb::dict>(given)) {
      std::string name = to_text(key, "the name of an input");
      const auto input = std::ranges::find(expected, name, &ModelValue::name);
      named.emplace_back(std::move(name),
                         to_value(value, flavour, input == expected.end() ? nullptr : &*input));
    }
    inputs = unwrap(model_.order_inputs(named));
  } else {
    for (nb::handle value : given)
      inputs.push_back(to_value(
          value, flavour, inputs.size() < expected.size() ? &expected[inputs.size()] : nullptr));
  }
  std::vector<Value> outputs = run_released(session, inputs, timeout);
  nb::dict out;
  for (size_t i = 0; i < outputs.size(); ++i)
    out[output_names_[i]] = to_python(std::move(outputs[i]), flavour);
  return out;
}

Callable::Borrowed::Borrowed(const Callable& from) : from_(from) {
  if (!from.has_state_) {
    const std::lock_guard lock(from.mutex_);
    if (!from.idle_.empty()) {
      session_ = std::move(from.idle_.back());
      from.idle_.pop_back();
    }
  }
  if (session_ == nullptr) session_ = std::make_unique<Session>(from.model_);
}

Callable::Borrowed::~Borrowed() {
  if (from_.has_state_) return;
  const std::lock_guard lock(from_.mutex_);
  if (from_.idle_.size() < kMaxIdle) from_.idle_.push_back(std::move(session_));
}

}  // namespace pt2::python
