#include "archive/pickle/pickle_globals.h"

#include <algorithm>
#include <array>

#include "base/random_state.h"

namespace pt2 {
namespace {

using enum PickleCall;

constexpr KnownGlobal storage_row(std::string_view name, std::string_view dtype,
                                  uint8_t element_size, uint8_t alignment) {
  return {.name = name, .call = storage, .storage = {dtype, element_size, alignment}};
}
constexpr KnownGlobal container_row(std::string_view name, PickleKind kind) {
  return {.name = name, .call = container, .kind = kind};
}
constexpr KnownGlobal missing_row(std::string_view name, int8_t dtype, int8_t sizes,
                                  std::string_view missing) {
  return {.name = name,
          .call = tensor_without_data,
          .dtype = dtype,
          .sizes = sizes,
          .missing = missing};
}

// Sources: torch/_utils.py (_rebuild_*), torch/storage.py, torch/_weights_only_unpickler.py
// (_get_allowed_globals).
// clang-format off
constexpr KnownGlobal kKnownGlobals[] = {
    // An untyped storage may hold any dtype.
    storage_row("torch.FloatStorage",         "float32",    4, 4),
    storage_row("torch.DoubleStorage",        "float64",    8, 8),
    storage_row("torch.HalfStorage",          "float16",    2, 2),
    storage_row("torch.BFloat16Storage",      "bfloat16",   2, 2),
    storage_row("torch.LongStorage",          "int64",      8, 8),
    storage_row("torch.IntStorage",           "int32",      4, 4),
    storage_row("torch.ShortStorage",         "int16",      2, 2),
    storage_row("torch.CharStorage",          "int8",       1, 1),
    storage_row("torch.ByteStorage",          "uint8",      1, 1),
    storage_row("torch.BoolStorage",          "bool",       1, 1),
    storage_row("torch.ComplexFloatStorage",  "complex64",  8, 4),
    storage_row("torch.ComplexDoubleStorage", "complex128", 16, 8),
    storage_row("torch.QInt8Storage",         "qint8",      1, 1),
    storage_row("torch.QUInt8Storage",        "quint8",     1, 1),
    storage_row("torch.QInt32Storage",        "qint32",     4, 4),
    storage_row("torch.QUInt4x2Storage",      "quint4x2",   1, 1),
    storage_row("torch.QUInt2x4Storage",      "quint2x4",   1, 1),
    storage_row(kUntypedStorage,            "uint8",    1, 8),
    storage_row("torch.UntypedStorage",       "uint8",      1, 8),

    container_row("collections.OrderedDict",  PickleKind::ordered_dict),
    container_row("collections.defaultdict",  PickleKind::default_dict),
    container_row("collections.deque",        PickleKind::deque),
    container_row("builtins.dict",            PickleKind::dict),
    container_row("builtins.list",            PickleKind::list),
    container_row("builtins.tuple",           PickleKind::tuple),
    container_row("builtins.set",             PickleKind::set),
    container_row("builtins.frozenset",       PickleKind::set),
    container_row("torch.Size",               PickleKind::size),
    {.name = "builtins.complex",              .call = PickleCall::complex},
    {.name = "_codecs.encode",                .call = encode},
    {.name = kBytes,                          .call = encode},
    {.name = "copyreg._reconstructor",        .call = reconstruct},
    {.name = "torch.device",                  .call = device},
    {.name = "torch.serialization._get_layout", .call = layout},
    {.name = kScriptObject,            .call = script_object},
    // A generator and the tensor of its state, as pickle.dumps writes them: without a file beside
    // the pickle, a storage is a file of its own inside it (torch/storage.py,
    // StorageBase.__reduce__).
    {.name = kGeneratorClass,          .call = generator},
    {.name = "torch.storage._load_from_bytes", .call = load_from_bytes},
    // TorchScript's own pickles name the element types of their lists this way.
    container_row("torch.jit._pickle.build_boollist",   PickleKind::list),
    container_row("torch.jit._pickle.build_doublelist", PickleKind::list),
    container_row("torch.jit._pickle.build_intlist",    PickleKind::list),
    container_row("torch.jit._pickle.build_tensorlist", PickleKind::list),
    {.name = "torch.jit._pickle.restore_type_tag", .call = restore_type_tag},

    {.name = "torch._utils._rebuild_tensor",    .call = rebuild_tensor},
    {.name = "torch._utils._rebuild_tensor_v2", .call = rebuild_tensor},
    {.name = "torch._utils._rebuild_tensor_v3", .call = rebuild_tensor, .dtype = 6},
    {.name = "torch._utils._rebuild_parameter", .call = rebuild_parameter},
    {.name = "torch._utils._rebuild_parameter_with_state", .call = rebuild_parameter},
    {.name = "torch._tensor._rebuild_from_type",    .call = rebuild_from_type},
    {.name = "torch._tensor._rebuild_from_type_v2", .call = rebuild_from_type},
    {.name = "torch._utils._rebuild_sparse_tensor", .call = rebuild_sparse},
    {.name = "torch._utils._rebuild_sparse_csr_tensor", .call = rebuild_sparse},
    {.name = "torch._utils._rebuild_qtensor", .call = rebuild_quantized, .sizes = 2, .missing = "quantized tensor"},
    missing_row("torch._utils._rebuild_nested_tensor",             -1, -1, "nested tensor"),
    missing_row(kWrapperSubclass,                                   1,  2, "tensor subclass without data of its own"),
    missing_row("torch._utils._rebuild_meta_tensor_no_storage",     0,  1, "meta tensor: only its metadata was saved"),
    missing_row(kFakeTensor,                                       -1, -1, "fake tensor: only its metadata was saved"),

    {.name = "torch.Tensor"},
    {.name = "torch.nn.parameter.Parameter"},
    {.name = "torch.nn.parameter.Buffer"},
    {.name = "torch.per_tensor_affine"},
    {.name = "torch.per_tensor_symmetric"},
    {.name = "torch.per_channel_affine"},
    {.name = "torch.per_channel_symmetric"},
    {.name = "torch.per_channel_affine_float_qparams"},
    {.name = "torch.strided"},
    {.name = "torch.sparse_coo"},
    {.name = "torch.sparse_csr"},
    {.name = "torch.sparse_csc"},
    {.name = "torch.sparse_bsr"},
    {.name = "torch.sparse_bsc"},
    {.name = "torch.jagged"},
    {.name = "torch.contiguous_format"},
    {.name = "torch.preserve_format"},
    {.name = "torch.channels_last"},
    {.name = "torch.channels_last_3d"},
    {.name = "builtins.object"},
    {.name = "builtins.int"},
    {.name = "builtins.float"},
    {.name = "builtins.bool"},
    {.name = "builtins.str"},
};
// clang-format on

// Pickles of protocol 2 and below carry the module names of Python 2 (Lib/_compat_pickle.py).
struct OldModule {
  std::string_view old_prefix;
  std::string_view new_prefix;

