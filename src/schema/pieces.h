// A long program read in pieces: its JSON without the two long tables of the outermost graph, and
// these tables a part at a time, so that neither the text's index nor what it decodes to is ever
// whole in memory.
#ifndef PT2_SCHEMA_PIECES_H
#define PT2_SCHEMA_PIECES_H

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/format/schema_json.h"

namespace pt2::schema {

struct Pieces {
  std::string outline;  // the program with both tables empty
  // Views of the text: elements, without the table's brackets and the commas between the pieces.
  std::vector<std::string_view> tensor_values;
  std::vector<std::string_view> nodes;
  // Where in the outline their elements belong; npos where it has no such table.
  size_t tensor_values_at = std::string::npos;
  size_t nodes_at = std::string::npos;
};
// Cuts behind the first element with which a piece has `piece_bytes`. Nothing where the text does
// not look like a program. What is cut is no more checked than that: text and pieces are right
// together where each of them is.
std::optional<Pieces> split_program(std::string_view json, size_t piece_bytes);

// Large enough that what each piece costs does not show, small beside the program it becomes.
inline constexpr size_t kPieceBytes = 1 << 18;

class PieceReader {
 public:
  // Is given parts of the text that will not be read again.
  using Release = std::function<void(std::string_view)>;

  // Null where the text is to be decoded whole: it is short, wrong, or older than these tables.
  static std::unique_ptr<PieceReader> open(std::string_view json, const Limits& limits,
                                           size_t piece_bytes, Release release);
  ~PieceReader();

  // The program without the tables' content.
  ExportedProgram take_outline();
  // What comes next; empty at the end. An error, which says no more than that, where only decoding
  // the whole text gives messages and spellings.
  Result<Dict<TensorMeta>> next_values();
  Result<List<Node>> next_nodes();
  // V201 to V206, as decode_program adds them.
  const Diagnostics& warnings() const;

 private:
  struct State;
  explicit PieceReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// encode_program of the whole program, whose schema's types are never whole in memory. Nothing
// where a piece cannot be read.
std::optional<std::string> encode_in_pieces(PieceReader& reader);

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_PIECES_H
