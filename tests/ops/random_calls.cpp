#include "ops/random_calls.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/bind.h"
#include "ops/loops.h"
#include "ops/table.h"

namespace pt2::ops {
namespace {

// Returns every target of the table and its derived forms: in place, copying, with outs.
std::vector<std::string> every_target() {
  std::vector<std::string> out;
  for (const Family& family : families())
    for (const OpDef& def : family.rows) {
      const std::string target = target_of(*def.signature);
      out.push_back(target);
      const size_t dot = target.rfind('.');
      for (const char* suffix : {"_", "_copy"}) {
        const std::string derived = target.substr(0, dot) + suffix + target.substr(dot);
        const Operator op = find_operator(derived);
        if (op && op.form != Operator::Form::as_written) out.push_back(derived);
      }
      const bool is_default = target.substr(dot) == ".default";
      const std::string with_outs = is_default ? target.substr(0, dot) + ".out" : target + "_out";
      if (find_operator(with_outs)) out.push_back(with_outs);
    }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();
constexpr std::array kHostile{
    kLeast,           kLeast + 1,       -(int64_t{1} << 62),    -(int64_t{1} << 32),
    int64_t{-65},     int64_t{1} << 20, (int64_t{1} << 31) - 1, int64_t{1} << 31,
    int64_t{1} << 32, int64_t{1} << 62, kGreatest - 1,          kGreatest};
constexpr std::array kWords{"none",     "tanh",      "floor",    "trunc",    "linear",   "lower",
                            "higher",   "nearest",   "midpoint", "sum",      "prod",     "mean",
                            "amax",     "amin",      "add",      "reduce",   "constant", "reflect",
                            "circular", "replicate", "reduced",  "complete", "r",        "fro",
                            "nuc",      "left",      "right",    "L",        "U",        "ij",
                            "xy",       "ortho",     "forward",  "backward", "same",     "valid",
                            "gelsd",    "",          "\xff",     "multiply", "max",      "min"};
constexpr std::array kEquations{"ij,jk->ik",
                                "ii->i",
                                "...ij,...jk->...ik",
                                "ij->",
                                "i,j->ij",
                                "abc,cd->abd",
                                "bhqd,bhkd->bhqk",
                                "...",
                                "->",
                                "i",
                                "ij,j",
                                "aa,a->"};

bool is_equation(const Parameter& parameter) { return parameter.name == "equation"; }

}  // namespace

RandomCalls::RandomCalls(uint64_t seed, std::vector<RecordedCall> seeds)
    : random_(seed), seeds_(std::move(seeds)), targets_(every_target()) {}

RecordedCall RandomCalls::next() {
  choose_common();
  if (!seeds_.empty() && chance(50)) return changed();
  return made_up(targets_[static_cast<size_t>(below(static_cast<int64_t>(targets_.size())))]);
}

RecordedCall RandomCalls::next_of(const std::string& target) {
  choose_common();
  return made_up(target);
}

void RandomCalls::choose_common() {
  const int64_t rank = chance(10) ? below(8) : below(5);
  common_sizes_.clear();
  for (int64_t i = 0; i < rank; ++i) common_sizes_.push_back(chance(8) ? 0 : 1 + below(5));
  constexpr std::array kUsual{Dtype::float32, Dtype::float64, Dtype::int64, Dtype::complex64};
  common_dtype_ =
      chance(70)
          ? kUsual[static_cast<size_t>(below(kUsual.size()))]
          : dtypes()[static_cast<size_t>(below(static_cast<int64_t>(dtypes().size())))].dtype;
}

RecordedCall RandomCalls::made_up(const std::string& target) {
  RecordedCall call{target, {}};
  const Operator op = find_operator(call.target);
  for (const Parameter& parameter : op.signature()) {
    if (parameter.has_default && chance(30)) {
      if (auto value = default_value(parameter)) {
        call.arguments.push_back(*std::move(value));
        continue;
      }
    }
    call.arguments.push_back(argument(parameter));
  }
  return call;
}

RecordedCall RandomCalls::changed() {
  RecordedCall call = seeds_[static_cast<size_t>(below(static_cast<int64_t>(seeds_.size())))];
  const Operator op = find_operator(call.target);
  if (call.arguments.empty()) return call;
  for (int64_t times = 1 + below(2); times > 0; --times) {
    const auto at = static_cast<size_t>(below(static_cast<int64_t>(call.arguments.size())));
    // Replace one element of a list rather than the whole list: rules check elements least.
    auto* list = call.arguments[at].get_if<Value::List>();
    if (list != nullptr && !list->empty() && chance(60))
      (*list)[static_cast<size_t>(below(static_cast<int64_t>(list->size())))] =
          element(op.signature().parameter_array[at]);
    else
      call.arguments[at] = argument(op.signature().parameter_array[at]);
  }
  // The call must not write to tensors of the seed. Huge tensors are fresh expanded views of one
  // element, which cannot be cloned and need not be.
  for (Value& value : call.arguments)
    if (auto* tensor = value.get_if<Tensor>(); tensor != nullptr && tensor->numel() < 1 << 20)
      *tensor = tensor->clone();
  return call;
}

Value RandomCalls::argument(const Parameter& parameter) {
  if (parameter.type.optional && chance(40)) return {};
  if (!parameter.type.list) return element(parameter);
  const int64_t count = parameter.type.list_size > 0 && chance(70) ? parameter.type.list_size
                        : chance(30)                               ? below(6)
                                     : static_cast<int64_t>(common_sizes_.size());
  Value::List list;
  for (int64_t i = 0; i < count; ++i)
    list.push_back(parameter.type.optional_element && chance(20) ? Value() : element(parameter));
  return Value(std::move(list));
}

Value RandomCalls::element(const Parameter& parameter) {
  switch (parameter.type.base) {
    case BaseType::tensor:
      return Value(tensor());
    case BaseType::integer:
      return Value(integer());
    case BaseType::number:
      return Value(number());
    case BaseType::boolean:
      return Value(chance(50));
    case BaseType::scalar:
      switch (below(4)) {
        case 0:
          return Value(integer());
        case 1:
          return Value(chance(50));
        case 2:
          return Value(std::complex<double>(number(), number()));
        default:
          return Value(number());
      }
    case BaseType::dtype:
      return Value(
          dtypes()[static_cast<size_t>(below(static_cast<int64_t>(dtypes().size())))].dtype);
    case BaseType::layout:
      return Value(chance(90) ? Layout::strided : Layout::unknown);
    case BaseType::device:
      return Value(Device{});
    case BaseType::memory_format: {
      constexpr std::array kFormats{MemoryFormat::contiguous, MemoryFormat::preserve,
                                    MemoryFormat::channels_last, MemoryFormat::channels_last_3d};
      return Value(kFormats[static_cast<size_t>(below(kFormats.size()))]);
    }
    case BaseType::string:
      return Value(text(parameter));
    case BaseType::generator:
    case BaseType::object:
      return {};
  }
  return {};
}

int64_t RandomCalls::integer() {
  if (chance(12)) return kHostile[static_cast<size_t>(below(kHostile.size()))];
  if (chance(10)) return below(200) - 100;
  return below(9) - 3;
}

double RandomCalls::number() {
  constexpr std::array kNumbers{0.0,
                                -0.0,
                                1.0,
                                -1.0,
                                0.5,
                                1e-5,
                                2.0,
                                1e30,
                                -1e30,
                                1e300,
                                HUGE_VAL,
                                -HUGE_VAL,
                                std::numeric_limits<double>::quiet_NaN()};
  if (chance(50)) return kNumbers[static_cast<size_t>(below(kNumbers.size()))];
  return static_cast<double>(below(2001) - 1000) / 250;
}

std::string RandomCalls::text(const Parameter& parameter) {
  if (is_equation(parameter)) return kEquations[static_cast<size_t>(below(kEquations.size()))];
  if (parameter.has_default && chance(40)) {
    const auto value = default_value(parameter);
    if (value && value->is<std::string>()) return *value->get_if<std::string>();
  }
  return kWords[static_cast<size_t>(below(kWords.size()))];
}

Sizes RandomCalls::sizes() {
  Sizes out = common_sizes_;
  if (chance(55)) return out;
  if (chance(30)) std::ranges::shuffle(out, random_);
  if (chance(20) && !out.empty()) out.erase(out.begin());
  if (chance(20) && out.size() < 7) out.insert(out.begin(), 1 + below(3));
  for (int64_t& size : out)
    if (chance(20)) size = chance(50) ? 1 : below(6);
  return out;
}

Tensor RandomCalls::tensor() {
  const Sizes shape = sizes();
  const Dtype dtype =
      chance(70)
          ? common_dtype_
          : dtypes()[static_cast<size_t>(below(static_cast<int64_t>(dtypes().size())))].dtype;
  // The storage has room for strides and offsets. Its bytes are either small numbers or random.
  Tensor base = Tensor::zeros(dtype, {4096});
  const bool small = chance(70);
  if (small) {
    Tensor values = Tensor::zeros(Dtype::float64, {4096});
    const int64_t range = chance(50) ? 5 : 40;
    for (int64_t i = 0; i < 4096; ++i)
      values.data<double>()[i] =
          chance(2) ? number() : static_cast<double>(below(range) - (chance(20) ? range / 2 : 0));
    copy_elements(base, values);
  } else {
    for (int64_t i = 0; i < base.nbytes(); ++i)
      base.raw_data()[i] = static_cast<std::byte>(random_());
  }
  Sizes strides = contiguous_strides(shape);
  if (chance(25)) std::ranges::shuffle(strides, random_);
  for (int64_t& stride : strides)
    if (chance(6)) stride = below(3);
  auto view = Tensor::view_of(base.storage(), dtype, shape, strides, chance(20) ? below(8) : 0);
  Tensor out = view ? *view : Tensor::zeros(dtype, shape);
  // Expands one element to a huge tensor with strides of 0.
  if (chance(1) && out.numel() > 0) {
    const Sizes huge(static_cast<size_t>(1 + below(2)), int64_t{1} << (20 + below(11)));
    out = out.with_view(huge, Sizes(huge.size(), 0), 0);
  }
  return out.dim() == 0 && chance(20) ? out.as_wrapped_number() : out;
}

std::string call_text(const RecordedCall& call) {
  std::string out = call.target + "(";
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    out += i == 0 ? "" : ", ";
    const Value& value = call.arguments[i];
    if (const auto* list = value.get_if<Value::List>()) {
      out += "[";
      for (const Value& item : *list) {
        const auto* integer = item.get_if<int64_t>();
        out += (integer != nullptr ? std::to_string(*integer) : item.type_text()) + " ";
      }
      out += "]";
    } else if (const auto* integer = value.get_if<int64_t>()) {
      out += std::to_string(*integer);
    } else if (const auto* number = value.get_if<double>()) {
      out += std::to_string(*number);
    } else if (const auto* boolean = value.get_if<bool>()) {
      out += *boolean ? "True" : "False";
    } else if (const auto* string = value.get_if<std::string>()) {
      out += "'" + *string + "'";
    } else {
      out += value.type_text();
    }
  }
  return out + ")";
}

void run_call(const RecordedCall& call, uint64_t max_tensor_bytes) {
  const Operator op = find_operator(call.target);
  std::vector<Value> arguments;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    auto value = coerce(op.signature().parameter_array[i], call.arguments[i]);
    if (!value) return;
    arguments.push_back(*std::move(value));
  }
  Context context;
  context.max_tensor_bytes = max_tensor_bytes;
  std::ignore = ops::call(op, context, arguments);
}

}  // namespace pt2::ops
