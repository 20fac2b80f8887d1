// The words in a picture.
#ifndef PT2_DRAW_TEXTS_H
#define PT2_DRAW_TEXTS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pt2/ir/graph.h"

namespace pt2::picture {

// Characters that one text may have in the picture, and anywhere in a page: a file may hold texts
// of any length.
inline constexpr size_t kShownCharacters = 34;
inline constexpr size_t kKeptBytes = 2000;

// Width of text in units of one character: what is wide in Asia counts twice.
size_t columns(std::string_view text);
// At most `max_columns`, with "…" where something is missing; control characters and what is not
// UTF-8 as "?".
std::string shortened(std::string_view text, size_t max_columns = kShownCharacters);
// The same in bytes, for panels.
std::string kept(std::string_view text, size_t max_bytes = kKeptBytes);

// "conv2d" of torch.ops.aten.conv2d.default; other libraries keep their name in front.
std::string operator_title(std::string_view target);
// "f32[2, s0]"; empty for what has no type to show.
std::string short_type(const GraphValue& value);

// An argument as text with the values that it names: text and values in turn. Ends with "…" after
// kKeptBytes.
using ArgumentPiece = std::variant<std::string, ValueId>;
std::vector<ArgumentPiece> argument_pieces(const Argument& argument);

}  // namespace pt2::picture

#endif  // PT2_DRAW_TEXTS_H
