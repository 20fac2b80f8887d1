#include "inspect/weight_diff.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>

#include "inspect/elements.h"
#include "pt2/type_text.h"

namespace pt2 {
namespace {

using Used = std::map<std::string, const PayloadTensor*>;

Used used_payloads(const Program& program, const Payloads& payloads) {
  Used used;
  for (const InputSpec& spec : program.signature.input_specs)
    if (const PayloadTensor* payload = payloads.bound_to(spec))
      used.emplace(spec.target.value_or(""), payload);
  return used;
}

std::string type_of(const PayloadTensor& payload) {
  return payload.missing.empty() ? payload.tensor.type_text()
                                 : payload.dtype + " " + payload.missing;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return std::memcmp(a.raw_data(), b.raw_data(), static_cast<size_t>(a.nbytes())) == 0;
}

// Empty where they are equal.
std::string element_difference(const Tensor& before, const Tensor& after) {
  const Tensor a = before.contiguous(), b = after.contiguous();
  if (a.numel() == 0 || same_bytes(a, b)) return "";
  std::vector<double> old_values(static_cast<size_t>(a.numel()));
  int64_t different = 0;
  double largest = 0, scale = 0;
  const bool numbers = for_each_element(
      a, [&](int64_t i, double value) { old_values[static_cast<size_t>(i)] = value; });
  if (!numbers) return "other elements";
  for_each_element(b, [&](int64_t i, double value) {
    const double old = old_values[static_cast<size_t>(i)];
    if (old == value || (std::isnan(old) && std::isnan(value))) return;
    ++different;
    scale = std::max(scale, std::abs(old));
    const double step = std::abs(value - old);
    largest = std::isnan(step) ? HUGE_VAL : std::max(largest, step);
  });
  if (different == 0) return "";  // zeros of either sign
  return fmt::format("{} of {} elements, by up to {:.3g} of {:.3g}", different, a.numel(), largest,
                     scale);
}

std::string difference_of(const PayloadTensor& before, const PayloadTensor& after) {
  const std::string old_type = type_of(before), new_type = type_of(after);
  if (old_type != new_type) return old_type + " -> " + new_type;
  if (before.missing.empty()) return element_difference(before.tensor, after.tensor);
  if (before.parts.size() != after.parts.size()) return "other parts";
  for (size_t i = 0; i < before.parts.size(); ++i) {
    if (before.parts[i].type_text() != after.parts[i].type_text()) return "other parts";
    std::string text = element_difference(before.parts[i], after.parts[i]);
    if (!text.empty()) return text;
  }
  return "";
}

std::pair<std::string, std::string> split_name(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == name.npos ? std::pair(std::string(), name)
                          : std::pair(name.substr(0, dot), name.substr(dot + 1));
}

}  // namespace

void diff_weights(const Program& before, const Payloads& old_payloads, const Program& after,
                  const Payloads& new_payloads, std::vector<Change>& changes) {
  const Used left = used_payloads(before, old_payloads), right = used_payloads(after, new_payloads);
  const auto add_one = [&](ChangeKind kind, const std::string& name, const PayloadTensor& payload) {
    Change change{.section = ChangeSection::weight, .kind = kind, .what = name};
    (kind == ChangeKind::added ? change.after : change.before) = type_of(payload);
    changes.push_back(std::move(change));
  };
  std::map<std::string, std::string> modules;  // one line each
  for (const auto& [name, payload] : left) {
    const auto found = right.find(name);
    if (found == right.end()) {
      add_one(ChangeKind::removed, name, *payload);
      continue;
    }
    const std::string text = difference_of(*payload, *found->second);
    if (text.empty()) continue;
    const auto [module, leaf] = split_name(name);
    std::string& line = modules[module];
    line += fmt::format("{}{}: {}", line.empty() ? "" : "; ", leaf, text);
  }
  for (const auto& [module, text] : modules)
    changes.push_back({.section = ChangeSection::weight,
                       .kind = ChangeKind::changed,
                       .what = module.empty() ? "the root's own" : module,
                       .after = text});
  for (const auto& [name, payload] : right)
    if (!left.contains(name)) add_one(ChangeKind::added, name, *payload);
}

}  // namespace pt2
