// Every name that a pickle may use, and its meaning. Any other name is refused.
#ifndef PT2_ARCHIVE_PICKLE_PICKLE_GLOBALS_H
#define PT2_ARCHIVE_PICKLE_PICKLE_GLOBALS_H

#include <cstdint>
#include <optional>
#include <string_view>

#include "pt2/dtype.h"
#include "pt2/format/pickle.h"

namespace pt2 {

struct StorageClass {
  std::string_view dtype;  // PyTorch's name; a quantized dtype is no Dtype
  uint8_t element_size;
  uint8_t alignment;  // of an element in memory
};

// The meaning of naming or calling a global. Each is a function in pickle_calls.cpp.
enum class PickleCall : uint8_t {
  not_callable,  // a class, layout, qscheme or memory format that is an argument of others
  storage,
  container,  // an empty container, or one with the items of its argument
  complex,
  encode,
  device,
  layout,
  reconstruct,
  rebuild_tensor,
  rebuild_parameter,
  rebuild_from_type,
  rebuild_sparse,
  rebuild_quantized,
  tensor_without_data,
  script_object,
  restore_type_tag,
  generator,
  load_from_bytes,
};

inline constexpr std::string_view kScriptObject = "torch.ScriptObject";
inline constexpr std::string_view kBytes = "builtins.bytes";
inline constexpr std::string_view kWrapperSubclass = "torch._utils._rebuild_wrapper_subclass";
inline constexpr std::string_view kFakeTensor =
    "torch._export.serde.serialize._reconstruct_fake_tensor";

struct KnownGlobal {
  std::string_view name;
  PickleCall call = PickleCall::not_callable;
  // container: the kind that it makes.
  PickleKind kind = PickleKind::none;
  // rebuild_tensor, tensor_without_data: indices of the arguments; -1 if there is none.
  int8_t dtype = -1;
  int8_t sizes = -1;
  // tensor_without_data: why the tensor has no data.
  std::string_view missing = "";
  StorageClass storage = {};
};

// Finds by "module.name", with Python 2's names for builtins; nullptr if unknown. torch_dtype finds
// dtypes.
const KnownGlobal* find_known_global(std::string_view name);
// The name that a pickle of protocol 2 has for a module: "builtins" -> "__builtin__".
std::string_view python2_module(std::string_view module);
// The storage class of a dtype; nullptr for dtypes newer than typed storages, which are saved in
// untyped ones (torch/storage.py, _new_dtypes).
const KnownGlobal* find_storage_class(Dtype dtype);
inline constexpr std::string_view kUntypedStorage = "torch.storage.UntypedStorage";
// "torch.float32" -> "float32"; empty for other names. Includes dtypes that no tensor has here.
std::string_view torch_dtype(std::string_view name);

}  // namespace pt2

#endif  // PT2_ARCHIVE_PICKLE_PICKLE_GLOBALS_H
