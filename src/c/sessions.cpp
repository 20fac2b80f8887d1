#include "c/calls.h"
#include "c/models.h"
#include "c/packages.h"
#include "c/values.h"
#include "pt2/tools/run_trace.h"
#include "run/model_shared.h"

struct pt2_session {
  explicit pt2_session(pt2::Session started) : session(std::move(started)) {}

  pt2::Session session;
  pt2_observer observer = nullptr;
  void* observer_user = nullptr;
  std::atomic_flag busy{};
};

namespace pt2::c {
namespace {

Result<void> with_session(pt2_session* session, auto&& body) {
  return with_handle(session, "session", [&] { return body(session->session); });
}

Result<std::vector<Value>> read_inputs(const Session& session, const pt2_value* const* inputs,
                                       size_t count) {
  const run::CallingConvention& convention = session.shared().convention;
  if (count != convention.inputs.size()) return run::wrong_input_count(convention, count);
  if (count > 0) PT2_TRY_VOID(expect(inputs, "inputs"));
  std::vector<Value> out;
  for (size_t i = 0; i < count; ++i) {
    if (inputs[i] == nullptr && !convention.constants[i])
      return Error{ErrorCode::argument, "found NULL, expected " + convention.inputs[i].type,
                   "input '" + convention.inputs[i].name + "'"};
    out.push_back(inputs[i] == nullptr ? *convention.constants[i] : inputs[i]->value);
  }
  return out;
}

Result<void> check_output_count(const Session& session, size_t count, const void* outputs) {
  const size_t expected = session.shared().convention.outputs.size();
  if (count > 0) PT2_TRY_VOID(expect(outputs, "outputs"));
  if (count == expected) return {};
  return argument_error("found places for " + std::to_string(count) + " outputs, expected " +
                        std::to_string(expected));
}

Result<void> give_outputs(std::vector<Value> results, pt2_value** outputs) {
  OwnedValues owned(results.size());
  for (size_t i = 0; i < results.size(); ++i) owned.values()[i] = make_value(std::move(results[i]));
  for (size_t i = 0; i < results.size(); ++i)
    outputs[i] = std::exchange(owned.values()[i], nullptr);
  return {};
}

Result<std::vector<Value>> read_views(const pt2_tensor_view* views, size_t count,
                                      const char* name) {
  if (count > 0) PT2_TRY_VOID(expect(views, name));
  std::vector<Value> out;
  out.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Result<Tensor> tensor = read_view(&views[i], nullptr);
    if (!tensor)
      return at(std::move(tensor).error(), std::string(name) + "[" + std::to_string(i) + "]");
    out.emplace_back(*std::move(tensor));
  }
  return out;
}

Observer observer_of(pt2_observer observer, void* user) {
  if (observer == nullptr) return {};
  return [observer, user](const ObservedValue& observed) -> Result<void> {
    const pt2_value value{.value = observed.value};
    const pt2_observed told = {.size = sizeof(pt2_observed),
                               .name = observed.name.c_str(),
                               .target = observed.node.target.c_str(),
                               .value = &value};
    pt2_error* error = observer(&told, user);
    if (error != nullptr) return take_error(error);
    return {};
  };
}

Result<void> trace(pt2_session& handle, std::vector<Value> inputs, const std::string& path) {
  struct Restore {
    pt2_session& handle;
    ~Restore() { handle.session.observe(observer_of(handle.observer, handle.observer_user)); }
  } const restore{handle};
  PT2_TRY(const std::unique_ptr<TensorWriter> writer, TensorWriter::create(path));
  PT2_TRY_VOID(write_inputs(handle.session.program(), inputs, *writer));
  handle.session.observe([&](const ObservedValue& observed) -> Result<void> {
    const std::optional<Tensor> tensor = as_tensor(observed.value);
    return tensor ? writer->add(observed.name, *tensor) : Result<void>();
  });
  const Result<std::vector<Value>> outputs = handle.session.run(inputs);
  if (!outputs) return outputs.error();
  return writer->finish();
}

}  // namespace
}  // namespace pt2::c

using namespace pt2::c;
using pt2::Result;
using pt2::Session;
using pt2::Tensor;
using pt2::Value;

pt2_error* pt2_stop_create(pt2_stop** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(out, "out"));
    *out = new pt2_stop;
    return {};
  });
}

void pt2_stop_request(pt2_stop* stop) {
  if (stop != nullptr) stop->source.request_stop();
}

void pt2_stop_free(pt2_stop* stop) { delete stop; }

pt2_error* pt2_session_create(const pt2_model* model, const pt2_session_options* given,
                              pt2_session** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(model, "model"));
    PT2_TRY_VOID(expect(out, "out"));
    PT2_TRY(const pt2_session_options options, read_options(given));
    PT2_TRY_VOID(check_threads(options.threads));
    *out = new pt2_session(Session(model->model, {.threads = options.threads}));
    return {};
  });
}

