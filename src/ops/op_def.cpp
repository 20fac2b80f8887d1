#include "ops/op_def.h"

#include <iterator>

#include "base/memory_account.h"
#include "base/platform.h"
#include "ops/loops.h"

namespace pt2::ops {

std::vector<Meta> meta_list(std::span<Meta> metas) {
  return {std::make_move_iterator(metas.begin()), std::make_move_iterator(metas.end())};
}

Result<std::vector<Tensor>> allocate_all(const std::vector<Meta>& metas, uint64_t work) {
  std::vector<Tensor> out;
  uint64_t elements = 0;
  for (const Meta& meta : metas) {
    PT2_TRY(Tensor tensor, allocate(meta));
    elements += static_cast<uint64_t>(tensor.numel());
    out.push_back(std::move(tensor));
  }
  MemoryAccount::count_work(saturating_product(elements, work));
  return out;
}

std::vector<Value> values_of(std::vector<Tensor> tensors) {
  std::vector<Value> out;
  for (Tensor& tensor : tensors) out.emplace_back(std::move(tensor));
  return out;
}

namespace {

Result<std::vector<Value>> change_copy(const OpDef& def, Tensor copy,
                                       std::span<const Value> arguments) {
  PT2_TRY_VOID(def.change_boxed(def, copy, arguments.subspan(1)));
  return std::vector<Value>{Value(std::move(copy))};
}

}  // namespace

Result<std::vector<Value>> change_clone(const OpDef& def, Context&,
                                        std::span<const Value> arguments) {
  return change_copy(def, arguments[0].get_if<Tensor>()->clone(), arguments);
}

Result<std::vector<Value>> change_contiguous(const OpDef& def, Context&,
                                             std::span<const Value> arguments) {
  const Tensor& self = *arguments[0].get_if<Tensor>();
  PT2_TRY(Tensor copy, allocate(Meta::like(self)));
  copy_elements(copy, self);
  return change_copy(def, std::move(copy), arguments);
}

}  // namespace pt2::ops
