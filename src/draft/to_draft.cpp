#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "base/base64.h"
#include "base/strided_copy.h"
#include "base/try_at.h"
#include "draft/draft_schema.h"
#include "draft/storage.h"
#include "pt2/format/schema_json.h"
#include "schema/type.h"
#include "serde/to_schema.h"

namespace pt2 {
namespace {

using schema::ArgumentCase;
using DraftCase = draft::ArgumentCase;

// The draft's last dtype, bfloat16. Numbers up to this one are the same in the schema.
constexpr int64_t kLastDtype = 13;

// In the draft each tensor has its own storage. A few weights may be tied, but a file that uses one
// storage a thousand times is an attack on memory.
constexpr uint64_t kMaxCopies = 16;

draft::Device convert(const schema::Device& device) {
  return {.type = device.type, .index = device.index.value_or(kNoDeviceIndex)};
}

// Writes one graph and its nested graphs. A part that the draft cannot express is reported and
// replaced by a placeholder; the result is then discarded.
class GraphWriter {
 public:
  GraphWriter(const schema::Graph& source, std::string place, DraftReport& report)
      : source_(source), place_(std::move(place)), report_(report) {
    for (const auto& [name, meta] : source.tensor_values) used_.take(name);
    for (const auto& [name, value] : source.sym_int_values) used_.take(name);
  }

  // Names a parameter or buffer by its FQN; any other value with that name gets a new name.
  void name_state(const std::string& value, const std::string& fqn) { names_[value] = fqn; }

  draft::Graph write(size_t state_count) {
    make_room_for_state();
    draft::Graph out;
    for (const auto& [name, meta] : source_.tensor_values) {
      if (written_.insert(name_of(name)).second)
        out.tensor_values.push_back({.name = name_of(name), .meta = write_meta(meta, name)});
    }
    for (const auto& [name, value] : source_.sym_int_values)
      out.symint_values.push_back({.name = name_of(name), .value = write_sym(value)});
    refuse_table("symbolic floats", source_.sym_float_values.size());
    refuse_table("symbolic booleans", source_.sym_bool_values.size());
    refuse_table("custom objects", source_.custom_obj_values.size());
    write_ends(out, state_count);
    for (size_t i = 0; i < source_.nodes.size(); ++i) {
      node_place_ = fmt::format("{}.nodes[{}] ({})", place_, i, source_.nodes[i].target);
      out.nodes.push_back(write_node(source_.nodes[i]));
    }
    for (const auto& [number, name] : literals_)
      out.symint_values.push_back(
          {.name = name, .value = draft::SymInt::make<draft::SymIntCase::as_int>(number)});
    return out;
  }

 private:
  void refuse(std::string_view place, std::string_view what) {
    report_.inexpressible.push_back(fmt::format("{}: {}", place, what));
  }
  void refuse_table(std::string_view what, size_t count) {
    if (count > 0) refuse(place_, fmt::format("{} {}", count, what));
  }

  void make_room_for_state() {
    std::map<std::string, std::string> moved;
    for (const auto& [value, fqn] : names_)
      if (used_.contains(fqn) && !names_.contains(fqn)) moved.emplace(fqn, std::string());
    for (const auto& [value, fqn] : names_) used_.take(fqn);
    for (auto& [name, other] : moved) other = used_.make(name);
    names_.merge(moved);
  }

  const std::string& name_of(const std::string& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? name : found->second;
  }

  static draft::SymInt write_sym(const schema::SymInt& value) {
    if (const auto* literal = value.get_if<schema::SymIntCase::as_int>())
      return draft::SymInt::make<draft::SymIntCase::as_int>(*literal);
    const auto* expr = value.get_if<schema::SymIntCase::as_expr>();
    return draft::SymInt::make<draft::SymIntCase::as_sym>(expr ? expr->expr_str : std::string());
  }

