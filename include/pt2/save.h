// Writing a .pt2 in the layout of any release: what torch.export.save (to 2.7) and package_pt2
// (2.8 on) do. The same contents give the same bytes, and contents read from a file of 2.9 or later
// give the bytes of that file.
//
//   PT2_TRY(pt2::PackageContents contents, pt2::package_contents(package));
//   contents.programs[0].json = pt2::program_json(changed);
//   PT2_TRY_VOID(pt2::save_package(contents, "changed.pt2"));
#ifndef PT2_SAVE_H
#define PT2_SAVE_H

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pt2/format/archive.h"
#include "pt2/format/draft.h"
#include "pt2/format/origin.h"
#include "pt2/format/zip.h"
#include "pt2/package.h"
#include "pt2/result.h"
#include "pt2/tensor.h"

namespace pt2 {

namespace schema {
struct TensorMeta;
}

// One entry of a state dict or of the constants. Tensors that share a storage are saved with one
// copy of it, whole, and share it again when they are loaded.
struct SavedTensor {
  std::string name{};  // its FQN
  // Its elements may lie in another mapped file, even in the one that is replaced.
  Tensor tensor{};
  bool is_parameter = false;
  bool requires_grad = false;
  std::string device = "cpu";
  // No elements are written; PyTorch makes zeros (2.9 on).
  bool is_fake = false;
  // A tensor without raw bytes, such as a sparse one or a subclass: the parts of its torch.save
  // file, and its entry in the config (2.9 on), if any.
  std::vector<Record> pickled{};
  std::shared_ptr<const schema::TensorMeta> meta{};
};

// A custom or opaque object among the constants.
struct SavedObject {
  std::string name{};
  std::vector<Record> content{};  // the parts of its file
  bool is_opaque = false;         // a Python pickle, not a TorchScript file
};

// Tensors, or a torch.save file that holds a dict of them. Layouts with torch.save records take
// that file as it is; for layouts with raw records the tensors are read from it.
using SavedTensors = std::variant<std::vector<SavedTensor>, Record>;

struct SavedProgram {
  std::string name = "model";
  // The ExportedProgram (program_json). Its schema version decides the record names of a flat
  // archive.
  std::string json{};
  SavedTensors state_dict{};
  SavedTensors constants{};
  std::vector<SavedObject> objects{};
  // A torch.save file of (args, kwargs) (write_torch_save); empty for none.
  Record sample_inputs{};
  // A container, or a program of schema 8.11: the JSON itself says in which records its tensors
  // lie, and those are among other_records.
  bool names_its_payloads = false;
};

struct SavedFile {
  std::string name{};
  Record content{};
};

struct PackageContents {
  Era era = Era::raw_payloads;
  // A flat archive holds one.
  std::vector<SavedProgram> programs{};
  // Text that users add (extra_files of torch.export.save).
  std::vector<SavedFile> extra_files{};
  // Everything else, by its name below the root folder: compiled code, records nobody knows.
  std::vector<SavedFile> other_records{};
  // Programs that hold one storage get one record for it. PyTorch reads such files, and writes a
  // copy for each program.
  bool shares_storages = false;
  // The archive that most of the contents lie in, if any. Bytes written unchanged from there are
  // compared with the checksum that the archive states, and copied by the kernel (origin.h).
  std::shared_ptr<const Origin> origin{};
};

// What `package` holds, in its own layout. Tensors stay in its mapped file, which the contents keep
// alive; sample inputs, objects and (up to 2.8) whole payload files are taken as they are. Errors:
// those of Package::payloads, Archive::read.
Result<PackageContents> package_contents(const Package& package);

// The program as an early draft, with the tensors of the package; `unsupported` as to_draft, also
// for fake tensors.
Result<DraftFile> package_draft(const Package& package, const DraftOptions& options,
                                DraftReport& report, std::string_view model = "");

// The JSON of a program, in the spelling of its schema version.
std::string program_json(const Program& program);

// Writes into a temporary file beside `path` and renames it: the file there, if any, stays whole
// until the new one is, and may be the one that the contents come from. The root folder is named
// after the file, as PyTorch does it. Nothing large is copied in memory. Errors: `io`; `argument`
// for contents that no file can hold (no program, two names alike, a name that leaves the folder, a
// tensor without elements); `unsupported` for what this layout has no place for: several programs
// in a flat archive, fake tensors and opaque objects before 2.9, and what write_pickle refuses;
// `corrupt` for a record of `origin` that is damaged; `where` is the record or name.
Result<void> save_package(const PackageContents& contents, const std::string& path);
// As above, into a sink, which it finishes; PyTorch calls the root folder "archive" then.
Result<void> save_package(const PackageContents& contents, Sink& sink,
                          std::string_view root = "archive");
// The root folder that PyTorch gives the file at `path`: its name up to the last dot.
std::string root_folder(std::string_view path);

}  // namespace pt2

#endif  // PT2_SAVE_H
