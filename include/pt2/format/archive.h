// Archives: .pt2 files as named records. An Archive knows the layout of the file (one of three),
// its programs, and the records of each program. A bare JSON document counts as an archive of one
// record. This code reads only the outermost keys of the JSON, to tell a program from a container.
// Imitates torch/export/pt2_archive and torch.export.load (the formats of every release since 2.1).
#ifndef PT2_FORMAT_ARCHIVE_H
#define PT2_FORMAT_ARCHIVE_H

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/diagnostics.h"
#include "pt2/format/zip.h"
#include "pt2/limits.h"
#include "pt2/result.h"
#include "pt2/tensor.h"

namespace pt2 {

class MappedFile;

enum class Era : uint8_t {
  flat,              // 2.1 to 2.7: no root folder, torch.save blobs
  pickled_payloads,  // 2.8: root folder, torch.save blobs
  raw_payloads,      // 2.9 on: root folder, a JSON config and a raw record for each storage
  document,          // no zip: the JSON of one program, container or early draft, and no payloads
};

// The purpose of a record. `pt2 ls` prints these names.
enum class Role : uint8_t {
  program,           // JSON of one ExportedProgram
  weights,           // torch.save of the state dict (2.1 to 2.8)
  constants,         // torch.save of the constants (2.2 to 2.8)
  weights_config,    // JSON: name -> record, dtype, sizes, strides (2.9 on)
  constants_config,  // as weights_config, for constants
  raw_weight,        // bytes of one storage, or a torch.save of one tensor subclass
  raw_constant,
  custom_object,  // TorchScript object, kept as it is
  opaque_object,  // pickled Python object, kept as it is
  sample_inputs,  // torch.save of (args, kwargs); may be empty
  extra,          // text that the user added
  aotinductor,    // compiled code and its data
  executorch,
  metadata,  // versions, byte order, ids
  unknown,
};
std::string_view role_name(Role role);

// The role of a record and the model or file name that its path contains ("" if none):
// "models/decoder.json" -> {program, "decoder"}. The only model of a flat archive or a document is
// called "model".
struct RecordRole {
  Role role;
  std::string_view name;
};
// Returns the role of the record with this name, relative to the root folder.
RecordRole classify_record(Era era, std::string_view relative_name);

class Archive {
 public:
  // Maps the file, reads its directory and its small text records. Errors: `io`; those of
  // ZipReader; `malformed` for files that are no .pt2 (the message names the actual format);
  // `invalid` for a missing or wrong record; `unsupported` for newer layouts, big-endian data and
  // packages without a program.
  static Result<Archive> open(const std::string& path, const Limits& limits = {});
  // As `open`, for bytes in memory. The archive keeps `owner` alive. Messages use `name`.
  static Result<Archive> open_bytes(std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, std::string name,
                                    const Limits& limits = {});
  // Opens any zip file to list and copy its records: a package with only compiled code, a
  // torch.save file. `models` is empty if the file holds no program. Only the zip structure is
  // checked.
  static Result<Archive> open_container(const std::string& path, const Limits& limits = {});
  static Result<Archive> open_container_bytes(std::span<const std::byte> bytes,
                                              std::shared_ptr<const void> owner, std::string name,
                                              const Limits& limits = {});

  Era era() const { return era_; }
  // Returns the folder that holds every record, without slash. Empty for flat archives.
  const std::string& root() const { return root_; }
  const ZipReader& zip() const { return zip_; }
  // Returns the mapped file; null for bytes in memory.
  const std::shared_ptr<const MappedFile>& file() const { return file_; }
  // Returns the path as given to `open`, or the name given to `open_bytes`.
  const std::string& name() const { return name_; }
  // Returns the folder of the file, where a draft's external data lies. Empty for bytes in memory.
  const std::string& folder() const { return folder_; }
  const Limits& limits() const { return limits_; }
  // Returns the warnings about the container: V101, V102, V104, V105, V107.
  const Diagnostics& warnings() const { return warnings_; }

  // Returns the names of the programs in file order. Flat archives have "model".
  std::span<const std::string> models() const { return models_; }
  // Returns the name, relative to the root, of the record with `role` for `model`. If the file
  // lacks the record, returns the name that it would have; "" if the layout has no such record. For
  // program, weights, constants, their configs and sample_inputs.
  std::string record_name(Role role, std::string_view model) const;
  std::string program_record(std::string_view model) const {
    return record_name(Role::program, model);
  }
  // True if the JSON of the program names the records of its tensors, as containers and schema 8.11
  // do.
  bool names_its_payloads(std::string_view model) const;
  // A file that the user added: its name without the folder, and its entry.
  struct ExtraFile {
    std::string name;
    const Entry* entry;
  };
  // Returns the files that the user added, in file order.
  std::vector<ExtraFile> extra_files() const;
  // Returns `version` of a flat archive ("5.1"), `archive_version` of other archives ("0").
  const std::string& version_text() const { return version_text_; }

  // Names below are relative to the root folder.

  // Returns the entry with this name; nullptr if there is none.
  const Entry* find(std::string_view relative_name) const;
  std::string_view relative_name(const Entry& entry) const;
  // Returns the content of a record. Checks the CRC-32 of programs, configs and text. The CRC-32 of
  // payloads is left to check_all_crcs, so that weights stay unread (read_torch_save checks the
  // pickle inside a torch.save record). Errors: `invalid` for a missing record; those of ZipReader.
  // Their `where` is "file!record".
  Result<Record> read(std::string_view relative_name) const;
  RecordRole role(const Entry& entry) const { return classify_record(era_, relative_name(entry)); }

 private:
  static std::optional<Archive> open_document(std::span<const std::byte> bytes,
                                              std::shared_ptr<const void> owner, std::string name,
                                              const Limits& limits);
  void find_layout();
  Result<void> check_package();
  Result<void> check_content();
  Result<void> check_flat();
  Result<void> check_payloads() const;
  void count_roles();
  Result<void> check_json_ratio(std::string_view name) const;
  double json_growth() const;
  void collect_warnings();
  bool has_role(Role wanted) const { return role_counts_[static_cast<size_t>(wanted)] > 0; }
  Error foreign_zip_error() const;
  Error not_a_zip(Error error, std::span<const std::byte> bytes) const;
  Result<std::string> read_text(std::string_view relative_name) const;
  Error error(ErrorCode code, std::string message, std::string_view record = "") const;

  ZipReader zip_;
  std::shared_ptr<const MappedFile> file_;
  std::string name_;
  std::string folder_;
  std::string root_;
  std::string version_text_;
  std::vector<std::string> models_;
  std::array<uint32_t, static_cast<size_t>(Role::unknown) + 1> role_counts_{};
  // Bytes of all deflated JSON records, in the file and inflated.
  uint64_t deflated_json_ = 0;
  uint64_t inflated_json_ = 0;
  Diagnostics warnings_;
  Limits limits_;
  Era era_ = Era::raw_payloads;
};

// Returns the format of a file that is no .pt2, recognised by its first bytes: "a safetensors
// file", "an HTML page". "" if unknown.
std::string_view recognise_foreign_file(std::span<const std::byte> bytes);

// Returns a tensor storage with the bytes of a record. It is borrowed and read-only if the bytes
// lie at a multiple of `alignment`, which PyTorch's package writer guarantees for every dtype.
// Otherwise it is a copy (flat archives).
std::shared_ptr<Storage> make_storage(const Record& record, size_t alignment);

}  // namespace pt2

#endif  // PT2_FORMAT_ARCHIVE_H