  draft::ScalarType write_dtype(schema::ScalarType type, std::string_view place) {
    const auto number = static_cast<int64_t>(type);
    if (number < 1 || number > kLastDtype) refuse(place, fmt::format("the dtype {}", number));
    return static_cast<draft::ScalarType>(number);
  }

  draft::TensorMeta write_meta(const schema::TensorMeta& meta, const std::string& name) {
    const std::string place = fmt::format("{}.tensor_values['{}']", place_, name);
    draft::TensorMeta out{.dtype = write_dtype(meta.dtype, place),
                          .requires_grad = meta.requires_grad,
                          .device = convert(meta.device),
                          .storage_offset = write_sym(meta.storage_offset),
                          .layout = static_cast<draft::Layout>(draft_layout(meta.layout))};
    for (const schema::SymInt& size : meta.sizes) out.sizes.push_back(write_sym(size));
    for (const schema::SymInt& stride : meta.strides) out.strides.push_back(write_sym(stride));
    return out;
  }

  void write_ends(draft::Graph& out, size_t state_count) {
    const auto write = [&](const schema::Argument& argument, std::string_view end, size_t i,
                           draft::List<draft::TensorArgument>& list) {
      if (const auto* tensor = argument.get_if<ArgumentCase::as_tensor>()) {
        list.push_back({.name = name_of(tensor->name)});
      } else {
        refuse(fmt::format("{}.{}[{}]", place_, end, i), "it is not a tensor");
      }
    };
    for (size_t i = state_count; i < source_.inputs.size(); ++i)
      write(source_.inputs[i], "inputs", i, out.inputs);
    for (size_t i = 0; i < source_.outputs.size(); ++i)
      write(source_.outputs[i], "outputs", i, out.outputs);
  }

  draft::Node write_node(const schema::Node& node) {
    draft::Node out{.target = node.target};
    for (const schema::NamedArgument& input : node.inputs) {
      draft::Argument argument = write_argument(input.arg, input.name);
      // Files before 8.4 do not record the kind of an argument; passing it by name always works.
      if (input.name.empty() || input.kind == schema::ArgumentKind::POSITIONAL)
        out.args.push_back(std::move(argument));
      else
        out.kwargs.emplace_back(input.name, std::move(argument));
    }
    for (const schema::Argument& output : node.outputs) out.outputs.push_back(write_output(output));
    for (const auto& [key, value] : node.metadata) {
      if (key == "stack_trace")
        out.metadata.stack_trace = value;
      else if (key == "nn_module_stack")
        out.metadata.nn_module_stack = value;
      else
        out.metadata.extra.emplace_back(key, value);
    }
    if (node.name) out.metadata.extra.emplace_back(draft_key::kNodeName, *node.name);
    if (node.is_hop_single_tensor_return)
      out.metadata.extra.emplace_back(draft_key::kHopSingleReturn,
                                      *node.is_hop_single_tensor_return ? "true" : "false");
    return out;
  }

  draft::ReturnArgument write_output(const schema::Argument& output) {
    if (const auto* tensor = output.get_if<ArgumentCase::as_tensor>())
      return draft::ReturnArgument::make<draft::ReturnArgumentCase::as_tensor>(
          draft::TensorArgument{.name = name_of(tensor->name)});
    if (const auto* number = output.get_if<ArgumentCase::as_sym_int>()) {
      if (const auto* name = number->get_if<schema::SymIntArgumentCase::as_name>())
        return draft::ReturnArgument::make<draft::ReturnArgumentCase::as_symint>(
            draft::SymIntArgument{.name = name_of(*name)});
    }
    refuse(node_place_, fmt::format("a result that is {}, neither a tensor nor a symbolic integer",
                                    kind_of(output)));
    return {};
  }

  // Returns the kind, such as "as_optional_tensors".
  static std::string_view kind_of(const schema::Argument& argument) {
    const auto members = schema::type_of<schema::Argument>().members;
    const auto which = static_cast<size_t>(argument.which());
    return which < members.size() ? members[which].key : "of a newer schema";
  }

