#include "base/platform/shared_library.h"

#ifdef _WIN32
#include "base/platform/windows_api.h"
#else
#include <dlfcn.h>
#endif

#include <filesystem>
#include <system_error>

#include "base/platform/files.h"

namespace pt2 {

Result<const void*> symbol_of_library(const std::string& path, const char* symbol) {
  const int readable = files::open_to_read(path);
  if (readable < 0) return Error{ErrorCode::io, files::reason(), ""};
  files::close(readable);
  const auto refused = [](const std::string& reason) {
    return Error{ErrorCode::malformed, "cannot be loaded as a library: " + reason, ""};
  };
#ifdef _WIN32
  const HMODULE library = LoadLibraryW(std::filesystem::absolute(path).c_str());
  if (library == nullptr)
    return refused(std::system_category().message(static_cast<int>(GetLastError())));
  return reinterpret_cast<const void*>(GetProcAddress(library, symbol));
#else
  // dlopen looks up a name without a slash in the system's library paths.
  const std::string place = path.find('/') == path.npos ? "./" + path : path;
  void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return refused(reason != nullptr ? reason : "no reason");
  }
  return static_cast<const void*>(dlsym(library, symbol));
#endif
}

}  // namespace pt2
