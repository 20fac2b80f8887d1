// The single steps of opening a package, for verify, which goes on where Package stops.
#ifndef PT2_PACKAGE_READ_PACKAGE_H
#define PT2_PACKAGE_READ_PACKAGE_H

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "package/payload_readers.h"
#include "pt2/format/schema.h"
#include "pt2/package.h"
#include "schema/pieces.h"

namespace pt2 {

// One program of a file, decoded.
struct ProgramSource {
  std::string name{};   // as users call it
  std::string model{};  // the archive's name for its record
  std::string path{};   // its place in that record's JSON; empty: the whole record
  bool is_main = true;  // of a container: used when the caller names no program
  schema::ExportedProgram program{};
  std::optional<Program> read{};                      // a long one, for which `program` is empty
  std::vector<PayloadPaths> payload_paths{};          // containers, and schema 8.11
  std::shared_ptr<const draft::GraphModule> draft{};  // what an early draft says
};

// "file!record:.path".
std::string program_place(const Archive& archive, const ProgramSource& source);

// Reads every program of one record: a single one, or those of a container. `where` of errors and
// warnings is "file!record:.path". Long programs may come as `read`, unless `form` says that the
// schema's types are wanted.
// `any_brief` is any, with brief origins of nodes.
enum class SourceForm : uint8_t { any, any_brief, schema };
Result<std::vector<ProgramSource>> read_sources(const Archive& archive, std::string_view model,
                                                Diagnostics& warnings,
                                                SourceForm form = SourceForm::any);
// A program in pieces, as the file has it.
struct ProgramPieces {
  Record record;  // which the reader views
  std::unique_ptr<schema::PieceReader> reader;
};
// Nothing where the program is to be read whole (Package::schema): a short one, the member of a
// container, an early draft.
std::optional<ProgramPieces> open_pieces(const Package& package, const std::string& model,
                                         size_t piece_bytes = schema::kPieceBytes);
// Adds V211 for each program whose name an earlier one has.
void check_names(const Archive& archive, std::span<const ProgramSource> sources,
                 Diagnostics& findings);
// Takes source.read, or converts source.program, which are moved from, to a Program. Warns of
// unknown dialects (V207). Broken rules of the graph are added to `faults`, with their place.
Result<Program> read_program(const Archive& archive, ProgramSource& source, Diagnostics& warnings,
                             Diagnostics& faults);
// Reads every payload of one program; `mode` is strict or in_place.
Payloads read_payloads(const Archive& archive, const ProgramSource& source, const Program& program,
                       Diagnostics& issues, PickleMode mode = PickleMode::strict);
// As Package::payloads, for tensors that are only written again: storages stay where they are in
// the mapped file, of any size, even where they are not aligned for kernels.
Result<std::shared_ptr<const Payloads>> read_payloads_in_place(const Package& package,
                                                               const std::string& model);
Result<SampleInputs> read_sample_inputs(const Archive& archive, std::string_view model,
                                        Diagnostics& warnings);

}  // namespace pt2

#endif  // PT2_PACKAGE_READ_PACKAGE_H