  draft::SymIntArgument write_symint(const schema::SymIntArgument& argument) {
    using enum schema::SymIntArgumentCase;
    if (const auto* name = argument.get_if<as_name>()) return {.name = name_of(*name)};
    const auto* literal = argument.get_if<as_int>();
    // The draft's lists of symbolic numbers cannot hold literals, so a literal becomes a value
    // named by its digits.
    std::string& name = literals_[literal ? *literal : 0];
    if (name.empty()) name = used_.make(std::to_string(literal ? *literal : 0));
    return {.name = name};
  }

  draft::Argument write_graph(const schema::GraphArgument& argument) {
    draft::GraphModule module{.name = argument.name};
    GraphWriter nested(*argument.graph, node_place_ + " graph " + argument.name, report_);
    module.graph = nested.write(0);
    if (argument.graph->is_single_tensor_return)
      module.metadata.emplace_back(draft_key::kSingleReturn, "true");
    return draft::Argument::make<DraftCase::as_gm>(std::move(module));
  }

  template <DraftCase which, class T>
  static draft::Argument make(T&& value) {
    return draft::Argument::make<which>(std::forward<T>(value));
  }

  draft::Argument write_argument(const schema::Argument& source, std::string_view name) {
    switch (source.which()) {
      case ArgumentCase::as_none:
        return draft::Argument::make<DraftCase::as_none>();
      case ArgumentCase::as_tensor:
        return write_tensor(source.get<ArgumentCase::as_tensor>());
      case ArgumentCase::as_tensors: {
        draft::List<draft::TensorArgument> tensors;
        for (const auto& tensor : source.get<ArgumentCase::as_tensors>())
          tensors.push_back({.name = name_of(tensor.name)});
        return make<DraftCase::as_tensors>(std::move(tensors));
      }
      case ArgumentCase::as_int:
        return make<DraftCase::as_int>(source.get<ArgumentCase::as_int>());
      case ArgumentCase::as_ints:
        return make<DraftCase::as_ints>(source.get<ArgumentCase::as_ints>());
      case ArgumentCase::as_float:
        return make<DraftCase::as_float>(source.get<ArgumentCase::as_float>());
      case ArgumentCase::as_floats:
        return make<DraftCase::as_floats>(source.get<ArgumentCase::as_floats>());
      case ArgumentCase::as_string:
        return make<DraftCase::as_str>(source.get<ArgumentCase::as_string>());
      case ArgumentCase::as_bool:
        return make<DraftCase::as_bool>(source.get<ArgumentCase::as_bool>());
      case ArgumentCase::as_bools:
        return make<DraftCase::as_bools>(source.get<ArgumentCase::as_bools>());
      case ArgumentCase::as_sym_int:
        return make<DraftCase::as_symint>(write_symint(source.get<ArgumentCase::as_sym_int>()));
      case ArgumentCase::as_sym_ints: {
        draft::List<draft::SymIntArgument> numbers;
        for (const auto& number : source.get<ArgumentCase::as_sym_ints>())
          numbers.push_back(write_symint(number));
        return make<DraftCase::as_symints>(std::move(numbers));
      }
      case ArgumentCase::as_scalar_type:
        return make<DraftCase::as_scalar_type>(
            write_dtype(source.get<ArgumentCase::as_scalar_type>(), node_place_));
      case ArgumentCase::as_memory_format:
        return make<DraftCase::as_memory_format>(
            static_cast<draft::MemoryFormat>(source.get<ArgumentCase::as_memory_format>()));
      case ArgumentCase::as_layout:
        return make<DraftCase::as_layout>(
            static_cast<draft::Layout>(draft_layout(source.get<ArgumentCase::as_layout>())));
      case ArgumentCase::as_device:
        return make<DraftCase::as_device>(convert(source.get<ArgumentCase::as_device>()));
      case ArgumentCase::as_graph:
        return write_graph(source.get<ArgumentCase::as_graph>());
      case ArgumentCase::as_sym_bool:
      case ArgumentCase::as_sym_bools:
      case ArgumentCase::as_optional_tensors:
      case ArgumentCase::as_strings:
      case ArgumentCase::as_custom_obj_v1:
      case ArgumentCase::as_custom_obj:
      case ArgumentCase::as_operator:
      case ArgumentCase::as_sym_float:
      case ArgumentCase::as_sym_floats:
      case ArgumentCase::as_optional_tensor:
      case ArgumentCase::as_complex:
      case ArgumentCase::as_nested_tensors:
      case ArgumentCase::as_int_lists:
      case ArgumentCase::as_string_to_argument:
      case ArgumentCase::as_float_lists:
      case ArgumentCase::unknown:
        refuse(node_place_, fmt::format("the argument '{}' is {}", name, kind_of(source)));
    }
    return {};
  }

