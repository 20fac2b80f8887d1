#include <algorithm>
#include <optional>

#include "archive/layout.h"

namespace pt2 {
namespace {

constexpr std::string_view kRoleNames[] = {
    "program",    "weights",      "constants",     "weights_config", "constants_config",
    "raw_weight", "raw_constant", "custom_object", "opaque_object",  "sample_inputs",
    "extra",      "aotinductor",  "executorch",    "metadata",       "unknown",
};
static_assert(std::size(kRoleNames) == static_cast<size_t>(Role::unknown) + 1);

// The first matching row wins. `*` stands for one or more bytes: the name of the model or of the
// file. Sources: torch/export/pt2_archive/constants.py, torch/export/__init__.py (2.1 to 2.7).
// clang-format off
constexpr LayoutRow kLayout[] = {
    {kFlat,    "serialized_exported_program.json",          Role::program},
    {kFlat,    "serialized_state_dict.pt",                  Role::weights},
    {kFlat,    "serialized_state_dict.json",                Role::weights},
    {kFlat,    "serialized_constants.pt",                   Role::constants},
    {kFlat,    "serialized_constants.json",                 Role::constants},
    {kFlat,    "serialized_example_inputs.pt",              Role::sample_inputs},
    {kFlat,    "version",                                   Role::metadata},
    {kFlat,    "extra_files/*",                             Role::extra},
    {kDocument, kDocumentRecord,                            Role::program},
    {kPackage, "models/*.json",                             Role::program},
    {kPickled, "data/weights/*.pt",                         Role::weights},
    {kPickled, "data/constants/*.pt",                       Role::constants},
    {kRaw,     "data/weights/*_weights_config.json",        Role::weights_config},
    {kRaw,     "data/constants/*_constants_config.json",    Role::constants_config},
    {kPackage, "data/constants/custom_obj_*",               Role::custom_object},
    {kPackage, "data/constants/opaque_obj_*",               Role::opaque_object},
    {kPackage, "data/tensor/*",                             Role::raw_weight},
    {kPackage, "data/weights/*",                            Role::raw_weight},
    {kPackage, "data/constants/*",                          Role::raw_constant},
    {kPackage, "data/sample_inputs/*.pt",                   Role::sample_inputs},
    {kPackage, "data/aotinductor/*",                        Role::aotinductor},
    {kPackage, "data/executorch/*",                         Role::executorch},
    {kPackage, "extra/*",                                   Role::extra},
    {kPackage, "archive_format",                            Role::metadata},
    {kPackage, "archive_version",                           Role::metadata},
    {kPackage, "byteorder",                                 Role::metadata},
    {kPackage, ".data/version",                             Role::metadata},
    {kPackage, ".data/serialization_id",                    Role::metadata},
};
// clang-format on

std::optional<std::string_view> match(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos)
    return pattern == name ? std::optional(std::string_view()) : std::nullopt;
  const std::string_view before = pattern.substr(0, star);
  const std::string_view after = pattern.substr(star + 1);
  if (name.size() <= before.size() + after.size()) return std::nullopt;
  if (!name.starts_with(before) || !name.ends_with(after)) return std::nullopt;
  return name.substr(before.size(), name.size() - before.size() - after.size());
}

}  // namespace

std::string_view role_name(Role role) { return kRoleNames[static_cast<size_t>(role)]; }

std::span<const LayoutRow> layout_rows() { return kLayout; }

RecordRole classify_record(Era era, std::string_view relative_name) {
  for (const LayoutRow& row : kLayout) {
    if (!(row.eras & era_bit(era))) continue;
    if (const auto name = match(row.pattern, relative_name)) {
      const bool program = row.role == Role::program && !(era_bit(era) & kPackage);
      return {row.role, program ? kFlatModel : *name};
    }
  }
  return {Role::unknown, ""};
}

std::optional<std::string_view> model_loaded_from(std::string_view relative_name) {
  constexpr std::string_view kFolder = "models/", kEnding = ".json";
  if (!relative_name.starts_with(kFolder)) return std::nullopt;
  relative_name.remove_prefix(kFolder.size());
  relative_name.remove_suffix(std::min(kEnding.size(), relative_name.size()));
  return relative_name;
}

std::string expand_pattern(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos) return std::string(pattern);
  return std::string(pattern.substr(0, star)).append(name).append(pattern.substr(star + 1));
}

}  // namespace pt2
