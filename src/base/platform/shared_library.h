// Libraries that are loaded while the process runs.
#ifndef PT2_BASE_PLATFORM_SHARED_LIBRARY_H
#define PT2_BASE_PLATFORM_SHARED_LIBRARY_H

#include <string>

#include "pt2/result.h"

namespace pt2 {

// Loads the library, which then stays, and gives the address of what it calls `symbol`; null where
// it has no such thing. Errors: `io` where the file cannot be read, `malformed` with the system's
// reason where it is no library for this process.
Result<const void*> symbol_of_library(const std::string& path, const char* symbol);

}  // namespace pt2

#endif  // PT2_BASE_PLATFORM_SHARED_LIBRARY_H
