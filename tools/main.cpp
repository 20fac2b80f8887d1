#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

#include <string>
#include <vector>

#include "tools/command.h"

namespace {

// Keeps freed memory in the process for the next call: returning pages to the system and getting
// them back costs more than many kernels (docs/guides/calls.md).
void keep_freed_memory() {
#if defined(M_TRIM_THRESHOLD) && defined(M_MMAP_THRESHOLD)
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  pt2::tools::Environment environment = pt2::tools::standard_environment();
  return pt2::tools::run_command(arguments, environment);
}
