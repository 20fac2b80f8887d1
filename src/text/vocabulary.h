// The words of the text form, for printer and parser alike.
#ifndef PT2_TEXT_VOCABULARY_H
#define PT2_TEXT_VOCABULARY_H

#include <optional>
#include <string>
#include <string_view>

#include "pt2/graph.h"
#include "pt2/signature.h"
#include "pt2/symbols.h"

namespace pt2 {

// A word: a letter or '_', then letters, digits, '_' and '.'.
bool is_word_start(char c);
bool is_word_part(char c);
bool is_word(std::string_view text);
// What may follow '%' without quotes.
bool is_bare_value_name(std::string_view text);

// Whether a string stands between single quotes, where nothing is escaped, because it would need
// escapes between double ones.
bool reads_better_raw(std::string_view text);

// "aten.add.Tensor" stands for "torch.ops.aten.add.Tensor"; what begins with torch., _operator.,
// math. or builtins. is itself. Nothing where a target must be quoted.
std::optional<std::string> shortened_target(std::string_view target);
// The inverse; nothing for a word that is no target.
std::optional<std::string> full_target(std::string_view word);

// By the words "strided", "channels_last", ...; empty for numbers without a name.
std::string_view layout_word(Layout layout);
std::string_view memory_format_word(MemoryFormat format);
std::optional<Layout> find_layout(std::string_view word);
std::optional<MemoryFormat> find_memory_format(std::string_view word);

std::string_view list_kind_word(ListKind kind);
std::optional<ListKind> find_list_kind(std::string_view word);
// The kind that a list without a word in front has: the first, in a fixed order, that all items
// fit. `graph` has the values among them. Linear in the items.
std::optional<ListKind> inferred_list_kind(const std::vector<Argument>& items, const Graph* graph);
bool fits_list(ListKind kind, const std::vector<Argument>& items, const Graph* graph);
// The kind of the lists within a list; nothing where there are none.
std::optional<ListKind> inner_list_kind(ListKind kind);
// How the schema wraps items of such a list.
Argument::Wrapper item_wrapper(ListKind kind);

std::string_view spec_kind_word(ArgumentSpec::Kind kind);
std::optional<ArgumentSpec::Kind> find_spec_kind(std::string_view word);
// What a spec of that kind calls a value of the graph.
ArgumentSpec::Kind expected_spec_kind(InputKind kind, ValueKind value);
ArgumentSpec::Kind expected_spec_kind(OutputKind kind, ValueKind value);
bool is_not_persistent(const InputSpec& spec);
std::optional<InputKind> find_input_kind(std::string_view word);
std::optional<OutputKind> find_output_kind(std::string_view word);
// Whether specs of this kind name a parameter, buffer, constant or input.
bool has_target(InputKind kind);
bool has_target(OutputKind kind);

// How the files of a schema version hold expressions.
ExprSpelling expression_spelling(int version);
// Arguments without a marker: positional since 8.4, without a kind before.
std::optional<ArgumentKind> usual_argument_kind(int version);
// FX names of nodes are there since 8.16; a node is usually called like its first result.
bool has_node_names(int version);

// The strides of a contiguous tensor, where all sizes but the first are numbers (a size of 0 counts
// as 1); nothing otherwise and beyond 64 bits.
std::optional<std::vector<int64_t>> contiguous_strides(const std::vector<SymInt>& sizes);

}  // namespace pt2

#endif  // PT2_TEXT_VOCABULARY_H
