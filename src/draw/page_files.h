// The parts of a page from src/draw/page; cmake/pt2_page.cmake generates the definitions.
#ifndef PT2_DRAW_PAGE_FILES_H
#define PT2_DRAW_PAGE_FILES_H

#include <string_view>

namespace pt2::picture {

extern const std::string_view kPageBody, kPageStyle, kPageScript;
// SHA-256 in hexadecimal digits.
extern const std::string_view kPageStyleHash, kPageScriptHash;

}  // namespace pt2::picture

#endif  // PT2_DRAW_PAGE_FILES_H
