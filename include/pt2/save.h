// Writes .pt2 files in the layout of any release, as torch.export.save (to 2.7) and package_pt2
// (2.8 on) do. Equal contents give equal bytes. Contents read from a file of 2.9 or later give the
// bytes of that file, except that tied weights of 2.9.1 move beside each other in its list.
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
// copy of the whole storage, and share it again after loading.
struct SavedTensor {
  std::string name{};  // its FQN
  // The elements may lie in a mapped file, even in the file that will be replaced.
  Tensor tensor{};
  bool is_parameter = false;
  bool requires_grad = false;
  std::string device = "cpu";
  // If true, no elements are written. PyTorch loads zeros (2.9 on).
  bool is_fake = false;
  // For a tensor without raw bytes, such as a sparse tensor or a subclass: the parts of its
  // torch.save file, and its entry in the config (2.9 on), if any.
  std::vector<Record> pickled{};
  std::shared_ptr<const schema::TensorMeta> meta{};
};

// A custom or opaque object among the constants.
struct SavedObject {
  std::string name{};
  std::vector<Record> content{};  // the parts of its file
  bool is_opaque = false;         // a Python pickle, not a TorchScript file
};

// Tensors, or a torch.save file with a dict of tensors. Layouts with torch.save records contain
// this file unchanged. For layouts with raw records, the tensors are read from it.
using SavedTensors = std::variant<std::vector<SavedTensor>, Record>;

struct SavedProgram {
  std::string name = "model";
  // The ExportedProgram (program_json). Its schema version decides the record names of a flat
  // archive.
  std::string json{};
  SavedTensors state_dict{};
  SavedTensors constants{};
  std::vector<SavedObject> objects{};
  // A torch.save file of (args, kwargs) (write_torch_save). Empty: no sample inputs.
  Record sample_inputs{};
  // True for a container or a program of schema 8.11: its JSON names the records of its tensors,
  // which are among other_records.
  bool names_its_payloads = false;
};

struct SavedFile {
  std::string name{};
  Record content{};
};

struct PackageContents {
  Era era = Era::raw_payloads;
  // A flat archive holds exactly one program.
  std::vector<SavedProgram> programs{};
  // Text files of the user (extra_files of torch.export.save).
  std::vector<SavedFile> extra_files{};
  // All other records, by their names below the root folder: compiled code, unknown records.
  std::vector<SavedFile> other_records{};
  // If true, programs that share a storage share its record. PyTorch reads such files, but writes a
  // copy for each program.
  bool shares_storages = false;
  // The archive that holds most of the contents, if any. Bytes written unchanged from it are
  // compared with the checksum in the archive, and copied by the operating system (origin.h).
  std::shared_ptr<const Origin> origin{};
};

// Returns the contents of `package` in its own layout. Tensors stay in its mapped file, which the
// contents keep alive. Sample inputs, objects and (up to 2.8) whole payload files stay unchanged.
// Errors: those of Package::payloads and Archive::read.
Result<PackageContents> package_contents(const Package& package);

// Returns a program as an early draft, with the tensors of the package. Error `unsupported` as in
// to_draft, and for fake tensors.
Result<DraftFile> package_draft(const Package& package, const DraftOptions& options,
                                DraftReport& report, std::string_view model = "");

// Returns the JSON of a program, in the spelling of its schema version.
std::string program_json(const Program& program);

// Writes a package. It writes a temporary file beside `path` and renames it, so an existing file
// stays complete until the new one is complete, and may be the file that the contents come from.
// The root folder is named after the file, as in PyTorch. No large data is copied in memory.
// Errors: `io`; `argument` for contents that no file can hold (no program, duplicate names, a name
// that leads out of the folder, a tensor without elements); `unsupported` for contents that this
// layout cannot hold (several programs in a flat archive, fake tensors and opaque objects before
// 2.9) and for values that write_pickle refuses; `corrupt` for a damaged record of `origin`. Their
// `where` is the record or name.
Result<void> save_package(const PackageContents& contents, const std::string& path);
// As above, but writes into a sink and finishes it. PyTorch's name of the root folder is "archive"
// in this case.
Result<void> save_package(const PackageContents& contents, Sink& sink,
                          std::string_view root = "archive");
// Returns the root folder that PyTorch gives a file at `path`: the file name up to the last dot.
std::string root_folder(std::string_view path);

}  // namespace pt2

#endif  // PT2_SAVE_H
