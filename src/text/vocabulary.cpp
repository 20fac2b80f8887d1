#include "text/vocabulary.h"

#include <algorithm>

#include "base/printable.h"
#include "base/text.h"
#include "ir/target.h"
#include "ir/version_facts.h"

namespace pt2 {
namespace {

bool is_name_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// The first parts of targets outside torch.ops.
bool is_python_module(std::string_view word) {
  const std::string_view first = word.substr(0, word.find('.'));
  return first == "torch" || first == "_operator" || first == "math" || first == "builtins";
}

template <class Key>
struct Word {
  Key key;
  std::string_view text;
};
template <class Words>
std::string_view word_of(const Words& words, auto key) {
  for (const auto& word : words)
    if (word.key == key) return word.text;
  return {};
}
template <class Key, size_t N>
std::optional<Key> key_of(const Word<Key> (&words)[N], std::string_view text) {
  for (const Word<Key>& word : words)
    if (word.text == text) return word.key;
  return std::nullopt;
}

// PyTorch's names.
constexpr Word<Layout> kLayouts[] = {
    {Layout::sparse_coo, "sparse_coo"}, {Layout::sparse_csr, "sparse_csr"},
    {Layout::sparse_csc, "sparse_csc"}, {Layout::sparse_bsr, "sparse_bsr"},
    {Layout::sparse_bsc, "sparse_bsc"}, {Layout::mkldnn, "_mkldnn"},
    {Layout::strided, "strided"},
};
constexpr Word<MemoryFormat> kMemoryFormats[] = {
    {MemoryFormat::contiguous, "contiguous_format"},
    {MemoryFormat::channels_last, "channels_last"},
    {MemoryFormat::channels_last_3d, "channels_last_3d"},
    {MemoryFormat::preserve, "preserve_format"},
};
// A list without a keyword gets the first of these kinds that fits.
constexpr Word<ListKind> kListKinds[] = {
    {ListKind::ints, "ints"},
    {ListKind::floats, "floats"},
    {ListKind::strings, "strings"},
    {ListKind::bools, "bools"},
    {ListKind::sym_ints, "sym_ints"},
    {ListKind::sym_floats, "sym_floats"},
    {ListKind::sym_bools, "sym_bools"},
    {ListKind::tensors, "tensors"},
    {ListKind::optional_tensors, "optional_tensors"},
    {ListKind::int_lists, "int_lists"},
    {ListKind::float_lists, "float_lists"},
    {ListKind::nested_tensors, "nested_tensors"},
};
constexpr Word<ArgumentSpec::Kind> kSpecKinds[] = {
    {ArgumentSpec::Kind::tensor, "tensor"},       {ArgumentSpec::Kind::sym_int, "sym_int"},
    {ArgumentSpec::Kind::sym_float, "sym_float"}, {ArgumentSpec::Kind::sym_bool, "sym_bool"},
    {ArgumentSpec::Kind::custom_obj, "object"},   {ArgumentSpec::Kind::token, "token"},
    {ArgumentSpec::Kind::constant, "constant"},
};

bool is_value(const Argument& item, const Graph* graph, ValueKind kind) {
  const auto* id = item.get_if<ValueId>();
  return id != nullptr && graph != nullptr && graph->value(*id).kind() == kind;
}

bool fits_item(ListKind kind, const Argument& item, const Graph* graph) {
  if (const auto inner = inner_list_kind(kind)) {
    const auto* list = item.get_if<ArgumentList>();
    return list != nullptr && fits_list(*inner, list->items, graph);
  }
  switch (kind) {
    case ListKind::ints:
      return item.is<int64_t>();
    case ListKind::floats:
      return item.is<double>();
    case ListKind::strings:
      return item.is<std::string>();
    case ListKind::bools:
      return item.is<bool>();
    case ListKind::sym_ints:
      return item.is<int64_t>() || is_value(item, graph, ValueKind::sym_int);
    case ListKind::sym_floats:
      return item.is<double>() || is_value(item, graph, ValueKind::sym_float);
    case ListKind::sym_bools:
      return item.is<bool>() || is_value(item, graph, ValueKind::sym_bool);
    case ListKind::optional_tensors:
      return item.is<None>() || is_value(item, graph, ValueKind::tensor);
    case ListKind::tensors:
    case ListKind::nested_tensors:
    case ListKind::int_lists:
    case ListKind::float_lists:
      break;
  }
  // The tensors that a higher-order operator is given may have symbolic numbers among them.
  const auto* id = item.get_if<ValueId>();
  return id != nullptr && graph != nullptr && graph->value(*id).kind() != ValueKind::custom_obj;
}

}  // namespace

bool is_word_start(char c) { return is_name_letter(c); }
bool is_word_part(char c) { return is_name_letter(c) || is_digit(c) || c == '.'; }
bool is_dotted_word(std::string_view text) {
  return !text.empty() && is_word_start(text[0]) && std::ranges::all_of(text, is_word_part);
}
bool is_bare_value_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_word_part);
}

