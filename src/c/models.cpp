#include "c/models.h"

#include "c/packages.h"
#include "c/values.h"
#include "ops/loops.h"
#include "run/model_shared.h"

namespace pt2::c {
namespace {

pt2_place place_of(const ModelValue& value, const PlaceSizes& sizes, bool is_optional) {
  const bool is_tensor = value.tensor != nullptr;
  const std::optional<Dtype> dtype = is_tensor ? value.tensor->dtype.dtype() : std::nullopt;
  return {.name = value.name.c_str(),
          .type = value.type.c_str(),
          .is_tensor = is_tensor,
          .is_keyword = value.is_keyword,
          .is_optional = is_optional,
          .dtype = dtype ? to_c(*dtype) : pt2_dtype{},
          .dims = static_cast<int32_t>(sizes.sizes.size()),
          .sizes = sizes.sizes.data(),
          .minimum = sizes.minimum.data(),
          .maximum = sizes.maximum.data()};
}

}  // namespace

PlaceSizes place_sizes(const Program& program, const ModelValue& value) {
  PlaceSizes out;
  if (value.tensor == nullptr) return out;
  for (const SymInt& size : value.tensor->sizes) {
    SymRange range;
    if (!size.is_symbolic())
      range = {size.literal(), size.literal()};
    else if (const RangeConstraint* constraint = find_range(program, size.expr()))
      range = constraint->range;
    out.sizes.push_back(size.is_symbolic() ? -1 : size.literal());
    out.minimum.push_back(range.min.value_or(0));
    out.maximum.push_back(range.is_unbounded() ? INT64_MAX : *range.max);
  }
  return out;
}

std::vector<std::string> state_names(const Program& program) {
  const GraphSignature& signature = program.signature;
  std::vector<std::string> out;
  for (const std::vector<std::string>& names :
       {signature.parameters(), signature.buffers(), signature.lifted_tensor_constants()})
    out.insert(out.end(), names.begin(), names.end());
  return out;
}

Result<void> set_state(Session& session, std::string_view name, const Tensor& source) {
  // Compared before mutable_state is called, which gives the state memory of its own.
  const Tensor* target = session.state(name);
  if (target != nullptr && (source.dtype() != target->dtype() || source.sizes() != target->sizes()))
    return Error{ErrorCode::argument,
                 "found " + source.type_text() + ", expected " + target->type_text(),
                 "state '" + std::string(name) + "'"};
  PT2_TRY(Tensor written, session.mutable_state(name));
  // The source may be a view of the state itself, as results are. Only copying one block allows it.
  const bool are_blocks = source.is_contiguous() && written.is_contiguous();
  ops::copy_elements(written, are_blocks ? source : source.clone());
  return {};
}

}  // namespace pt2::c

using namespace pt2::c;
using pt2::Result;

pt2_model::pt2_model(pt2::Model loaded) : model(std::move(loaded)) {
  for (const pt2::ModelValue& each : model.inputs())
    inputs.push_back(place_sizes(model.program(), each));
  for (const pt2::ModelValue& each : model.outputs())
    outputs.push_back(place_sizes(model.program(), each));
  for (const pt2::CallArgument& argument : model.arguments())
    argument_trees.push_back(pt2::print_tree_spec(argument.spec));
  result_tree = pt2::print_tree_spec(model.shared()->convention.result);
  states = state_names(model.program());
}

namespace pt2::c {
namespace {

Result<void> make_model(std::shared_ptr<const Package> package, const pt2_load_options& options,
                        pt2_model** out) {
  PT2_TRY(const LoadOptions settings, load_options(options));
  PT2_TRY(Model model, Model::from_package(std::move(package), settings));
  *out = new pt2_model(std::move(model));
  return {};
}

Result<void> load(const Source& source, const pt2_load_options* given, pt2_model** out) {
  PT2_TRY_VOID(expect(out, "out"));
  PT2_TRY(const pt2_load_options options, read_options(given));
  PT2_TRY(std::shared_ptr<const Package> package, open_source(source, options));
  return make_model(std::move(package), options, out);
}

}  // namespace
}  // namespace pt2::c

pt2_error* pt2_model_load(const char* path, size_t path_length, const pt2_load_options* options,
                          pt2_model** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY(const Source source, file_source(path, path_length));
    return load(source, options, out);
  });
}

pt2_error* pt2_model_load_memory(const void* bytes, size_t byte_count, const char* name,
                                 size_t name_length, pt2_release release, void* user,
                                 const pt2_load_options* options, pt2_model** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY(const Source source, memory_source(bytes, byte_count, name, name_length));
    PT2_TRY_VOID(load(source, options, out));
    source.owner->set(release, user);
    return {};
  });
}

pt2_error* pt2_model_from_package(const pt2_package* package, const pt2_load_options* options,
                                  pt2_model** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(package, "package"));
    PT2_TRY_VOID(expect(out, "out"));
    PT2_TRY(const pt2_load_options settings, read_options(options));
    return make_model(package->package, settings, out);
  });
}

void pt2_model_free(pt2_model* model) { delete model; }

uint64_t pt2_model_trim(const pt2_model* model) {
  return model == nullptr ? 0 : model->model.trim();
}

size_t pt2_model_input_count(const pt2_model* model) {
  return model == nullptr ? 0 : model->inputs.size();
}

size_t pt2_model_output_count(const pt2_model* model) {
  return model == nullptr ? 0 : model->outputs.size();
}

pt2_error* pt2_model_get_input(const pt2_model* model, size_t index, pt2_place* out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(model, "model"));
    if (index >= model->inputs.size())
      return argument_error("there is no input " + std::to_string(index));
    const bool is_optional = model->model.shared()->convention.constants[index].has_value();
    return answer(place_of(model->model.inputs()[index], model->inputs[index], is_optional), out);
  });
}

pt2_error* pt2_model_get_output(const pt2_model* model, size_t index, pt2_place* out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(model, "model"));
    if (index >= model->outputs.size())
      return argument_error("there is no output " + std::to_string(index));
    return answer(place_of(model->model.outputs()[index], model->outputs[index], false), out);
  });
}

pt2_error* pt2_model_find_input(const pt2_model* model, const char* name, size_t length,
                                size_t* out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(model, "model"));
    PT2_TRY_VOID(expect(out, "out"));
    PT2_TRY(const std::string_view wanted, read_text(name, length, "name"));
    const std::span<const pt2::ModelValue> inputs = model->model.inputs();
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].name == wanted) {
        *out = i;
        return {};
      }
    return argument_error("there is no input '" + std::string(wanted) + "'");
  });
}

size_t pt2_model_argument_count(const pt2_model* model) {
  return model == nullptr ? 0 : model->argument_trees.size();
}

const char* pt2_model_argument_name(const pt2_model* model, size_t index, size_t* length) {
  if (index >= pt2_model_argument_count(model)) return nullptr;
  return give(model->model.arguments()[index].name, length);
}

const char* pt2_model_argument_tree(const pt2_model* model, size_t index, size_t* length) {
  if (index >= pt2_model_argument_count(model)) return nullptr;
  return give(model->argument_trees[index], length);
}

const char* pt2_model_result_tree(const pt2_model* model, size_t* length) {
  return give(model == nullptr ? std::string_view() : model->result_tree, length);
}

size_t pt2_model_state_count(const pt2_model* model) {
  return model == nullptr ? 0 : model->states.size();
}

const char* pt2_model_state_name(const pt2_model* model, size_t index, size_t* length) {
  if (index >= pt2_model_state_count(model)) return nullptr;
  return give(model->states[index], length);
}
