#include "pt2/ir/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/structure.h"
#include "ir/symbols/sym_int.h"
#include "ir/target.h"

namespace pt2 {
namespace {

constexpr SchemaVersion kBuiltVersion{.major = 8, .minor = 20};
constexpr std::string_view kBuiltTorchVersion = "2.15.0";
constexpr int64_t kAtenOpset = 10;

// "torch.ops.aten.linear.default" makes "linear"; "_operator.mul" makes "mul".
std::string base_name(std::string_view target) {
  if (!target.starts_with(kOps)) return std::string(target.substr(target.rfind('.') + 1));
  target.remove_prefix(kOps.size());
  target.remove_prefix(std::min(target.find('.') + 1, target.size()));
  return std::string(target.substr(0, target.find('.')));
}

std::string tuple_of_leaves(size_t count) {
  constexpr std::string_view kLeaf = R"({"type": null, "context": null, "children_spec": []})";
  std::string children;
  for (size_t i = 0; i < count; ++i) children += fmt::format("{}{}", i == 0 ? "" : ", ", kLeaf);
  return fmt::format(R"({{"type": "builtins.tuple", "context": "null", "children_spec": [{}]}})",
                     children);
}

// True if the number is literal, or its expression belongs to the pool, which owns one for each
// text.
template <class T>
bool is_owned(ExprPool& pool, const Symbolic<T>& number) {
  if (!number.is_symbolic()) return true;
  const Result<const SpelledExpr*> own = pool.parse(number.spelled()->text);
  return own && *own == number.spelled();
}

bool is_owned(ExprPool& pool, const TensorMeta& meta) {
  const auto owned = [&](const SymInt& number) { return is_owned(pool, number); };
  return std::ranges::all_of(meta.sizes, owned) && std::ranges::all_of(meta.strides, owned) &&
         owned(meta.storage_offset);
}

// True if the signature can hold the argument as a result of the program.
bool is_result(const Argument& argument) {
  return argument.is<ValueId>() || argument.is<None>() || argument.is<bool>() ||
         argument.is<int64_t>() || argument.is<double>() || argument.is<std::string>();
}

}  // namespace

NamedArgument arg(std::string name, Argument value) {
  return {.name = std::move(name), .arg = std::move(value), .kind = ArgumentKind::positional};
}
NamedArgument kwarg(std::string name, Argument value) {
  return {.name = std::move(name), .arg = std::move(value), .kind = ArgumentKind::keyword};
}
NamedArgument arg(Argument value) { return arg("", std::move(value)); }

Argument list(ListKind kind, std::vector<Argument> items) {
  return Argument(ArgumentList{.kind = kind, .items = std::move(items)});
}
Argument tensors(const std::vector<ValueId>& values) {
  return list(ListKind::tensors, std::vector<Argument>(values.begin(), values.end()));
}
Argument ints(const std::vector<int64_t>& values) {
  return list(ListKind::ints, std::vector<Argument>(values.begin(), values.end()));
}

Result<SymInt> GraphBuilder::spelled(std::string_view text, int64_t hint) {
  PT2_TRY(const SpelledExpr* parsed, expressions_->parse(text));
  PT2_TRY(const SpelledExpr* expression,
          expressions_->parse(print_expr(parsed->expr, ExprSpelling::srepr)));
  return SymInt(expression, hint);
}

TensorMeta GraphBuilder::tensor(Dtype dtype, std::vector<SymInt> sizes) {
  TensorMeta meta{.dtype = {dtype_info(dtype).schema_number}};
  meta.strides.resize(sizes.size());
  SymInt stride(int64_t{1});
  const auto hint = [](const SymInt& value) { return known_number(value).value_or(1); };
  for (size_t i = sizes.size(); i-- > 0;) {
    meta.strides[i] = stride;
    if (i == 0) break;
    const SymInt& size = sizes[i];
    // A dimension of size 0 counts as size 1 in the strides of an empty tensor.
    int64_t product = 0;
    if (__builtin_mul_overflow(hint(stride), std::max<int64_t>(hint(size), 1), &product))
      product = INT64_MAX;
    if (!size.is_symbolic() && !stride.is_symbolic()) {
      stride = SymInt(product);
    } else if (stride == 1) {
      stride = size;
    } else {
      // The product of two parsed sizes parses, unless it is too deep.
      Result<SymInt> next = spelled(fmt::format("({})*({})", print(stride), print(size)), product);
      if (!next) refuse(next.error());
      stride = next ? *next : SymInt(product);
    }
  }
  meta.sizes = std::move(sizes);
  return meta;
}

ValueId GraphBuilder::add_value(std::string_view name,
                                std::variant<TensorMeta, SymInt, SymFloat, SymBool> meta) {
  GraphValue value{.name = unused_name(name)};
  std::visit(
      [&](auto& held) {
        if (!is_owned(*expressions_, held))
          refuse({ErrorCode::invalid, "found a size of another builder", value.name});
        value.meta = std::move(held);
      },
      meta);
  return graph_.add_value(std::move(value)).value();
}

std::string GraphBuilder::unused_name(std::string_view name) {
  std::string free = graph_.unused_name(name);
  for (size_t i = 1; node_names_.contains(free); ++i)
    free = graph_.unused_name(fmt::format("{}_{}", name, i));
  return free;
}

void GraphBuilder::refuse(Error error) {
  if (!mistake_) mistake_ = std::move(error);
}

bool GraphBuilder::takes(const Argument& argument, std::string_view place) {
  bool known = true;
  for_each_value(argument, [&](ValueId id) {
    if (graph_.contains(id)) return;
    known = false;
    refuse({ErrorCode::invalid,
            fmt::format("found value {}, expected one that this builder gave",
                        static_cast<uint32_t>(id)),
            std::string(place)});
  });
  for_each_subgraph(argument, [&](SubgraphId id) {
    if (static_cast<size_t>(id) < graph_.subgraphs().size()) return;
    known = false;
    refuse({ErrorCode::invalid,
            fmt::format("found graph {}, expected one that subgraph() of this builder gave",
                        static_cast<uint32_t>(id)),
            std::string(place)});
  });
  return known;
}

ValueId GraphBuilder::input(std::string_view name, TensorMeta meta) {
  const ValueId id = add_value(name, std::move(meta));
  graph_.add_input(Argument(id));
  return id;
}

void GraphBuilder::add_call(std::string target, std::vector<NamedArgument> inputs,
                            const std::vector<ValueId>& results, bool is_tuple) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!takes(inputs[i].arg, fmt::format("argument {} of {}", i, target))) return;
  Node node{.target = std::move(target), .inputs = std::move(inputs)};
  node.outputs.assign(results.begin(), results.end());
  if (node.target.starts_with("torch.ops.higher_order."))
    node.is_hop_single_tensor_return = !is_tuple;
  // PyTorch creates a node for each element taken from a tuple. All node names are distinct.
  if (!is_tuple) {
    node.name = graph_.value(results.front()).name;
  } else {
    node.name = unused_name(base_name(node.target));
    node_names_.insert(*node.name);
  }
  graph_.add_node(std::move(node));
}

