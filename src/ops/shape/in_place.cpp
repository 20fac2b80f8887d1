#include "ops/shape/in_place.h"

#include <algorithm>
#include <array>

#include "ops/memory_format.h"

namespace pt2::ops {
namespace {

// Calls a function that takes the written tensor before the other arguments.
template <auto kFunction>
struct Writer;
template <class... A, Result<void> (*kFunction)(Tensor&, A...)>
struct Writer<kFunction> {
  static Result<void> write(Tensor& out, std::span<const Value> arguments) {
    const auto unboxed = Pack<A...>::unbox_all(arguments);
    return std::apply([&](const auto&... argument) { return kFunction(out, argument...); },
                      unboxed);
  }
};

// The operators that write_in_place knows.
struct InPlace {
  std::string_view name;
  std::string_view overload;
  Result<void> (*write)(Tensor& out, std::span<const Value> arguments);
};
constexpr std::array kInPlace = {
    InPlace{"aten::index_put", "", Writer<&index_put_into>::write},
    InPlace{"aten::index_add", "", Writer<&index_add_into>::write},
    InPlace{"aten::index_copy", "", Writer<&index_copy_into>::write},
    InPlace{"aten::index_fill", "int_Scalar", Writer<&index_fill_into>::write},
    InPlace{"aten::index_fill", "int_Tensor", Writer<&index_fill_tensor_into>::write},
    InPlace{"aten::put", "", Writer<&put_into>::write},
    InPlace{"aten::scatter", "src", Writer<&scatter_into>::write},
    InPlace{"aten::scatter_add", "", Writer<&scatter_add_into>::write},
    InPlace{"aten::scatter", "value", Writer<&scatter_value_into>::write},
    InPlace{"aten::scatter_reduce", "two", Writer<&scatter_reduce_into>::write},
    InPlace{"aten::copy", "", Writer<&copy_into>::write},
};

bool shares_storage(const Value& value, const Tensor& tensor) {
  if (const auto* list = value.get_if<Value::List>())
    return std::ranges::any_of(*list,
                               [&](const Value& item) { return shares_storage(item, tensor); });
  const auto* other = value.get_if<Tensor>();
  return other != nullptr && other->storage() == tensor.storage();
}

}  // namespace

Result<bool> write_in_place(const Signature& signature, std::span<const Value> arguments) {
  const auto found = std::ranges::find_if(kInPlace, [&](const InPlace& each) {
    return each.name == signature.name && each.overload == signature.overload;
  });
  if (found == kInPlace.end()) return false;
  Tensor out = *arguments[0].get_if<Tensor>();
  const std::span rest = arguments.subspan(1);
  const bool is_shared =
      std::ranges::any_of(rest, [&](const Value& value) { return shares_storage(value, out); });
  if (is_shared || !out.defined() || out.storage()->is_read_only() || may_overlap(out))
    return false;
  PT2_TRY_VOID(found->write(out, rest));
  return true;
}

}  // namespace pt2::ops
