// An opened .pt2 file, or a bare JSON document: its programs, and the tensors that belong to them.
// Opening reads the directory and the program JSON; weights are found when they are asked for, and
// stay in the mapped file until somebody reads their elements.
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
}  // namespace schema
namespace draft {
struct GraphModule;
}

enum class PayloadKind : uint8_t { weight, constant };

// One tensor of the state dict or of the constants.
struct PayloadTensor {
  PayloadKind kind = PayloadKind::weight;
  std::string name{};  // its FQN
  Tensor tensor{};     // not defined when `missing` tells why
  std::string
      missing;  // "layout torch.sparse_coo", "fake tensor", ...; empty when the elements are there
  // Saved without elements. PyTorch loads zeros in their place, and so does this library, up to
  // Limits::max_fake_bytes.
  bool is_fake = false;
  std::string dtype{};  // as torch prints it, also where the elements are missing
  Sizes sizes{};
  std::string device{};  // where it was when it was saved: "cpu", "cuda:0"
  bool requires_grad = false;
  bool is_parameter = false;
  std::string record{};      // where its bytes lie, relative to the archive's root
  size_t storage_group = 0;  // tensors of equal numbers share one storage
  // Of a pickled tensor without strided data: a sparse one's indices and values, a quantized one's
  // integers, a subclass's inner tensors.
  std::vector<Tensor> parts{};
  std::vector<std::string> part_names{};  // of a subclass: the attributes that hold the parts
  std::string class_name{};               // of a subclass: "torchao.quantization.Int8Tensor"
};

// A constant that is no tensor: a custom or opaque object, kept as it is.
struct PayloadObject {
  std::string name{};
  std::string record{};
  std::string type{};  // class name, where it is known
  Object object{};     // null where its state is not understood
};

// Every tensor that belongs to one program. Immutable.
class Payloads {
 public:
  std::span<const PayloadTensor> tensors() const {
    return tensors_;
  }  // weights, then constants; in file order
  std::span<const PayloadObject> objects() const { return objects_; }
  // Null when there is none.
  const PayloadTensor* find(PayloadKind kind, std::string_view name) const;
  const PayloadObject* find_object(std::string_view name) const;
  // The tensor of a parameter, buffer or tensor constant of the signature; null when the file lacks
  // it, and for other kinds of inputs. Non-persistent buffers lie among the constants.
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
  Pickle pickle;  // owns what the leaves refer to
  std::vector<SampleInput> leaves{};
};

enum class NodeOrigins : bool;

class Package {
 public:
  // Errors: those of Archive::open, and of reading a program (`malformed`, `invalid`,
  // `unsupported`), at the record and the place in its JSON.
  static Result<Package> open(const std::string& path, const Limits& limits = {});
  // As open, but nodes of long programs keep of their metadata only what module_path and
  // source_line need: for looking at large programs, not for writing them again.
  static Result<Package> open_briefly(const std::string& path, const Limits& limits = {});
  // Over bytes in memory; `name` is used in messages, `owner` is kept alive with the package and
  // its tensors.
  static Result<Package> open_bytes(std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, std::string name,
                                    const Limits& limits = {});

  const Archive& archive() const;
  // Names of the programs, in file order. Of a container (container.h) there are several in one
  // record: "forward", "aotinductor-a100/forward"; with the record's name in front
  // ("decoder/forward") where the file has more than one.
  std::span<const std::string> models() const&;
  std::span<const std::string> models() && = delete;  // would lose its package
  // What opening found odd: container and schema.
  const Diagnostics& warnings() const&;
  const Diagnostics& warnings() && = delete;

  // In all that follows an empty model name means the only one, the one called "model", or the only
  // main one of containers (method "forward"); `argument` when there is no such model. Reading is
  // safe from any number of threads.
  Result<const Program*> program(std::string_view model = "") const;
  Result<std::string> model_name(std::string_view model = "") const;
  // The JSON's own structure, for tools, decoded anew from the file. An early draft is given in the
  // newest schema.
  Result<schema::ExportedProgram> schema(std::string_view model = "") const;
  // Whether the program is in a container.
  bool is_member(std::string_view model = "") const;
  // The container that holds the program, decoded anew; nothing when it has a record of its own.
  Result<std::optional<schema::Model>> container(std::string_view model = "") const;
  // The early draft that the file holds (draft.h); null for every other file. The package owns it.
  const draft::GraphModule* draft(std::string_view model = "") const;
  // Read on first use, then shared. Errors: `corrupt`, `malformed`, `invalid`, `unsupported`, at
  // the record and name.
  Result<std::shared_ptr<const Payloads>> payloads(std::string_view model = "") const;
  // Adds V108 for what PyTorch would run to read them; the results of such calls are opaque
  // objects.
  Result<SampleInputs> sample_inputs(Diagnostics& warnings, std::string_view model = "") const;

 private:
  struct State;
  static Result<Package> open_archive(Archive archive, NodeOrigins origins);
  explicit Package(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace pt2

#endif  // PT2_PACKAGE_H
