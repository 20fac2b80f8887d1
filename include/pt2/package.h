// Opens a .pt2 file or a bare JSON document, and gives its programs and their tensors. Opening
// reads the directory and the JSON of the programs. Payloads are located on request, and their
// elements stay in the mapped file until they are read.
//
//   auto package = pt2::Package::open("model.pt2").value();
//   const pt2::Program& program = *package.program().value();
//   auto payloads = package.payloads().value();
#ifndef PT2_PACKAGE_H
#define PT2_PACKAGE_H

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pt2/diagnostics.h"
#include "pt2/format/archive.h"
#include "pt2/format/pickle.h"
#include "pt2/ir/program.h"
#include "pt2/limits.h"
#include "pt2/result.h"
#include "pt2/tensor.h"
#include "pt2/value.h"

namespace pt2 {

namespace schema {
struct ExportedProgram;
struct Model;
struct Program;
using Container = std::variant<Model, Program>;  // pt2/format/container.h
}  // namespace schema
namespace draft {
struct GraphModule;
}

enum class PayloadKind : uint8_t { weight, constant };

// One tensor of the state dict or of the constants.
struct PayloadTensor {
  PayloadKind kind = PayloadKind::weight;
  std::string name{};   // its FQN
  Tensor tensor{};      // undefined if `missing` is not empty
  std::string missing;  // the reason why there are no elements: "layout torch.sparse_coo", ...
  // The tensor was saved without elements. PyTorch loads zeros in their place, and so does this
  // library, up to Limits::max_fake_bytes.
  bool is_fake = false;
  std::string dtype{};  // as torch prints it; known even if the elements are missing
  Sizes sizes{};
  std::string device{};  // the device of the tensor when it was saved: "cpu", "cuda:0"
  bool requires_grad = false;
  bool is_parameter = false;
  std::string record{};      // the record of its bytes, relative to the root of the archive
  size_t storage_group = 0;  // tensors with equal numbers share one storage
  // The parts of a pickled tensor without strided data: indices and values of a sparse tensor,
  // integers of a quantized tensor, inner tensors of a subclass.
  std::vector<Tensor> parts{};
  std::vector<std::string> part_names{};  // for a subclass: the attributes that hold the parts
  std::string class_name{};               // for a subclass: "torchao.quantization.Int8Tensor"
};

// A constant that is no tensor: a custom or opaque object, kept unchanged.
struct PayloadObject {
  std::string name{};
  std::string record{};
  std::string type{};  // class name; empty if unknown
  Object object{};     // null if its state is not understood
};

// All tensors and objects of one program. Immutable.
class Payloads {
 public:
  std::span<const PayloadTensor> tensors() const {
    return tensors_;
  }  // weights, then constants; in file order
  std::span<const PayloadObject> objects() const { return objects_; }
  // Return the tensor or object with this name; null if there is none.
  const PayloadTensor* find(PayloadKind kind, std::string_view name) const;
  const PayloadObject* find_object(std::string_view name) const;
  // Returns the tensor of a parameter, buffer or tensor constant of the signature. Null if the file
  // lacks it, and for other kinds of inputs. Non-persistent buffers are among the constants.
  const PayloadTensor* bound_to(const InputSpec& spec) const;

  void add(PayloadTensor tensor);
  void add(PayloadObject object);

 private:
  std::vector<PayloadTensor> tensors_;
  std::vector<PayloadObject> objects_;
  std::map<std::string, size_t, std::less<>> weights_;
  std::map<std::string, size_t, std::less<>> constants_;
  std::map<std::string, size_t, std::less<>> object_index_;
  std::map<const void*, size_t> storages_;
  size_t storage_groups_ = 0;
};

// The example inputs of a program: the leaves of (args, kwargs) in flat order.
struct SampleInputs {
  Pickle pickle;  // owns the values of the leaves
  std::vector<SampleInput> leaves{};
};

enum class NodeOrigins : bool;

class Package {
 public:
  // Opens a file. Errors: those of Archive::open, and of reading a program (`malformed`, `invalid`,
  // `unsupported`), at the record and the place in its JSON.
  static Result<Package> open(const std::string& path, const Limits& limits = {});
  // As open, but nodes of long programs keep only the metadata that module_path and source_line
  // need. Use it to inspect large programs, not to write them again.
  static Result<Package> open_briefly(const std::string& path, const Limits& limits = {});
  // As open, for bytes in memory. Messages use `name`. The package and its tensors keep `owner`
  // alive.
  static Result<Package> open_bytes(std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, std::string name,
                                    const Limits& limits = {});

  const Archive& archive() const;
  // Returns the names of the programs in file order. A container (container.h) has several programs
  // in one record: "forward", "aotinductor-a100/forward". If the file has more than one such
  // record, the name of the record precedes them ("decoder/forward").
  std::span<const std::string> models() const&;
  std::span<const std::string> models() && = delete;  // the names would die with the package
  // Returns the warnings about container and schema that opening found.
  const Diagnostics& warnings() const&;
  const Diagnostics& warnings() && = delete;

  // For the functions below, an empty model name means the only program, the one called "model", or
  // the only main program of containers (method "forward"). Error `argument` if there is no such
  // model. Any number of threads may read at once.

  // Returns the program, which the package owns.
  Result<const Program*> program(std::string_view model = "") const;
  // Returns the full name of the program.
  Result<std::string> model_name(std::string_view model = "") const;
  // Returns the structure of the JSON for tools. Decodes the file again at each call. An early
  // draft is given in the newest schema.
  Result<schema::ExportedProgram> schema(std::string_view model = "") const;
  // True if the program is in a container.
  bool is_member(std::string_view model = "") const;
  // Returns the container that holds the program; nothing if the program has its own record.
  // Decodes the file again at each call.
  Result<std::optional<schema::Container>> container(std::string_view model = "") const;
  // Returns the early draft of the file (draft.h), which the package owns; null for other files.
  const draft::GraphModule* draft(std::string_view model = "") const;
  // Returns the tensors and objects of the program. Reads them on first use, then shares them.
  // Errors: `corrupt`, `malformed`, `invalid`, `unsupported`, at the record and name.
  Result<std::shared_ptr<const Payloads>> payloads(std::string_view model = "") const;
  // Returns the example inputs. Adds V108 to `warnings` for functions that PyTorch would call to
  // read them; the results of these calls become opaque objects.
  Result<SampleInputs> sample_inputs(Diagnostics& warnings, std::string_view model = "") const;

 private:
  struct State;
  static Result<Package> open_archive(Archive archive, NodeOrigins origins);
  explicit Package(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace pt2

#endif  // PT2_PACKAGE_H