  draft::Argument write_tensor(const schema::TensorArgument& tensor) {
    return make<DraftCase::as_tensor>(draft::TensorArgument{.name = name_of(tensor.name)});
  }

  const schema::Graph& source_;
  std::string place_;
  std::string node_place_;
  DraftReport& report_;
  Names used_;
  std::set<std::string> written_;
  std::map<std::string, std::string> names_;
  std::map<int64_t, std::string> literals_;
};

class ModuleWriter {
 public:
  ModuleWriter(const schema::ExportedProgram& source, const Program& program,
               const FindDraftState& find_state, const DraftOptions& options, DraftReport& report)
      : source_(source),
        program_(program),
        find_state_(find_state),
        options_(options),
        report_(report) {}

  DraftFile write() {
    const schema::GraphModule& module = source_.graph_module;
    GraphWriter graph(module.graph, "graph", report_);
    const size_t state_count = write_state(graph);
    check_outputs();
    file_.module.graph = graph.write(state_count);
    if (module.graph.is_single_tensor_return) put(draft_key::kSingleReturn, "true");
    write_calls();
    write_metadata();
    return std::move(file_);
  }

 private:
  void refuse(std::string place, std::string_view what) {
    report_.inexpressible.push_back(fmt::format("{}: {}", place, what));
  }
  void leave_out(std::string what) { report_.left_out.push_back(std::move(what)); }
  void put(std::string_view key, std::string value) {
    file_.module.metadata.emplace_back(std::string(key), std::move(value));
  }

  // Writes state as the first inputs, in torch.export's order. Returns their number.
  size_t write_state(GraphWriter& graph) {
    const std::vector<InputSpec>& specs = program_.signature.input_specs;
    size_t count = 0;
    for (size_t i = 0; i < specs.size(); ++i) {
      const std::string place = fmt::format("signature.input_specs[{}]", i);
      const bool is_tensor = specs[i].kind == InputKind::parameter ||
                             specs[i].kind == InputKind::buffer ||
                             specs[i].kind == InputKind::constant_tensor;
      if (specs[i].kind == InputKind::user_input) continue;
      if (!is_tensor || !specs[i].target) {
        refuse(place, fmt::format("a {}", input_kind_name(specs[i].kind)));
      } else if (i != count) {
        refuse(place, "state after the user inputs");
      } else {
        write_tensor(specs[i], place, graph);
      }
      ++count;
    }
    return count;
  }

  void write_tensor(const InputSpec& spec, const std::string& place, GraphWriter& graph) {
    const std::string& fqn = *spec.target;
    graph.name_state(spec.arg.name, fqn);
    if (spec.kind == InputKind::constant_tensor)
      leave_out(fmt::format("{}: that '{}' is a constant; it becomes a buffer", place, fqn));
    if (spec.kind == InputKind::buffer && !spec.persistent.value_or(true))
      leave_out(fmt::format("{}: that the buffer '{}' is not persistent", place, fqn));
    // Tied weights of 2.5 to 2.7 have two inputs with the same name.
    if (!written_.insert(fqn).second)
      return leave_out(fmt::format("{}: that '{}' is two inputs", place, fqn));
    const auto state = find_state_(spec);
    if (!state || !state->tensor.defined())
      return refuse(place, fmt::format("'{}' without its elements", fqn));
    const auto id = program_.graph.find_value(spec.arg.name);
    const TensorMeta* meta = id ? program_.graph.value(*id).tensor() : nullptr;
    if (storages_.insert(state->tensor.storage().get()).second)
      storage_bytes_ += state->tensor.storage()->size();
    else
      leave_out(fmt::format("{}: that '{}' shares its storage", place, fqn));
    auto& group =
        spec.kind == InputKind::parameter ? file_.module.parameters : file_.module.buffers;
    group.emplace_back(fqn, make_tensor(*state, meta, place));
  }

