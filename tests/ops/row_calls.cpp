#include "ops/row_calls.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "ops/bind.h"
#include "ops/conformance.h"
#include "ops/listed_calls.h"
#include "ops/loops.h"
#include "ops/random_calls.h"

namespace pt2::ops {
namespace {

// The number of made-up calls that are tried for a row, and of successful ones that are kept.
constexpr int kTries = 40;
constexpr int kTriesOfUnrecorded = 400;
constexpr size_t kKept = 6;
constexpr int64_t kMostElements = 1 << 16;

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  std::vector<std::byte> bytes(static_cast<size_t>(tensor.nbytes()));
  if (tensor.defined() && tensor.numel() > 0) copy_to_contiguous(tensor, bytes.data());
  return bytes;
}

// Returns the same elements with the last two dimensions swapped in memory.
Tensor transposed(const Tensor& tensor) {
  if (tensor.dim() < 2) return tensor;
  Sizes sizes = tensor.sizes();
  std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
  Tensor out = Tensor::zeros(tensor.dtype(), sizes);
  Sizes strides = out.strides();
  std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  out = out.with_view(tensor.sizes(), strides, 0);
  copy_elements(out, tensor);
  return out;
}

// Returns variants of a recorded call that show facts which recorded calls miss: training and
// dropout on or off, the dtype or sizes that a tensor already has, other strides.
std::vector<Arguments> neighbours(const Signature& signature, const Arguments& arguments) {
  std::vector<Arguments> out;
  const Tensor* first = nullptr;
  for (const Value& argument : arguments)
    if (first == nullptr) first = argument.get_if<Tensor>();
  const auto add = [&](auto change) {
    Arguments other = arguments;
    for (size_t i = 0; i < other.size(); ++i) change(signature.parameter_array[i], other[i]);
    out.push_back(std::move(other));
  };
  for (const bool trains : {false, true})
    for (const double probability : {0.0, 0.5})
      add([&](const Parameter& parameter, Value& value) {
        if (value.is<bool>()) value = Value(trains);
        if (value.is<double>() && parameter.type.base == BaseType::number)
          value = Value(probability);
      });
  add([](const Parameter&, Value& value) {
    if (value.is<int64_t>()) value = Value(int64_t{1});
  });
  if (first == nullptr) return out;
  add([&](const Parameter&, Value& value) {
    if (value.is<Dtype>()) value = Value(first->dtype());
  });
  add([](const Parameter& parameter, Value& value) {
    if (value.is<Tensor>()) value = Value(Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5}));
    if (value.is<bool>()) value = Value(true);
    if (parameter.name.starts_with("running_")) value = Value(Tensor::zeros(Dtype::float32, {3}));
    if (parameter.type.list && parameter.type.base == BaseType::integer)
      value = Value(Value::List{Value(int64_t{2}), Value(int64_t{3})});
  });
  add([](const Parameter&, Value& value) { value = with_tensors(value, transposed); });
  return out;
}

std::optional<Observed> observe_below(const OpDef& def, const Arguments& arguments,
                                      uint64_t max_tensor_bytes) {
  const Operator op{.def = &def};
  Observed out{.arguments = copies_of(arguments)};
  Context context;
  context.max_tensor_bytes = max_tensor_bytes;
  bool printed = false;
  const std::function<void(std::string_view)> note = [&](std::string_view) { printed = true; };
  context.on_print = &note;
  auto results = call(op, context, out.arguments);
  if (!results) return std::nullopt;
  out.results = *std::move(results);
  out.drew = context.random_state.has_value() || printed;
  return out;
}

void add_listed(Row& row, const std::string& name) {
  for (const Arguments& call : listed_calls(name)) {
    row.calls.push_back(bind_in_order(*row.def->signature, call).value());
    observe(*row.def, row.calls.back()).value();
  }
}

bool is_small(const Arguments& arguments) {
  bool small = true;
  for (const Value& argument : arguments)
    for_each_tensor(argument,
                    [&](const Tensor& tensor) { small = small && tensor.numel() < kMostElements; });
  return small;
}

void add_made_up(Row& row) {
  static const RandomCalls kFresh(1, {});
  RandomCalls random = kFresh;
  size_t kept = 0;
  const int tries = row.calls.empty() ? kTriesOfUnrecorded : kTries;
  for (int i = 0; i < tries && kept < kKept; ++i) {
    auto arguments = bind_in_order(*row.def->signature, random.next_of(row.target).arguments);
    if (!arguments || !is_small(*arguments) || !observe_below(*row.def, *arguments, kMostElements))
      continue;
    row.calls.push_back(*std::move(arguments));
    ++kept;
  }
}

template <class Scalar>
bool near(Scalar a, Scalar b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  return a == b || std::abs(a - b) <= 1e-4 * (1 + std::max(std::abs(a), std::abs(b)));
}

template <class EqualTensors>
bool compare(const Value& a, const Value& b, const EqualTensors& equal_tensors) {
  const auto *x = a.get_if<Tensor>(), *y = b.get_if<Tensor>();
  if (x != nullptr && y != nullptr)
    return x->dtype() == y->dtype() && x->sizes() == y->sizes() && equal_tensors(*x, *y);
  const auto *list = a.get_if<Value::List>(), *other = b.get_if<Value::List>();
  if (list != nullptr && other != nullptr)
    return std::ranges::equal(*list, *other, [&](const Value& left, const Value& right) {
      return compare(left, right, equal_tensors);
    });
  const auto *number = a.get_if<double>(), *same = b.get_if<double>();
  if (number != nullptr && same != nullptr) return near(*number, *same);
  return a.data.index() == b.data.index() && a.type_text() == b.type_text();
}

}  // namespace