pt2_error* pt2_session_fork(pt2_session* session, pt2_session** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(out, "out"));
    return with_session(session, [&](Session& from) -> Result<void> {
      *out = new pt2_session(from.fork());
      return {};
    });
  });
}

void pt2_session_free(pt2_session* session) { delete session; }

pt2_error* pt2_session_seed(pt2_session* session, uint64_t seed) {
  return guarded([&] {
    return with_session(session, [&](Session& to) -> Result<void> {
      to.seed(seed);
      return {};
    });
  });
}

pt2_error* pt2_session_run(pt2_session* session, const pt2_value* const* inputs, size_t input_count,
                           const pt2_call_options* options, pt2_value** outputs,
                           size_t output_count) {
  return guarded([&] {
    return with_session(session, [&](Session& runs) -> Result<void> {
      Call call;
      PT2_TRY_VOID(Call::read(options, call));
      PT2_TRY(std::vector<Value> values, read_inputs(runs, inputs, input_count));
      PT2_TRY_VOID(check_output_count(runs, output_count, outputs));
      PT2_TRY(std::vector<Value> results, runs.run(values, call.options()));
      return give_outputs(std::move(results), outputs);
    });
  });
}

pt2_error* pt2_session_run_into(pt2_session* session, const pt2_value* const* inputs,
                                size_t input_count, const pt2_call_options* options,
                                pt2_value** outputs, size_t output_count) {
  return guarded([&] {
    return with_session(session, [&](Session& runs) -> Result<void> {
      Call call;
      PT2_TRY_VOID(Call::read(options, call));
      PT2_TRY(std::vector<Value> values, read_inputs(runs, inputs, input_count));
      PT2_TRY_VOID(check_output_count(runs, output_count, outputs));
      std::vector<Value> results(output_count);
      for (size_t i = 0; i < output_count; ++i) {
        if (outputs[i] == nullptr) continue;
        if (!outputs[i]->value.is<Tensor>())
          return argument_error("found " + outputs[i]->value.type_text() +
                                " for an output, expected a tensor or NULL");
        results[i] = outputs[i]->value;
      }
      PT2_TRY_VOID(runs.run_into(values, results, call.options()));
      OwnedValues owned(output_count);
      for (size_t i = 0; i < output_count; ++i)
        if (outputs[i] == nullptr) owned.values()[i] = make_value(std::move(results[i]));
      for (size_t i = 0; i < output_count; ++i)
        if (outputs[i] == nullptr) outputs[i] = std::exchange(owned.values()[i], nullptr);
      return {};
    });
  });
}

pt2_error* pt2_session_run_views(pt2_session* session, const pt2_tensor_view* inputs,
                                 size_t input_count, const pt2_tensor_view* outputs,
                                 size_t output_count, const pt2_call_options* options) {
  return guarded([&] {
    return with_session(session, [&](Session& runs) -> Result<void> {
      Call call;
      PT2_TRY_VOID(Call::read(options, call));
      PT2_TRY(std::vector<Value> values, read_views(inputs, input_count, "inputs"));
      PT2_TRY(std::vector<Value> results, read_views(outputs, output_count, "outputs"));
      return runs.run_into(values, results, call.options());
    });
  });
}

pt2_error* pt2_session_get_state(pt2_session* session, const char* name, size_t length,
                                 pt2_value** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(out, "out"));
    PT2_TRY(const std::string_view wanted, read_text(name, length, "name"));
    return with_session(session, [&](Session& from) -> Result<void> {
      const Tensor* tensor = from.state(wanted);
      if (tensor == nullptr)
        return argument_error("there is no state '" + std::string(wanted) + "'");
      *out = make_value(*tensor);
      return {};
    });
  });
}

pt2_error* pt2_session_set_state(pt2_session* session, const char* name, size_t length,
                                 const pt2_tensor_view* view) {
  return guarded([&]() -> Result<void> {
    PT2_TRY(const std::string_view wanted, read_text(name, length, "name"));
    PT2_TRY(const Tensor source, read_view(view, nullptr));
    return with_session(session,
                        [&](Session& to) -> Result<void> { return set_state(to, wanted, source); });
  });
}

pt2_error* pt2_session_observe(pt2_session* session, pt2_observer observer, void* user) {
  return guarded([&] {
    return with_session(session, [&](Session& to) -> Result<void> {
      to.observe(observer_of(observer, user));
      session->observer = observer;
      session->observer_user = user;
      return {};
    });
  });
}

pt2_error* pt2_session_trace(pt2_session* session, const pt2_value* const* inputs,
                             size_t input_count, const char* path, size_t path_length) {
  return guarded([&]() -> Result<void> {
    PT2_TRY(const Source target, file_source(path, path_length));
    return with_session(session, [&](Session& runs) -> Result<void> {
      PT2_TRY(std::vector<Value> values, read_inputs(runs, inputs, input_count));
      return trace(*session, std::move(values), std::string(target.name));
    });
  });
}