ValueId GraphBuilder::call(std::string target, std::vector<NamedArgument> inputs,
                           std::variant<TensorMeta, SymInt, SymFloat, SymBool> result) {
  const ValueId id = add_value(base_name(target), std::move(result));
  add_call(std::move(target), std::move(inputs), {id}, false);
  return id;
}

std::vector<ValueId> GraphBuilder::call_many(std::string target, std::vector<NamedArgument> inputs,
                                             std::vector<TensorMeta> results) {
  std::vector<ValueId> ids;
  for (TensorMeta& meta : results) ids.push_back(add_value("getitem", std::move(meta)));
  add_call(std::move(target), std::move(inputs), ids, true);
  return ids;
}

void GraphBuilder::output(Argument argument) {
  if (takes(argument, fmt::format("output {}", graph_.outputs().size())))
    graph_.add_output(std::move(argument));
}

Argument GraphBuilder::subgraph(std::string name, GraphBuilder graph) {
  if (graph.mistake_) refuse(at(*std::move(graph.mistake_), fmt::format("graph '{}': ", name)));
  if (graph.expressions_ != expressions_)
    refuse({ErrorCode::invalid, "found a graph of another builder, expected one that nested() gave",
            fmt::format("graph '{}'", name)});
  graph.graph_.name = std::move(name);
  return Argument(graph_.add_subgraph(std::move(graph.graph_)));
}

ProgramBuilder::ProgramBuilder() : GraphBuilder(std::make_shared<ExprPool>()) {
  program_.schema_version = kBuiltVersion;
  program_.torch_version = kBuiltTorchVersion;
  program_.verifiers = {"TRAINING"};
  program_.opset_version = {{"aten", kAtenOpset}};
  program_.expressions = expressions_;
}

SymInt ProgramBuilder::dim(std::string_view name, SymRange range, int64_t hint) {
  const std::string place = fmt::format("dim '{}'", name);
  if (range.is_empty())
    refuse({ErrorCode::invalid,
            fmt::format("the range {} is empty, expected the least size first", print(range)),
            place});
  // PyTorch marks every size as positive, even a size that may be 0.
  expressions_->symbol(name, "positive=True, integer=True");
  const Result<SymInt> symbol = spelled(name, hint);
  const Result<const SpelledExpr*> key = expressions_->parse(name);
  if (!symbol || !key || !(*key)->expr.is_symbol()) {
    refuse({ErrorCode::malformed, "the name is no symbol, expected one like s0", place});
    return SymInt(hint);
  }
  const auto is_same = [&](const RangeConstraint& each) { return each.key->expr == (*key)->expr; };
  if (std::ranges::any_of(program_.range_constraints, is_same))
    refuse({ErrorCode::invalid, "the dimension has a range already", place});
  program_.range_constraints.push_back({.key = *key, .range = std::move(range)});
  return *symbol;
}

