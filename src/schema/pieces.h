// Reads a long program in pieces: its JSON without the two long tables of the outermost graph, and
// then these tables in parts. Neither the index of the text nor the decoded values are ever whole
// in memory.
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
  // Views of the text: elements, without the table's brackets and without the commas between
  // pieces.
  std::vector<std::string_view> tensor_values;
  std::vector<std::string_view> nodes;
  // Offsets in the outline where the elements belong; npos if the text has no such table.
  size_t tensor_values_at = std::string::npos;
  size_t nodes_at = std::string::npos;
};
// Ends each piece after the first element with which it has `piece_bytes`. Nullopt if the text does
// not look like a program. Does not check the cut texts further: the whole text is valid exactly if
// the outline and all pieces are valid.
std::optional<Pieces> split_program(std::string_view json, size_t piece_bytes);

// Large enough to hide the cost of a piece; small compared to the decoded program.
inline constexpr size_t kPieceBytes = 1 << 18;

class PieceReader {
 public:
  // Receives parts of the text that will not be read again.
  using Release = std::function<void(std::string_view)>;

  // Null if the text must be decoded whole: it is short, invalid, or older than these tables.
  static std::unique_ptr<PieceReader> open(std::string_view json, const Limits& limits,
                                           size_t piece_bytes, Release release);
  ~PieceReader();

  // Returns the program without the tables' content.
  ExportedProgram take_outline();
  // Return the next elements; empty at the end. An error has no details: only decoding the whole
  // text gives messages and spellings.
  Result<Dict<TensorMeta>> next_values();
  Result<List<Node>> next_nodes();
  // V201 to V206, as decode_program adds them.
  const Diagnostics& warnings() const;

 private:
  struct State;
  explicit PieceReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Same as encode_program of the whole program, but the schema's types are never whole in memory.
// Nullopt if a piece cannot be read.
std::optional<std::string> encode_in_pieces(PieceReader& reader);

}  // namespace pt2::schema

#endif  // PT2_SCHEMA_PIECES_H
