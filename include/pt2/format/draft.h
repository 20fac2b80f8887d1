// The early draft of the export schema: its dataclasses as C++ types, their JSON, and programs to
// and from it. The spelling is this library's own, because the draft never had one (docs/draft.md).
// Package opens such a file like any other, by its keys.
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

// JSON text, with the errors and warnings of schema::decode. What was read is written as it was.
Result<draft::GraphModule> read_draft(std::string_view json, const Limits& limits,
                                      Diagnostics& warnings);
std::string write_draft(const draft::GraphModule& module);

// The program in the newest schema. Positional arguments have no names there: they stay empty, and
// are bound by position. Errors: `unsupported` for state of nested modules; those of reading a
// program; `where` is the place in the draft (".graph.nodes[3].args[0]") or, for what the graph's
// rules forbid, in the newest schema.
Result<Program> from_draft(const draft::GraphModule& module);

// Reads the elements of parameters and buffers. External data is looked for in `folder`, by its
// bare file name and nowhere else; with an empty folder there is none. Tensors of one external
// storage share it here, and all storages together have no more bytes than the files. Errors: `io`,
// `corrupt` (a wrong checksum or length), `invalid`, `limit`, `unsupported` (a checksum of another
// kind than "crc32:").
class DraftTensorReader {
 public:
  explicit DraftTensorReader(std::string folder) : folder_(std::move(folder)) {}

  Result<Tensor> read(const draft::Tensor& tensor);

 private:
  Result<const Record*> find_file(const std::string& location);
  Result<std::shared_ptr<Storage>> read_external(const draft::ExternalBuffer& buffer, Dtype dtype);
  Result<std::shared_ptr<Storage>> read_storage(const draft::Storage& storage, Dtype dtype);

  // Location, offset, length, checksum, bytes of a number.
  using StorageKey = std::tuple<std::string, uint64_t, uint64_t, std::string, size_t>;

  std::string folder_;
  std::map<std::string, Record> files_;
  std::map<StorageKey, std::shared_ptr<Storage>> storages_;
  uint64_t bytes_left_ = 0;  // of the files, for further storages
};

// What a parameter, buffer or constant of the signature holds.
struct DraftState {
  Tensor tensor{};
  bool requires_grad = false;
};
using FindDraftState = std::function<std::optional<DraftState>(const InputSpec&)>;

struct DraftOptions {
  // Empty: all data lies inside the JSON. Otherwise all data lies in one file of this name, beside
  // it.
  std::string external_file{};
};
struct DraftFile {
  draft::GraphModule module{};
  std::string external{};  // the content of external_file
};

// What the draft cannot express of a program, each with its place.
struct DraftReport {
  std::vector<std::string> inexpressible{};  // dropping it changes or breaks the program
  std::vector<std::string> left_out{};       // dropping it changes no result
};

// Fails as `unsupported` when something is inexpressible; the report names all of it. Copies the
// data, in big-endian order. Linear in program and data.
Result<DraftFile> to_draft(const Program& program, const FindDraftState& find_state,
                           const DraftOptions& options, DraftReport& report);

}  // namespace pt2

#endif  // PT2_FORMAT_DRAFT_H