  std::string_view old_name() const { return old_prefix.substr(0, old_prefix.size() - 1); }
  std::string_view new_name() const { return new_prefix.substr(0, new_prefix.size() - 1); }
};
constexpr OldModule kOldModules[] = {{"__builtin__.", "builtins."}, {"copy_reg.", "copyreg."}};

bool matches(std::string_view known, std::string_view prefix, std::string_view rest) {
  return known.size() == prefix.size() + rest.size() && known.starts_with(prefix) &&
         known.ends_with(rest);
}

// Dtypes of PyTorch that no tensor of a .pt2 has (c10/core/ScalarType.h). torchao stores some in
// fields of its subclasses, as the type of the packed integers.
constexpr std::string_view kOtherDtypes[] = {"int1",    "int2",  "int3",    "int4",
                                             "int5",    "int6",  "int7",    "uint1",
                                             "uint2",   "uint3", "uint4",   "uint5",
                                             "uint6",   "uint7", "bits1x8", "bits2x4",
                                             "bits4x2", "bits8", "bits16",  "float4_e2m1fn_x2"};

bool has_storage_class(std::string_view dtype) {
  return std::ranges::any_of(kKnownGlobals, [&](const KnownGlobal& known) {
    return known.call == storage && known.storage.dtype == dtype;
  });
}

}  // namespace

const KnownGlobal* find_known_global(std::string_view name) {
  std::string_view prefix;
  for (const OldModule& old : kOldModules)
    if (name.starts_with(old.old_prefix)) {
      name.remove_prefix(old.old_prefix.size());
      prefix = old.new_prefix;
      break;
    }
  const auto found = std::ranges::find_if(
      kKnownGlobals, [&](const KnownGlobal& known) { return matches(known.name, prefix, name); });
  return found == std::end(kKnownGlobals) ? nullptr : found;
}

std::string_view python2_module(std::string_view module) {
  for (const OldModule& old : kOldModules)
    if (module == old.new_name()) return old.old_name();
  return module;
}

const KnownGlobal* find_storage_class(Dtype dtype) {
  const auto found = std::ranges::find_if(kKnownGlobals, [&](const KnownGlobal& known) {
    return known.call == storage && known.storage.dtype == dtype_name(dtype);
  });
  return found == std::end(kKnownGlobals) ? nullptr : found;
}

std::string_view torch_dtype(std::string_view name) {
  constexpr std::string_view kModule = "torch.";
  if (!name.starts_with(kModule)) return {};
  name.remove_prefix(kModule.size());
  const std::optional<Dtype> dtype = find_dtype(name);
  const bool is_known = (dtype && dtype_name(*dtype) == name) || has_storage_class(name) ||
                        std::ranges::find(kOtherDtypes, name) != std::end(kOtherDtypes);
  return is_known ? name : std::string_view();
}

}  // namespace pt2
