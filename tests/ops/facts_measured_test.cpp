// Facts about random draws, sizes and indices (ops/facts.h), compared with measurements on calls.
#include <gtest/gtest.h>

#include <set>

#include "ops/loops.h"
#include "ops/meta.h"
#include "ops/row_calls.h"
#include "ops/table.h"

namespace pt2::ops {
namespace {

constexpr int64_t kBatch = 3;
// PyTorch fills larger tensors in another order (normal_fill in DistributionTemplates.h).
constexpr int64_t kMostDrawn = 15;

std::optional<Tensor> drawn(const OpDef& def, Context& context, const Arguments& call) {
  Arguments given = copies_of(call);
  auto results = ops::call(Operator{.def = &def}, context, given);
  if (!results || results->size() != 1) return std::nullopt;
  const auto* tensor = (*results)[0].get_if<Tensor>();
  return tensor == nullptr || tensor->numel() == 0 ? std::nullopt : std::optional(tensor->clone());
}

Tensor part(const Tensor& batch, int64_t index) {
  Sizes sizes(batch.sizes().begin() + 1, batch.sizes().end());
  Sizes strides(batch.strides().begin() + 1, batch.strides().end());
  return batch.with_view(std::move(sizes), std::move(strides),
                         batch.storage_offset() + index * batch.stride(0));
}

// Returns the call for a batch of `kBatch`: with a dimension added to its `size` argument or, if it
// has none, to its first tensor.
std::optional<Arguments> batched(const OpDef& def, const Arguments& call) {
  Arguments out = copies_of(call);
  const Parameter* size = def.signature->find("size");
  if (size != nullptr) {
    auto* sizes =
        out[static_cast<size_t>(size - def.signature->parameter_array)].get_if<Value::List>();
    if (sizes == nullptr) return std::nullopt;
    sizes->insert(sizes->begin(), Value(kBatch));
    return out;
  }
  const auto* self = out.empty() ? nullptr : out[0].get_if<Tensor>();
  if (self == nullptr || !self->defined() || !self->is_contiguous()) return std::nullopt;
  Sizes sizes = self->sizes();
  sizes.insert(sizes.begin(), kBatch);
  Tensor batch = Tensor::zeros(self->dtype(), sizes);
  for (int64_t i = 0; i < kBatch; ++i) {
    Tensor each = part(batch, i);
    copy_elements(each, *self);
  }
  out[0] = Value(std::move(batch));
  return out;
}

// True if one call for a batch draws the same numbers as a sequence of calls. Nothing (nullopt) if
// the results cannot be compared.
std::optional<bool> draws_at_once(const OpDef& def, const Arguments& call) {
  const auto batch = batched(def, call);
  if (!batch) return std::nullopt;
  Context at_once, in_a_row;
  const auto whole = drawn(def, at_once, *batch);
  if (!whole || whole->dim() == 0 || whole->size(0) != kBatch) return std::nullopt;
  bool alike = true, differ = false;
  for (int64_t i = 0; i < kBatch; ++i) {
    const auto each = drawn(def, in_a_row, call);
    if (!each || each->sizes() != part(*whole, i).sizes()) return std::nullopt;
    alike = alike && are_equal(Value(*each), Value(part(*whole, i).clone()));
    differ = differ || !are_equal(Value(*each), Value(part(*whole, 0).clone()));
  }
  // Calls that all give the same result prove nothing.
  if (!differ || (!alike && whole->numel() > kMostDrawn)) return std::nullopt;
  return alike;
}

TEST(Facts, DrawsAreThoseOfCallsInARow) {
  using Draws = Facts::Draws;
  const auto draws_one = [](const OpDef& def) {
    return def.may_draw && !def.signature->is_mutable() && def.signature->return_count == 1 &&
           !def.signature->return_array[0].list;
  };
  for (const Row& row : rows_where(draws_one)) {
    // multinomial takes no further dimension. Attention draws for the product of its operands.
    if (row.target == "torch.ops.aten.multinomial.default" ||
        row.target == "torch.ops.aten.scaled_dot_product_attention.default")
      continue;
    std::optional<bool> alike;
    for (const Arguments& call : row.calls)
      if (const auto judged = draws_at_once(*row.def, call))
        alike = alike.value_or(true) && *judged;
    const bool says_so = row.def->facts.draws != Draws::otherwise;
    EXPECT_EQ(alike.value_or(false), says_so) << row.target << (alike ? "" : " was never compared");
  }
}

// Returns zeros with a further dimension of size 2. every_second() removes it again.
Tensor wide_zeros(const Tensor& tensor, Dtype dtype) {
  Sizes sizes = tensor.sizes();
  sizes.push_back(2);
  return Tensor::zeros(dtype, sizes);
}
Tensor every_second(const Tensor& wide) {
  Sizes sizes = wide.sizes(), strides = wide.strides();
  sizes.pop_back();
  strides.pop_back();
  return wide.with_view(std::move(sizes), std::move(strides), 1);
}

// Returns the call with tensors of the same sizes but other elements, dtype and strides.
Arguments of_same_sizes(const Arguments& call, uint64_t seed) {
  Arguments out;
  for (const Value& argument : call)
    out.push_back(with_tensors(argument, [&](const Tensor& tensor) {
      const Dtype other = tensor.dtype() == Dtype::float64 ? Dtype::int64 : Dtype::float64;
      return every_second(with_other_elements(wide_zeros(tensor, other), seed));
    }));
  return out;
}

bool gives_numbers(const OpDef& def) {
  const Signature& own = *def.signature;
  const auto is_tensor = [](const auto& type) { return type.base == BaseType::tensor; };
  return own.return_count > 0 && !own.is_mutable() && !def.may_draw &&
         std::none_of(own.return_array, own.return_array + own.return_count, is_tensor) &&
         std::any_of(own.begin(), own.end(),
                     [&](const Parameter& parameter) { return is_tensor(parameter.type); });
}

// Tests operators that return numbers, and operators with a `storage_offset` argument.
TEST(Facts, ResultsThatStridesDecide) {
  const auto may_look = [](const OpDef& def) {
    return gives_numbers(def) || def.signature->find("storage_offset") != nullptr;
  };
  for (const Row& row : rows_where(may_look)) {
    bool differ = false;
    for (const Arguments& call : row.calls) {
      Arguments apart;
      for (const Value& argument : call)
        apart.push_back(with_tensors(argument, [](const Tensor& tensor) {
          Tensor out = every_second(wide_zeros(tensor, tensor.dtype()));
          copy_elements(out, tensor);
          return out;
        }));
      const auto seen = observe(*row.def, call), other = observe(*row.def, apart);
      differ = differ || (seen && other && !are_equal(seen->results, other->results));
    }
    EXPECT_EQ(differ, row.def->facts.looks_at_strides) << row.target;
  }
}

// True if a row of `indices` along `dim` contains an index twice.
bool holds_twice(const Tensor& indices, int64_t dim) {
  const Tensor rows = indices.contiguous();
  const int64_t length = rows.size(dim), inner = rows.stride(dim);
  for (int64_t begin = 0; begin < rows.numel(); ++begin) {
    if (begin / inner % length != 0) continue;
    std::set<int64_t> row;
    for (int64_t i = 0; i < length; ++i)
      if (!row.insert(rows.data<int64_t>()[begin + i * inner]).second) return true;
  }
  return false;
}

TEST(Facts, IndicesThatAreChosenOnce) {
  const auto gives_indices = [](const OpDef& def) {
    return def.signature->text.ends_with("(Tensor values, Tensor indices)") &&
           def.signature->find("dim") != nullptr;
  };
  for (const Row& row : rows_where(gives_indices)) {
    bool twice = false;
    for (const Arguments& call : row.calls) {
      const auto seen = observe(*row.def, call);
      if (!seen) continue;
      const Parameter* parameter = row.def->signature->find("dim");
      const auto place = static_cast<size_t>(parameter - row.def->signature->begin());
      const auto& indices = *seen->results[1].get_if<Tensor>();
      // Without the kept dim each row gives only one index.
      if (indices.dim() != call[0].get_if<Tensor>()->dim() || indices.dim() == 0) continue;
      const Result<int64_t> dim = wrap_dim(*call[place].get_if<int64_t>(), indices.dim());
      twice = twice || (dim && holds_twice(indices, *dim));
    }
    EXPECT_EQ(row.def->facts.chosen_indices, twice ? -1 : 1) << row.target;
  }
}

TEST(Facts, NumbersThatSizesAloneDecide) {
  for (const Row& row : rows_where(gives_numbers)) {
    bool alone = true, differ = false;
    std::optional<std::vector<Value>> first;
    for (const Arguments& call : row.calls) {
      const auto seen = observe(*row.def, call);
      if (!seen) continue;
      if (!first) first = seen->results;
      differ = differ || !are_equal(*first, seen->results);
      for (uint64_t seed = 1; seed < 4; ++seed) {
        const auto other = observe(*row.def, of_same_sizes(call, seed));
        alone = alone && other && are_equal(other->results, seen->results);
      }
    }
    // If all calls gave one answer, other calls might still give another one.
    if (!differ && !row.def->facts.looks_at_sizes_alone) continue;
    EXPECT_EQ(alone, row.def->looks_at_sizes_alone()) << row.target;
  }
}

std::vector<Sizes> sizes_of(const Value& value) {
  std::vector<Sizes> out;
  for_each_tensor(value, [&](const Tensor& tensor) { out.push_back(tensor.sizes()); });
  return out;
}

// Tests views of operators that take several tensors: if the result always is a view and its sizes
// depend only on the operands' sizes, the row must say so.
TEST(Facts, ViewsThatSizesAloneDecide) {
  const auto may_show = [](const OpDef& def) {
    const Signature& own = *def.signature;
    const auto tensors = [](const Parameter& parameter) {
      return parameter.type.base != BaseType::tensor ? 0 : parameter.type.list ? 2 : 1;
    };
    int count = 0;
    for (const Parameter& parameter : own) count += tensors(parameter);
    return count > 1 && !own.is_mutable() && own.return_count == 1 &&
           own.return_array[0].base == BaseType::tensor && !def.may_draw;
  };
  for (const Row& row : rows_where(may_show)) {
    bool alone = true, shows = false;
    for (const Arguments& call : row.calls) {
      const auto seen = observe(*row.def, call);
      if (!seen || !has_elements(seen->results[0])) continue;
      bool shares = false;
      for (const Value& argument : seen->arguments)
        shares = shares || shares_memory(seen->results[0], argument);
      shows = shows || shares;
      alone = alone && shares;
      for (uint64_t seed = 1; seed < 3; ++seed) {
        Arguments other;
        for (const Value& argument : call)
          other.push_back(with_tensors(
              argument, [&](const Tensor& tensor) { return with_other_elements(tensor, seed); }));
        const auto again = observe(*row.def, other);
        alone = alone && again && sizes_of(again->results[0]) == sizes_of(seen->results[0]);
      }
    }
    if (!shows) continue;
    EXPECT_EQ(alone, row.def->looks_at_sizes_alone()) << row.target;
  }
}

}  // namespace
}  // namespace pt2::ops
