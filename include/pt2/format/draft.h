// The early draft of the export schema: reads and writes its JSON, and converts programs from and
// to it. The JSON form is this library's own, because the draft never had one (docs/draft.md).
// Package recognises such a file by its keys and opens it like any other.
//
//   PT2_TRY(draft::GraphModule module, read_draft(json, limits, warnings));
//   PT2_TRY(Program program, from_draft(module));
//   DraftReport report;
//   PT2_TRY(DraftFile file, to_draft(program, tensors, {}, report));
#ifndef PT2_FORMAT_DRAFT_H
#define PT2_FORMAT_DRAFT_H

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "pt2/diagnostics.h"
#include "pt2/format/draft_types.h"
#include "pt2/format/zip.h"
#include "pt2/ir/program.h"
#include "pt2/limits.h"
#include "pt2/result.h"
#include "pt2/tensor.h"

namespace pt2 {

// Read and write the JSON, with the errors and warnings of schema::decode. Writing a module that
// was read gives the same text.
Result<draft::GraphModule> read_draft(std::string_view json, const Limits& limits,
                                      Diagnostics& warnings);
std::string write_draft(const draft::GraphModule& module);

// Returns the program in the newest schema. A draft has no names of positional arguments: the names
// stay empty, and the arguments are bound by position. Errors: `unsupported` for state of nested
// modules; those of reading a program. Their `where` is the place in the draft
// (".graph.nodes[3].args[0]"), or in the newest schema if the error is a violation of the rules for
// graphs.
Result<Program> from_draft(const draft::GraphModule& module);

// Reads the elements of parameters and buffers. It looks for external data only in `folder`, by the
// bare file name; with an empty folder it reads no external data. Tensors of one external storage
// share it here. All storages together have no more bytes than the files. Errors: `io`, `corrupt`
// (a wrong checksum or length), `invalid`, `limit`, `unsupported` (a checksum of another kind than
// "crc32:").
class DraftTensorReader {
 public:
  explicit DraftTensorReader(std::string folder) : folder_(std::move(folder)) {}

  Result<Tensor> read(const draft::Tensor& tensor);

 private:
  Result<const Record*> find_file(const std::string& location);
  Result<std::shared_ptr<Storage>> read_external(const draft::ExternalBuffer& buffer, Dtype dtype);
  Result<std::shared_ptr<Storage>> read_storage(const draft::Storage& storage, Dtype dtype);

  // Location, offset, length, checksum, element size.
  using StorageKey = std::tuple<std::string, uint64_t, uint64_t, std::string, size_t>;

  std::string folder_;
  std::map<std::string, Record> files_;
  std::map<StorageKey, std::shared_ptr<Storage>> storages_;
  uint64_t bytes_left_ = 0;  // bytes of the files that further storages may still take
};

// The tensor of a parameter, buffer or constant of the signature.
struct DraftState {
  Tensor tensor{};
  bool requires_grad = false;
};
using FindDraftState = std::function<std::optional<DraftState>(const InputSpec&)>;

struct DraftOptions {
  // Empty: all data is inside the JSON. Otherwise all data is in one file of this name in the same
  // folder.
  std::string external_file{};
};
struct DraftFile {
  draft::GraphModule module{};
  std::string external{};  // the content of external_file
};

// The features of a program that the draft cannot express, each with its place.
struct DraftReport {
  std::vector<std::string> inexpressible{};  // dropping these changes or breaks the program
  std::vector<std::string> left_out{};       // dropping these changes no result
};

// Converts a program to a draft. Copies the data in big-endian order. Error `unsupported` if the
// report has inexpressible features; the report lists all of them. Linear in program and data.
Result<DraftFile> to_draft(const Program& program, const FindDraftState& find_state,
                           const DraftOptions& options, DraftReport& report);

}  // namespace pt2

#endif  // PT2_FORMAT_DRAFT_H
