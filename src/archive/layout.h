// The table of records: the names that each era knows, and their roles.
#ifndef PT2_ARCHIVE_LAYOUT_H
#define PT2_ARCHIVE_LAYOUT_H

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pt2/format/archive.h"

namespace pt2 {

using EraSet = uint8_t;
constexpr EraSet era_bit(Era era) { return static_cast<EraSet>(1u << static_cast<unsigned>(era)); }
inline constexpr EraSet kFlat = era_bit(Era::flat);
inline constexpr EraSet kPickled = era_bit(Era::pickled_payloads);
inline constexpr EraSet kRaw = era_bit(Era::raw_payloads);
inline constexpr EraSet kDocument = era_bit(Era::document);
inline constexpr EraSet kPackage = kPickled | kRaw;

// The name that torch.export.load gives the program of a flat archive when it is saved again.
inline constexpr std::string_view kFlatModel = "model";
// The one record of a bare JSON document.
inline constexpr std::string_view kDocumentRecord = "program.json";

struct LayoutRow {
  EraSet eras;
  std::string_view pattern;
  Role role;
};
std::span<const LayoutRow> layout_rows();
// Returns `pattern` with `name` in place of its star.
std::string expand_pattern(std::string_view pattern, std::string_view name);

// Returns the name of the program that PyTorch loads from the record; nothing if it loads none.
// PyTorch takes every record of the folder for a program, and the last five bytes of its name for
// ".json" (torch/export/pt2_archive/_package.py, _load_exported_programs).
std::optional<std::string_view> model_loaded_from(std::string_view relative_name);

}  // namespace pt2

#endif  // PT2_ARCHIVE_LAYOUT_H