Row row_of(const OpDef& def) {
  Row row{.def = &def, .target = target_of(*def.signature)};
  constexpr std::string_view kPrefix = "torch.ops.";
  const std::string name = row.target.starts_with(kPrefix) ? row.target.substr(kPrefix.size()) : "";
  const auto recorded =
      read_recorded_calls(std::string(PT2_TEST_DATA) + "/ops/" + name + ".safetensors");
  for (const RecordedCall& call : recorded ? *recorded : std::vector<RecordedCall>()) {
    row.shares_in_pytorch = row.shares_in_pytorch || call.shares_memory;
    std::vector<Arguments> near = neighbours(*def.signature, call.arguments);
    near.insert(near.begin(), call.arguments);
    for (Arguments& each : near)
      if (observe(def, each)) row.calls.push_back(std::move(each));
  }
  add_listed(row, name);
  add_made_up(row);
  return row;
}

std::string schema_name(const Signature& signature) {
  std::string name(signature.name);
  if (!signature.overload.empty()) name += "." + std::string(signature.overload);
  return name;
}

std::vector<Row> rows_where(const std::function<bool(const OpDef&)>& condition) {
  std::vector<Row> rows;
  for (const Family& family : families())
    for (const OpDef& def : family.rows)
      if (condition(def)) rows.push_back(row_of(def));
  return rows;
}

std::optional<Observed> observe(const OpDef& def, const Arguments& arguments) {
  return observe_below(def, arguments, uint64_t{1} << 24);
}

Arguments copies_of(const Arguments& arguments) {
  std::map<const Storage*, std::shared_ptr<Storage>> copies;
  const auto copy = [&](const Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    std::shared_ptr<Storage>& storage = copies[tensor.storage().get()];
    if (storage == nullptr) {
      storage = Storage::allocate(tensor.storage()->size());
      if (storage->size() > 0)
        std::memcpy(storage->data(), tensor.storage()->data(), storage->size());
    }
    const Tensor out = Tensor::view_of(storage, tensor.dtype(), tensor.sizes(), tensor.strides(),
                                       tensor.storage_offset())
                           .value();
    return tensor.is_wrapped_number() ? out.as_wrapped_number() : out;
  };
  Arguments out;
  for (const Value& argument : arguments) out.push_back(with_tensors(argument, copy));
  return out;
}

void for_each_tensor(const Value& value, const std::function<void(const Tensor&)>& visit) {
  if (const auto* tensor = value.get_if<Tensor>()) {
    if (tensor->defined()) visit(*tensor);
  } else if (const auto* list = value.get_if<Value::List>()) {
    for (const Value& item : *list) for_each_tensor(item, visit);
  }
}

Value with_tensors(const Value& value, const std::function<Tensor(const Tensor&)>& change) {
  if (const auto* tensor = value.get_if<Tensor>()) return Value(change(*tensor));
  const auto* list = value.get_if<Value::List>();
  if (list == nullptr) return value;
  Value::List items;
  for (const Value& item : *list) items.push_back(with_tensors(item, change));
  return Value(std::move(items));
}

bool is_floating(const Tensor& tensor) {
  return dtype_category(tensor.dtype()) >= DtypeCategory::floating;
}

bool are_equal(const Value& a, const Value& b) {
  return compare(a, b, [](const Tensor& x, const Tensor& y) { return bytes_of(x) == bytes_of(y); });
}

bool are_equal(const std::vector<Value>& a, const std::vector<Value>& b) {
  return std::ranges::equal(a, b, [](const Value& x, const Value& y) { return are_equal(x, y); });
}

bool are_close(const Value& a, const Value& b) {
  return compare(a, b, [](const Tensor& x, const Tensor& y) {
    Tensor left = Tensor::zeros(Dtype::complex128, x.sizes());
    Tensor right = Tensor::zeros(Dtype::complex128, y.sizes());
    copy_elements(left, x);
    copy_elements(right, y);
    for (int64_t i = 0; i < 2 * left.numel(); ++i)
      if (!near(left.data<double>()[i], right.data<double>()[i])) return false;
    return true;
  });
}

bool shares_memory(const Value& a, const Value& b) {
  bool shares = false;
  for_each_tensor(a, [&](const Tensor& x) {
    for_each_tensor(b, [&](const Tensor& y) {
      shares = shares || (x.numel() > 0 && y.numel() > 0 && x.storage() == y.storage());
    });
  });
  return shares;
}

bool has_elements(const Value& value) {
  bool found = false;
  for_each_tensor(value, [&](const Tensor& tensor) { found = found || tensor.numel() > 0; });
  return found;
}

Tensor with_other_elements(const Tensor& tensor, uint64_t seed) {
  std::mt19937_64 random(seed);
  const bool is_bool = tensor.dtype() == Dtype::bool_;
  Tensor values =
      Tensor::zeros(is_floating(tensor) ? Dtype::complex128 : Dtype::int64, tensor.sizes());
  const int64_t parts = is_floating(tensor) ? 2 * values.numel() : 0;
  for (int64_t i = 0; i < parts; ++i)
    values.data<double>()[i] = static_cast<double>(random() % 6000) / 1000 - 2.9995;
  for (int64_t i = 0; parts == 0 && i < values.numel(); ++i)
    values.data<int64_t>()[i] = static_cast<int64_t>(random() % (is_bool ? 2 : 100));
  Tensor out = Tensor::zeros(tensor.dtype(), tensor.sizes());
  copy_elements(out, values);
  return out;
}

}  // namespace pt2::ops
