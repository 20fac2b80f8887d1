#include "pt2/dtype.h"

namespace pt2 {
namespace {

constexpr std::string_view without_underscore(std::string_view name) {
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

constexpr DtypeInfo kDtypes[] = {
#define PT2_DTYPE(name, short_name, schema_number, size, category, safetensors, numpy) \
  {Dtype::name, without_underscore(#name), #short_name, schema_number,                 \
   size,        DtypeCategory::category,   safetensors, numpy},
#include "pt2/dtype.def"
};

}  // namespace

std::span<const DtypeInfo> dtypes() { return kDtypes; }
const DtypeInfo& dtype_info(Dtype dtype) { return kDtypes[static_cast<size_t>(dtype)]; }

std::optional<Dtype> find_dtype(std::string_view name) {
  for (const DtypeInfo& info : kDtypes)
    if (info.name == name || info.short_name == name) return info.dtype;
  return std::nullopt;
}

std::optional<Dtype> find_dtype_by_schema_number(int64_t number) {
  for (const DtypeInfo& info : kDtypes)
    if (info.schema_number == number) return info.dtype;
  return std::nullopt;
}

}  // namespace pt2