  // Copies the bytes from the first to the last element; the rest of the storage is unused.
  draft::Tensor make_tensor(const DraftState& state, const TensorMeta* graph_meta,
                            const std::string& place) {
    const pt2::Tensor& tensor = state.tensor;
    const auto number = static_cast<int64_t>(dtype_info(tensor.dtype()).schema_number);
    if (number < 1 || number > kLastDtype)
      refuse(place, fmt::format("the dtype {}", dtype_name(tensor.dtype())));
    draft::Tensor out;
    out.meta.dtype = static_cast<draft::ScalarType>(number);
    out.meta.requires_grad = state.requires_grad;
    out.meta.device = {.type = "cpu", .index = kNoDeviceIndex};
    if (graph_meta != nullptr)
      out.meta.device = {.type = graph_meta->device.type,
                         .index = graph_meta->device.index.value_or(kNoDeviceIndex)};
    using enum draft::SymIntCase;
    for (size_t i = 0; i < tensor.sizes().size(); ++i) {
      out.meta.sizes.push_back(draft::SymInt::make<as_int>(tensor.sizes()[i]));
      out.meta.strides.push_back(draft::SymInt::make<as_int>(tensor.strides()[i]));
    }
    out.meta.storage_offset = draft::SymInt::make<as_int>(0);
    out.meta.layout = draft::Layout::strided;
    const int64_t elements = *extent(tensor.sizes(), tensor.strides());
    const auto size = static_cast<size_t>(elements * dtype_size(tensor.dtype()));
    copied_bytes_ += size;
    if (copied_bytes_ > kMaxCopies * storage_bytes_)
      refuse(place, fmt::format("more than {} copies of a shared storage", kMaxCopies));
    if (!report_.inexpressible.empty()) return out;  // no copies for a discarded result
    std::vector<std::byte> bytes(size);
    if (!bytes.empty()) std::copy_n(tensor.raw_data(), bytes.size(), bytes.data());
    swap_byte_order(bytes, tensor.dtype());
    out.storage = make_storage(bytes);
    return out;
  }

  draft::Storage make_storage(std::span<const std::byte> bytes) {
    using enum draft::StorageDataCase;
    draft::Storage out;
    if (options_.external_file.empty()) {
      out.data_location = draft::DataLocation::Internal;
      out.data.set<Buffer>(draft::Buffer{.buffer = encode_base64(bytes)});
      return out;
    }
    out.data_location = draft::DataLocation::External;
    out.data.set<ExternalBuffer>(
        draft::ExternalBuffer{.location = options_.external_file,
                              .offset = std::to_string(file_.external.size()),
                              .length = std::to_string(bytes.size()),
                              .checksum = print_checksum(bytes)});
    file_.external.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return out;
  }

  void check_outputs() {
    const std::vector<OutputSpec>& specs = program_.signature.output_specs;
    for (size_t i = 0; i < specs.size(); ++i)
      if (specs[i].kind != OutputKind::user_output)
        refuse(fmt::format("signature.output_specs[{}]", i),
               fmt::format("a {}", output_kind_name(specs[i].kind)));
  }

  static std::string lines(const std::vector<std::string>& items) {
    return fmt::format("{}", fmt::join(items, "\n"));
  }