bool reads_better_raw(std::string_view text) {
  const bool needs_escapes = text.find_first_of("\"\\") != std::string_view::npos;
  return needs_escapes && text.find('\'') == text.npos && printable_line(text) == text;
}

std::optional<std::string> full_target(std::string_view word) {
  if (!is_dotted_word(word) || word.find('.') == std::string_view::npos) return std::nullopt;
  return is_python_module(word) ? std::string(word) : std::string(kOps) + std::string(word);
}

std::optional<std::string> shortened_target(std::string_view target) {
  for (const size_t cut : {target.starts_with(kOps) ? kOps.size() : 0, size_t{0}}) {
    const std::string_view word = target.substr(cut);
    if (full_target(word) == target) return std::string(word);
  }
  return std::nullopt;
}

std::string_view layout_word(Layout layout) { return word_of(kLayouts, layout); }
std::string_view memory_format_word(MemoryFormat format) { return word_of(kMemoryFormats, format); }
std::optional<Layout> find_layout(std::string_view word) { return key_of(kLayouts, word); }
std::optional<MemoryFormat> find_memory_format(std::string_view word) {
  return key_of(kMemoryFormats, word);
}

std::string_view list_kind_word(ListKind kind) { return word_of(kListKinds, kind); }
std::optional<ListKind> find_list_kind(std::string_view word) { return key_of(kListKinds, word); }

bool fits_list(ListKind kind, const std::vector<Argument>& items, const Graph* graph) {
  return std::ranges::all_of(items,
                             [&](const Argument& item) { return fits_item(kind, item, graph); });
}

std::optional<ListKind> inferred_list_kind(const std::vector<Argument>& items, const Graph* graph) {
  for (const auto& word : kListKinds)
    if (fits_list(word.key, items, graph)) return word.key;
  return std::nullopt;
}

std::optional<ListKind> inner_list_kind(ListKind kind) {
  if (kind == ListKind::int_lists) return ListKind::ints;
  if (kind == ListKind::float_lists) return ListKind::floats;
  if (kind == ListKind::nested_tensors) return ListKind::tensors;
  return std::nullopt;
}

Argument::Wrapper item_wrapper(ListKind kind) {
  if (kind == ListKind::optional_tensors) return Argument::Wrapper::optional;
  const bool symbolic =
      kind == ListKind::sym_ints || kind == ListKind::sym_floats || kind == ListKind::sym_bools;
  return symbolic ? Argument::Wrapper::symbolic : Argument::Wrapper::plain;
}

std::optional<std::string> usual_name(const Node& node, const Graph& graph, int version) {
  const auto* id = node.outputs.empty() ? nullptr : node.outputs[0].get_if<ValueId>();
  if (id == nullptr || !has_node_names(version)) return std::nullopt;
  return graph.value(*id).name;
}

std::string_view spec_kind_word(ArgumentSpec::Kind kind) { return word_of(kSpecKinds, kind); }
std::optional<ArgumentSpec::Kind> find_spec_kind(std::string_view word) {
  return key_of(kSpecKinds, word);
}

namespace {
ArgumentSpec::Kind user_spec_kind(ValueKind kind) {
  constexpr ArgumentSpec::Kind kKinds[] = {
      ArgumentSpec::Kind::tensor, ArgumentSpec::Kind::sym_int, ArgumentSpec::Kind::sym_float,
      ArgumentSpec::Kind::sym_bool, ArgumentSpec::Kind::custom_obj};
  return kKinds[static_cast<size_t>(kind)];
}
}  // namespace

ArgumentSpec::Kind expected_spec_kind(InputKind kind, ValueKind value) {
  if (kind == InputKind::user_input) return user_spec_kind(value);
  if (kind == InputKind::token) return ArgumentSpec::Kind::token;
  return kind == InputKind::custom_obj ? ArgumentSpec::Kind::custom_obj
                                       : ArgumentSpec::Kind::tensor;
}
ArgumentSpec::Kind expected_spec_kind(OutputKind kind, ValueKind value) {
  if (kind == OutputKind::user_output) return user_spec_kind(value);
  return kind == OutputKind::token ? ArgumentSpec::Kind::token : ArgumentSpec::Kind::tensor;
}
bool is_not_persistent(const InputSpec& spec) {
  return spec.kind == InputKind::buffer && spec.persistent == false;
}

bool has_target(InputKind kind) {
  return kind != InputKind::user_input && kind != InputKind::token;
}
bool has_target(OutputKind kind) {
  return kind != OutputKind::user_output && kind != OutputKind::loss_output &&
         kind != OutputKind::token;
}

std::optional<Sizes> contiguous_strides(const std::vector<SymInt>& sizes) {
  Sizes known(sizes.size(), 1);  // no stride depends on the first size
  for (size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i].is_symbolic()) return std::nullopt;
    known[i] = sizes[i].literal();
  }
  if (!checked_numel(known)) return std::nullopt;
  return pt2::contiguous_strides(known);
}

}  // namespace pt2
