#include <algorithm>
#include <vector>

#include "archive/zip_format.h"
#include "base/printable.h"

namespace pt2::zip {
namespace {

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

std::string_view component_fault(std::string_view component) {
  if (component.empty()) return "has an empty component";
  if (component == ".") return "has a component '.'";
  if (component == "..") return "has a component '..'";
  if (component.size() >= 2 && is_letter(component[0]) && component[1] == ':')
    return "has a drive letter";
  return "";
}

}  // namespace

std::string_view name_fault(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.find('\0') != name.npos) return "has a zero byte";
  if (name.find('\\') != name.npos) return "has a backslash";
  if (name.front() == '/') return "is absolute";
  // The entry of a folder ends with one '/'.
  for (size_t start = 0; start < name.size();) {
    const size_t slash = name.find('/', start);
    const size_t end = slash == name.npos ? name.size() : slash;
    if (const std::string_view fault = component_fault(name.substr(start, end - start));
        !fault.empty())
      return fault;
    start = end + 1;
  }
  return "";
}

std::string_view new_file_name_fault(std::string_view name) {
  if (const std::string_view fault = name_fault(name); !fault.empty()) return fault;
  if (name.ends_with('/')) return "is that of a folder";
  return printable_line(name) == name ? "" : "has characters that cannot be printed";
}

bool LessButForCase::operator()(std::string_view a, std::string_view b) const {
  return std::ranges::lexicographical_compare(a, b, {}, lower, lower);
}

const Entry* find_other_case(std::span<const Entry> entries) {
  std::vector<const Entry*> order;
  for (const Entry& entry : entries) order.push_back(&entry);
  const LessButForCase less;
  std::ranges::sort(order, less, [](const Entry* each) { return std::string_view(each->name); });
  const auto found = std::ranges::adjacent_find(
      order, [&](const Entry* a, const Entry* b) { return !less(a->name, b->name); });
  return found == order.end() ? nullptr : *found;
}

}  // namespace pt2::zip