ValueId ProgramBuilder::add_input(InputSpec spec, std::string_view name,
                                  std::variant<TensorMeta, SymInt> meta) {
  const ValueId id = std::visit([&](auto& held) { return add_value(name, std::move(held)); }, meta);
  spec.arg = spec_of(graph_, Argument(id));
  inputs_.push_back({std::move(spec), id});
  return id;
}

ValueId ProgramBuilder::parameter(std::string fqn, TensorMeta meta) {
  const std::string name = placeholder_name("p_", fqn);
  meta.requires_grad = true;
  return add_input({.kind = InputKind::parameter, .target = std::move(fqn)}, name, std::move(meta));
}

ValueId ProgramBuilder::buffer(std::string fqn, TensorMeta meta, bool persistent) {
  const std::string name = placeholder_name("b_", fqn);
  return add_input({.kind = InputKind::buffer, .target = std::move(fqn), .persistent = persistent},
                   name, std::move(meta));
}

ValueId ProgramBuilder::constant(std::string fqn, TensorMeta meta) {
  const std::string name = placeholder_name("c_", fqn);
  return add_input({.kind = InputKind::constant_tensor, .target = std::move(fqn)}, name,
                   std::move(meta));
}

ValueId ProgramBuilder::input(std::string_view name, TensorMeta meta) {
  return add_input({.kind = InputKind::user_input}, name, std::move(meta));
}

ValueId ProgramBuilder::input(std::string_view name, SymInt value) {
  return add_input({.kind = InputKind::user_input}, name, value);
}

void ProgramBuilder::mutate_buffer(std::string fqn, ValueId value) {
  if (!takes(Argument(value), fmt::format("the new value of '{}'", fqn))) return;
  mutations_.push_back({{.kind = OutputKind::buffer_mutation,
                         .arg = spec_of(graph_, Argument(value)),
                         .target = std::move(fqn)},
                        Argument(value)});
}

void ProgramBuilder::output(Argument argument) {
  const std::string place = fmt::format("output {}", results_.size());
  if (!takes(argument, place)) return;
  if (!is_result(argument))
    return refuse(
        {ErrorCode::invalid, "expected a value, a number, a string or None for a result", place});
  OutputSpec spec{.kind = OutputKind::user_output, .arg = spec_of(graph_, argument)};
  results_.push_back({std::move(spec), std::move(argument)});
}

ModuleCallEntry ProgramBuilder::root_call() const {
  ModuleCallSignature call;
  call.forward_arg_names.emplace();
  for (const Input& input : inputs_)
    if (input.spec.kind == InputKind::user_input)
      call.forward_arg_names->push_back(graph_.value(input.value).name);
  const std::string args = tuple_of_leaves(call.forward_arg_names->size());
  constexpr std::string_view kNoKwargs =
      R"({"type": "builtins.dict", "context": "[]", "children_spec": []})";
  call.in_spec = fmt::format(
      R"([1, {{"type": "builtins.tuple", "context": "null", "children_spec": [{}, {}]}}])", args,
      kNoKwargs);
  call.out_spec = results_.size() == 1
                      ? R"([1, {"type": null, "context": null, "children_spec": []}])"
                      : fmt::format("[1, {}]", tuple_of_leaves(results_.size()));
  return {.fqn = "", .signature = std::move(call)};
}

Result<Program> ProgramBuilder::finish() && {
  if (mistake_) return *std::move(mistake_);
  // The signature knows only what the functions of this class added.
  if (!graph_.inputs().empty() || !graph_.outputs().empty())
    return Error{ErrorCode::invalid,
                 "found an input or output that a function of GraphBuilder added, expected those "
                 "of ProgramBuilder",
                 {}};
  std::ranges::stable_sort(inputs_, {}, [](const Input& input) {
    constexpr int kOrder[] = {/*user_input*/ 3,      /*parameter*/ 0,  /*buffer*/ 1,
                              /*constant_tensor*/ 2, /*custom_obj*/ 2, /*token*/ -1};
    return kOrder[static_cast<size_t>(input.spec.kind)];
  });
  program_.module_call_graph.push_back(root_call());
  for (Input& input : inputs_) {
    graph_.add_input(Argument(input.value));
    program_.signature.input_specs.push_back(std::move(input.spec));
  }
  for (std::vector<Output>* outputs : {&mutations_, &results_}) {
    for (Output& output : *outputs) {
      graph_.add_output(std::move(output.argument));
      program_.signature.output_specs.push_back(std::move(output.spec));
    }
  }
  program_.graph = std::move(graph_);
  Diagnostics findings;
  check_structure(program_, findings);
  if (!findings.empty()) {
    const Diagnostic& first = findings.all().front();
    return Error{first.code, first.text, first.where};
  }
  return std::move(program_);
}

}  // namespace pt2
