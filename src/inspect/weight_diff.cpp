#include "inspect/weight_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "inspect/spelling.h"
#include "ops/convert.h"
#include "package/read_budget.h"
#include "pt2/ir/type_text.h"

namespace pt2 {
namespace {

using Named = std::map<std::string, const PayloadTensor*>;

// Returns the payloads by the names that the program gives them. Without `semantic` also those
// under their own names that the program does not name: the file holds them all the same.
Named compared_payloads(const WeightSide& side, bool semantic) {
  Named out;
  std::set<const PayloadTensor*> bound;
  const auto& specs = side.program.signature.input_specs;
  for (size_t i = 0; i < specs.size(); ++i) {
    const PayloadTensor* payload = side.payloads.bound_to(specs[i]);
    if (payload == nullptr) continue;
    bound.insert(payload);
    if (!semantic || !is_unused_weight(side.program, i))
      out.emplace(specs[i].target.value_or(""), payload);
  }
  if (semantic) return out;
  for (const PayloadTensor& payload : side.payloads.tensors())
    if (!bound.contains(&payload)) out.emplace(payload.name, &payload);
  return out;
}

std::string type_of(const PayloadTensor& payload) {
  return payload.missing.empty() ? payload.tensor.type_text()
                                 : payload.dtype + " " + payload.missing;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return std::memcmp(a.raw_data(), b.raw_data(), static_cast<size_t>(a.nbytes())) == 0;
}

// Also correct for unsigned integers that wrapped.
double step_between(int64_t a, int64_t b) {
  const uint64_t step = static_cast<uint64_t>(a) - static_cast<uint64_t>(b);
  return static_cast<double>(a < b ? -step : step);
}
double step_between(ops::Complex a, ops::Complex b) {
  const double step = std::abs(b - a);
  return std::isnan(step) ? HUGE_VAL : step;
}

bool is_nan(int64_t) { return false; }
bool is_nan(ops::Complex value) { return std::isnan(value.real()) || std::isnan(value.imag()); }

// Describes the difference of contiguous tensors of one type, compared as C; empty if all elements
// are equal.
template <class C>
std::string difference_as(const Tensor& before, const Tensor& after) {
  constexpr int64_t kChunk = 1024;
  C old_values[kChunk], new_values[kChunk];
  const Dtype dtype = before.dtype();
  int64_t different = 0;
  double largest = 0, scale = 0;
  for (int64_t begin = 0; begin < before.numel(); begin += kChunk) {
    const int64_t count = std::min(kChunk, before.numel() - begin),
                  place = begin * dtype_size(dtype);
    ops::load_elements(before.raw_data() + place, 1, dtype, count, old_values);
    ops::load_elements(after.raw_data() + place, 1, dtype, count, new_values);
    for (int64_t i = 0; i < count; ++i) {
      const C old = old_values[i], made = new_values[i];
      if (old == made || (is_nan(old) && is_nan(made))) continue;
      ++different;
      scale = std::max(scale, step_between(old, C{}));
      largest = std::max(largest, step_between(old, made));
    }
  }
  if (different == 0) return "";  // zeros of different signs
  return fmt::format("{} of {} elements, by up to {:.3g} of {:.3g}", different, before.numel(),
                     largest, scale);
}

// Describes the difference; empty if the elements are equal.
std::string element_difference(const Tensor& before, const Tensor& after) {
  const Tensor a = before.contiguous(), b = after.contiguous();
  if (a.numel() == 0 || same_bytes(a, b)) return "";
  const DtypeCategory category = dtype_category(a.dtype());
  const bool is_whole = category == DtypeCategory::integer || category == DtypeCategory::boolean;
  return is_whole ? difference_as<int64_t>(a, b) : difference_as<ops::Complex>(a, b);
}

std::string difference_of(const PayloadTensor& before, const PayloadTensor& after,
                          ReadBudget& budget) {
  const std::string old_type = type_of(before), new_type = type_of(after);
  if (old_type != new_type) return old_type + " -> " + new_type;
  // Both types are equal, so both tensors have the same number of bytes.
  const auto compare = [&](const Tensor& a, const Tensor& b) {
    return budget.take(a) ? element_difference(a, b)
                          : std::string("not compared, of more bytes than the file holds");
  };
  if (before.missing.empty()) return compare(before.tensor, after.tensor);
  if (before.parts.size() != after.parts.size()) return "other parts";
  for (size_t i = 0; i < before.parts.size(); ++i) {
    if (before.parts[i].type_text() != after.parts[i].type_text()) return "other parts";
    std::string text = compare(before.parts[i], after.parts[i]);
    if (!text.empty()) return text;
  }
  return "";
}

bool same_state(const Value& a, const Value& b, ReadBudget& budget);

bool same_item(const Tensor& a, const Tensor& b, ReadBudget& budget) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.type_text() == b.type_text() && budget.take(a) && element_difference(a, b).empty();
}
bool same_item(double a, double b, ReadBudget&) {
  return a == b || (std::isnan(a) && std::isnan(b));
}
bool same_item(const Object& a, const Object& b, ReadBudget& budget) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->class_name == b->class_name && same_state(a->state, b->state, budget);
}
bool same_item(const Value::List& a, const Value::List& b, ReadBudget& budget) {
  return std::ranges::equal(
      a, b, [&](const Value& left, const Value& right) { return same_state(left, right, budget); });
}
template <class T>
bool same_item(const T& a, const T& b, ReadBudget&) {
  return a == b;
}