  void write_calls() {
    size_t calls = 0, plain = 0;
    for (const ModuleCallEntry& entry : program_.module_call_graph) {
      if (entry.fqn.empty() && entry.signature) {
        put(draft_key::kInSpec, entry.signature->in_spec);
        put(draft_key::kOutSpec, entry.signature->out_spec);
        if (entry.signature->forward_arg_names)
          put(draft_key::kArgumentNames, lines(*entry.signature->forward_arg_names));
      } else {
        ++(entry.signature ? calls : plain);
      }
    }
    if (calls > 0) leave_out(fmt::format("module_call_graph: signatures of submodules: {}", calls));
    if (plain > 0) leave_out(fmt::format("module_call_graph: names of submodules: {}", plain));
    if (!program_.namedtuple_fields.empty())
      leave_out(
          fmt::format("treespec_namedtuple_fields: types: {}", program_.namedtuple_fields.size()));
    if (!program_.embedded_constants.empty())
      refuse("graph.constants", "constants inside the program (schema 1)");
  }

  void write_metadata() {
    put(draft_key::kDialect, std::string(program_.dialect()));
    if (!program_.torch_version.empty()) put(draft_key::kTorchVersion, program_.torch_version);
    for (const auto& [name, version] : program_.opset_version)
      put(std::string(draft_key::kOpset) + name, std::to_string(version));
    const auto bound = [](const std::optional<int64_t>& number) {
      return number ? std::to_string(*number) : std::string("null");
    };
    for (const auto& [key, range] : source_.range_constraints)
      put(std::string(draft_key::kRange) + key,
          fmt::format("[{}, {}]", bound(range.min_val), bound(range.max_val)));
    if (!program_.guards_code.empty()) put(draft_key::kGuards, lines(program_.guards_code));
    for (const auto& [key, value] : program_.metadata) {
      if (key.starts_with(draft_key::kPrefix))
        refuse("graph_module.metadata",
               fmt::format("the key '{}', which this library uses for its own entries", key));
      put(key, value);
    }
  }

  const schema::ExportedProgram& source_;
  const Program& program_;
  const FindDraftState& find_state_;
  const DraftOptions& options_;
  DraftReport& report_;
  DraftFile file_;
  std::set<std::string> written_;
  std::set<const void*> storages_;
  uint64_t storage_bytes_ = 0;
  uint64_t copied_bytes_ = 0;
};

// Reports sizes with a hint, which the draft's symbols cannot hold.
void report_hints(const schema::Graph& graph, DraftReport& report) {
  size_t hints = 0;
  const auto count = [&](const schema::SymInt& value) {
    const auto* expr = value.get_if<schema::SymIntCase::as_expr>();
    hints += expr != nullptr && expr->hint ? 1 : 0;
  };
  for (const auto& [name, meta] : graph.tensor_values) {
    for (const schema::SymInt& size : meta.sizes) count(size);
    for (const schema::SymInt& stride : meta.strides) count(stride);
    count(meta.storage_offset);
  }
  for (const auto& [name, value] : graph.sym_int_values) count(value);
  if (hints > 0)
    report.left_out.push_back(fmt::format("graph: hints of symbolic sizes: {}", hints));
}

}  // namespace

Result<DraftFile> to_draft(const Program& program, const FindDraftState& find_state,
                           const DraftOptions& options, DraftReport& report) {
  Program newest = program;
  newest.schema_version = {schema::kNewestVersion / 100, schema::kNewestVersion % 100};
  const schema::ExportedProgram source = to_schema(newest);
  DraftFile file = ModuleWriter(source, newest, find_state, options, report).write();
  report_hints(source.graph_module.graph, report);
  if (report.inexpressible.empty()) return file;
  const size_t more = report.inexpressible.size() - 1;
  return Error{ErrorCode::unsupported,
               fmt::format("the draft has no form for {}{}", report.inexpressible.front(),
                           more > 0 ? fmt::format(" (and {} more)", more) : ""),
               {}};
}

}  // namespace pt2
