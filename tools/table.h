// Text in aligned columns; text from a file cannot leave its cell.
#ifndef PT2_TOOLS_TABLE_H
#define PT2_TOOLS_TABLE_H

#include <string>
#include <string_view>
#include <vector>

namespace pt2::tools {

enum class Align : uint8_t { left, right };

class TextTable {
 public:
  struct Column {
    std::string_view header;  // a table without headers has no header line
    Align align = Align::left;
  };
  explicit TextTable(std::vector<Column> columns, std::string_view indent = "")
      : columns_(std::move(columns)), indent_(indent) {}

  // Missing cells at the end stay empty.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Every line ends in a line break and has no trailing blanks.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::string_view indent_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns "1 tensor", "2 tensors".
std::string counted(uint64_t count, std::string_view noun);
// Returns "98.3 KB"; units are powers of 1000.
std::string bytes_text(uint64_t bytes);
// Returns "130.2 KB (before 130.4 KB, -0.1 %)".
std::string changed_bytes_text(uint64_t before, uint64_t after);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_TABLE_H