bool same_state(const Value& a, const Value& b, ReadBudget& budget) {
  return a.data.index() == b.data.index() &&
         std::visit(
             [&]<class T>(const T& left) { return same_item(left, std::get<T>(b.data), budget); },
             a.data);
}

// Compares custom objects: packed weights, generators. An object whose state is not understood on
// either side has no contents to compare.
void diff_objects(const Payloads& before, const Payloads& after, ReadBudget& budget,
                  std::vector<Change>& changes) {
  const auto add = [&](ChangeKind kind, const PayloadObject& object, std::string text) {
    Change change{.section = ChangeSection::weight,
                  .kind = kind,
                  .what = object.name,
                  .weights = {object.name}};
    (kind == ChangeKind::removed ? change.before : change.after) = std::move(text);
    changes.push_back(std::move(change));
  };
  for (const PayloadObject& object : before.objects()) {
    const PayloadObject* other = after.find_object(object.name);
    if (other == nullptr)
      add(ChangeKind::removed, object, object.type);
    else if (object.type != other->type)
      add(ChangeKind::changed, object, object.type + " -> " + other->type);
    else if (object.object != nullptr && other->object != nullptr &&
             !same_item(object.object, other->object, budget))
      add(ChangeKind::changed, object, "another state");
  }
  for (const PayloadObject& object : after.objects())
    if (before.find_object(object.name) == nullptr) add(ChangeKind::added, object, object.type);
}

std::pair<std::string, std::string> split_name(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == name.npos ? std::pair(std::string(), name)
                          : std::pair(name.substr(0, dot), name.substr(dot + 1));
}

}  // namespace

void diff_weights(const WeightSide& before, const WeightSide& after, bool semantic,
                  std::vector<Change>& changes) {
  const Named left = compared_payloads(before, semantic),
              right = compared_payloads(after, semantic);
  const auto add_one = [&](ChangeKind kind, const std::string& name, const PayloadTensor& payload) {
    Change change{.section = ChangeSection::weight, .kind = kind, .what = name, .weights = {name}};
    (kind == ChangeKind::added ? change.after : change.before) = type_of(payload);
    changes.push_back(std::move(change));
  };
  ReadBudget budget(before.payloads);
  std::map<std::string, Change> modules;  // one change for each module
  for (const auto& [name, payload] : left) {
    const auto found = right.find(name);
    if (found == right.end()) {
      add_one(ChangeKind::removed, name, *payload);
      continue;
    }
    const std::string text = difference_of(*payload, *found->second, budget);
    if (text.empty()) continue;
    const auto [module, leaf] = split_name(name);
    Change& change = modules[module];
    change.after += fmt::format("{}{}: {}", change.after.empty() ? "" : "; ", leaf, text);
    change.weights.push_back(name);
  }
  for (auto& [module, change] : modules) {
    change.section = ChangeSection::weight;
    change.what = module.empty() ? "the root's own" : module;
    changes.push_back(std::move(change));
  }
  for (const auto& [name, payload] : right)
    if (!left.contains(name)) add_one(ChangeKind::added, name, *payload);
  diff_objects(before.payloads, after.payloads, budget, changes);
}

}  // namespace pt2
