// The single steps of opening a package, for verify, which continues after errors that stop
// Package.
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

// One decoded program of a file.
struct ProgramSource {
  std::string name{};   // the name that users pass
  std::string model{};  // the archive's name for the program's record
  std::string path{};   // the place in that record's JSON; empty: the whole record
  bool is_main = true;  // used if the caller names no program of a container
  schema::ExportedProgram program{};
  std::optional<Program> read{};                      // a long program; `program` is then empty
  std::vector<PayloadPaths> payload_paths{};          // of containers and of schema 8.11
  std::shared_ptr<const draft::GraphModule> draft{};  // the content of an early draft
};

// "file!record:.path".
std::string program_place(const Archive& archive, const ProgramSource& source);

// Reads every program of one record: a single program, or the programs of a container. `where` of
// errors and warnings is "file!record:.path". Long programs may come as `read`, unless `form` is
// `schema`, which asks for the schema's types. `any_brief` is `any` with brief node origins.
enum class SourceForm : uint8_t { any, any_brief, schema };
Result<std::vector<ProgramSource>> read_sources(const Archive& archive, std::string_view model,
                                                Diagnostics& warnings,
                                                SourceForm form = SourceForm::any);
// A program that is read in pieces, directly from the file's text.
struct ProgramPieces {
  Record record;  // viewed by the reader
  std::unique_ptr<schema::PieceReader> reader;
};
// Nullopt if the program must be read whole (Package::schema): a short program, the member of a
// container, an early draft.
std::optional<ProgramPieces> open_pieces(const Package& package, const std::string& model,
                                         size_t piece_bytes = schema::kPieceBytes);
// Adds V211 for each program with the name of an earlier program.
void check_names(const Archive& archive, std::span<const ProgramSource> sources,
                 Diagnostics& findings);
// Moves from source.read, or converts source.program and moves from it. Warns of unknown dialects
// (V207). Adds violations of the graph's rules to `faults`, with their place.
Result<Program> read_program(const Archive& archive, ProgramSource& source, Diagnostics& warnings,
                             Diagnostics& faults);
// Reads all payloads of one program; `mode` is strict or in_place.
Payloads read_payloads(const Archive& archive, const ProgramSource& source, const Program& program,
                       Diagnostics& issues, PickleMode mode = PickleMode::strict);
// Same as Package::payloads, for tensors that are only written again: storages of any size stay in
// the mapped file, even if they are not aligned for kernels.
Result<std::shared_ptr<const Payloads>> read_payloads_in_place(const Package& package,
                                                               const std::string& model);
Result<SampleInputs> read_sample_inputs(const Archive& archive, std::string_view model,
                                        Diagnostics& warnings);

}  // namespace pt2

#endif  // PT2_PACKAGE_READ_PACKAGE_H
