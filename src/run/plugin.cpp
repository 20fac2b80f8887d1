#include "pt2/ops/plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

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
  if (access(path.c_str(), R_OK) != 0)
    return Error{ErrorCode::io, std::generic_category().message(errno), ""};
  // dlopen looks up a name without a slash in the system's library paths.
  const std::string place = path.find('/') == path.npos ? "./" + path : path;
  void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return Error{ErrorCode::malformed,
                 "cannot be loaded as a library: " + std::string(reason ? reason : "no reason"),
                 ""};
  }
  const auto* plugin = static_cast<const Plugin*>(dlsym(library, "pt2_plugin"));
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
