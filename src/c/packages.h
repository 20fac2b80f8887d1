// Opened files of the C interface.
#ifndef PT2_C_PACKAGES_H
#define PT2_C_PACKAGES_H

#include "c/border.h"
#include "pt2/model.h"
#include "pt2/package.h"

struct pt2_package {
  std::shared_ptr<const pt2::Package> package;
  pt2::Limits limits{};  // those that it was opened with
};

namespace pt2::c {

// The source to open: a file, or bytes in memory.
struct Source {
  std::string_view name{};  // a file's path, or the name of the bytes
  const void* bytes = nullptr;
  size_t byte_count = 0;
  bool in_memory = false;
  // The owner of the bytes. Its release function is set only after opening has succeeded.
  std::shared_ptr<Releaser> owner{};
};
Result<Source> file_source(const char* path, size_t length);
Result<Source> memory_source(const void* bytes, size_t byte_count, const char* name, size_t length);

Result<std::shared_ptr<const Package>> open_source(const Source& source,
                                                   const pt2_load_options& options);
Result<EngineKind> read_engine(int32_t engine);
Result<LoadOptions> load_options(const pt2_load_options& options);

}  // namespace pt2::c

#endif  // PT2_C_PACKAGES_H
