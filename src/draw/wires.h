// Wires between the boxes of one level, and the order of these boxes.
#ifndef PT2_DRAW_WIRES_H
#define PT2_DRAW_WIRES_H

#include <vector>

#include "draw/hierarchy.h"
#include "pt2/tools/drawing.h"

namespace pt2::picture {

// Fills in wires, inputs and outputs of all boxes, and the weights of nodes. O(n log n).
void connect(Drawing& drawing, const std::vector<Placed>& placed);

// Fills in `rows` of one box, and turns distant or shared targets into ports. O(n log n).
void arrange(Drawing& drawing, uint32_t level);

// Sets the size of a folded box.
void measure(Box& box);
// The widths of text in the small size and of titles.
double small_text_width(std::string_view text);
double title_width(std::string_view text);

// True for numbers, such as the sizes that many shapes use: they are always drawn as ports.
bool is_number(const DrawnValue& value);

// Sizes in the picture, in pixels; page/place.js has the same.
inline constexpr double kTitleHeight = 16, kLineHeight = 13, kBoxPadding = 7;
inline constexpr double kHeader = 22;   // of open boxes
inline constexpr double kPadding = 14;  // around the contents of an open box
inline constexpr double kBoxGap = 22, kPassGap = 12, kPassWidth = 8;
inline constexpr double kRowGap = 26, kEmptyGap = 14, kMostSpread = 44;
inline constexpr double kLabelOffset = 6;

}  // namespace pt2::picture

#endif  // PT2_DRAW_WIRES_H
