// The words of the text form, shared by printer and parser.
#ifndef PT2_TEXT_VOCABULARY_H
#define PT2_TEXT_VOCABULARY_H

#include <optional>
#include <string>
#include <string_view>

#include "pt2/ir/graph.h"
#include "pt2/ir/signature.h"
#include "pt2/ir/symbols.h"
#include "pt2/tensor.h"

namespace pt2 {

// A word: a letter or '_', then letters, digits, '_' and '.'.
bool is_word_start(char c);
bool is_word_part(char c);
bool is_dotted_word(std::string_view text);
// True if the name may follow '%' without quotes.
bool is_bare_value_name(std::string_view text);

// True if a string would need escapes in double quotes. It is then written in single quotes, which
// have no escapes.
bool reads_better_raw(std::string_view text);

// Returns "aten.add.Tensor" for "torch.ops.aten.add.Tensor". A target that begins with torch.,
// _operator., math. or builtins. is unchanged. Nullopt if the target must be quoted.
std::optional<std::string> shortened_target(std::string_view target);
// The inverse; nullopt for a word that is not a target.
std::optional<std::string> full_target(std::string_view word);

// Returns the word for a layout, "strided"; empty for numbers without a name.
std::string_view layout_word(Layout layout);
std::string_view memory_format_word(MemoryFormat format);
std::optional<Layout> find_layout(std::string_view word);
std::optional<MemoryFormat> find_memory_format(std::string_view word);

std::string_view list_kind_word(ListKind kind);
std::optional<ListKind> find_list_kind(std::string_view word);
// Returns the kind of a list without a keyword: the first kind, in a fixed order, that fits all
// items. Values among the items belong to `graph`. Linear in the items.
std::optional<ListKind> inferred_list_kind(const std::vector<Argument>& items, const Graph* graph);
bool fits_list(ListKind kind, const std::vector<Argument>& items, const Graph* graph);
// Returns the kind of the inner lists of a list of lists; nullopt for other kinds.
std::optional<ListKind> inner_list_kind(ListKind kind);
// Returns the schema's wrapper for the items of such a list.
Argument::Wrapper item_wrapper(ListKind kind);

// Returns the name that a node has unless the text says another: that of its first result; nullopt
// in schema versions without names of nodes.
std::optional<std::string> usual_name(const Node& node, const Graph& graph, int version);

std::string_view spec_kind_word(ArgumentSpec::Kind kind);
std::optional<ArgumentSpec::Kind> find_spec_kind(std::string_view word);
// Returns the spec kind for a graph value of kind `value` in an input of kind `kind`.
ArgumentSpec::Kind expected_spec_kind(InputKind kind, ValueKind value);
ArgumentSpec::Kind expected_spec_kind(OutputKind kind, ValueKind value);
bool is_not_persistent(const InputSpec& spec);
// True if specs of this kind name a parameter, buffer, constant or input.
bool has_target(InputKind kind);
bool has_target(OutputKind kind);

// Returns the strides of a contiguous tensor whose sizes except the first are concrete (a size of 0
// counts as 1); nullopt for other tensors, and for strides beyond 64 bits.
std::optional<Sizes> contiguous_strides(const std::vector<SymInt>& sizes);

}  // namespace pt2

#endif  // PT2_TEXT_VOCABULARY_H
