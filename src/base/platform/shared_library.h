// Loads libraries at run time.
#ifndef PT2_BASE_PLATFORM_SHARED_LIBRARY_H
#define PT2_BASE_PLATFORM_SHARED_LIBRARY_H

#include <string>

#include "pt2/result.h"

namespace pt2 {

// Loads the library, which then stays loaded, and returns the address of `symbol`; null if it has
// no such symbol. Errors: `io` if the file cannot be read, `malformed` with the system's reason if
// it is no library for this process.
Result<const void*> symbol_of_library(const std::string& path, const char* symbol);

}  // namespace pt2

#endif  // PT2_BASE_PLATFORM_SHARED_LIBRARY_H
