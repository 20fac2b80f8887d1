// The texts in a picture.
#ifndef PT2_DRAW_TEXTS_H
#define PT2_DRAW_TEXTS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pt2/ir/graph.h"

namespace pt2::picture {

// The maximum characters of a text in the picture, and bytes anywhere in a page: a file may hold
// texts of any length.
inline constexpr size_t kShownCharacters = 34;
inline constexpr size_t kKeptBytes = 2000;
// The same for the path of a module, which every box inside it repeats.
inline constexpr size_t kKeptPath = 300;

// Returns the width of text in characters; wide (East Asian) characters count twice.
size_t columns(std::string_view text);
// Returns at most `max_columns` columns, with "…" for omitted text. Replaces control characters and
// invalid UTF-8 by "?".
std::string shortened(std::string_view text, size_t max_columns = kShownCharacters);
// The same with a limit in bytes, for panels.
std::string kept(std::string_view text, size_t max_bytes = kKeptBytes);

// Returns "conv2d" for torch.ops.aten.conv2d.default; other libraries keep their name in front.
std::string operator_title(std::string_view target);
// Returns "f32[2, s0]"; empty if there is no type to show.
std::string short_type(const GraphValue& value);

// Returns an argument as text pieces and the values that it names, in order. Ends with "…" after
// kKeptBytes.
using ArgumentPiece = std::variant<std::string, ValueId>;
std::vector<ArgumentPiece> argument_pieces(const Argument& argument);

}  // namespace pt2::picture

#endif  // PT2_DRAW_TEXTS_H
