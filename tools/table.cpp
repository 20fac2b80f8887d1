#include "tools/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/printable.h"

namespace pt2::tools {
namespace {

// Counts characters, not bytes: UTF-8 continuation bytes have no width.
size_t width(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// A wider cell reaches beyond its column: a single name of a million letters would make every row
// as long.
constexpr size_t kWidestColumn = 256;

void append_row(std::string& out, std::string_view indent, const std::vector<size_t>& widths,
                const std::vector<Align>& aligns, const std::vector<std::string>& cells) {
  std::string line(indent);
  for (size_t i = 0; i < widths.size(); ++i) {
    const std::string& cell = i < cells.size() ? cells[i] : std::string();
    const std::string padding(widths[i] - std::min(widths[i], width(cell)), ' ');
    if (i > 0) line += "  ";
    line += aligns[i] == Align::right ? padding + cell : cell + padding;
  }
  line.resize(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

}  // namespace

void TextTable::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable_line(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<size_t> widths;
  std::vector<Align> aligns;
  std::vector<std::string> headers;
  bool has_headers = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    headers.emplace_back(columns_[i].header);
    has_headers |= !headers.back().empty();
    aligns.push_back(columns_[i].align);
    widths.push_back(width(headers.back()));
    for (const auto& row : rows_)
      if (i < row.size())
        widths.back() = std::max(widths.back(), std::min(width(row[i]), kWidestColumn));
  }
  std::string out;
  if (has_headers) append_row(out, indent_, widths, aligns, headers);
  for (const auto& row : rows_) append_row(out, indent_, widths, aligns, row);
  return out;
}

std::string counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string bytes_text(uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"KB", "MB", "GB", "TB"};
  if (bytes < 1000) return counted(bytes, "byte");
  double amount = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  for (; amount >= 999.95 && unit + 1 < std::size(kUnits); ++unit) amount /= 1000;
  return fmt::format("{:.1f} {}", amount, kUnits[unit]);
}

std::string changed_bytes_text(uint64_t before, uint64_t after) {
  std::string share;
  if (before > 0) {
    const double change = 100 * (static_cast<double>(after) / static_cast<double>(before) - 1);
    // Omits the sign if the printed digits are zeros.
    share = std::abs(change) < 0.05 ? ", 0.0 %" : fmt::format(", {:+.1f} %", change);
  }
  return fmt::format("{} (before {}{})", bytes_text(after), bytes_text(before), share);
}

}  // namespace pt2::tools
