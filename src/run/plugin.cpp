#include "pt2/ops/plugin.h"

#include <string>

#include "base/platform/shared_library.h"

namespace pt2 {
namespace {

std::string numbers_text(const PluginInterface& built) {
  std::string out = std::to_string(built.version);
  for (const uint32_t bytes : {built.value_bytes, built.tensor_bytes, built.storage_bytes,
                               built.error_bytes, built.operators_bytes})
    out += "." + std::to_string(bytes);
  return out;
}

Result<void> add_from(const std::string& path, CustomOperators& operators) {
  PT2_TRY(const void* symbol, symbol_of_library(path, "pt2_plugin"));
  const auto* plugin = static_cast<const Plugin*>(symbol);
  if (plugin == nullptr || plugin->magic != Plugin::kMagic)
    return Error{ErrorCode::malformed,
                 "is not a plug-in: it has no PT2_PLUGIN (docs/custom-operators.md)", ""};
  constexpr PluginInterface kOurs;
  // The fields after the version may differ in another version, so the version is compared first.
  if (plugin->interface.version != kOurs.version || plugin->interface != kOurs)
    return Error{ErrorCode::unsupported,
                 "was built for plug-in interface " + numbers_text(plugin->interface) +
                     ", expected " + numbers_text(kOurs) +
                     ": build it with the headers of this version",
                 ""};
  return plugin->add(operators);
}

}  // namespace

Result<void> load_plugin(const std::string& path, CustomOperators& operators) {
  Result<void> added = add_from(path, operators);
  if (!added) return in_file(std::move(added).error(), path);
  return {};
}

}  // namespace pt2
