// The Windows API without the macros that break C++ (min, max). The remaining macros (small, near,
// ERROR) break other code, so only platform sources include this.
#ifndef PT2_BASE_PLATFORM_WINDOWS_API_H
#define PT2_BASE_PLATFORM_WINDOWS_API_H

#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <fcntl.h>
#include <io.h>
#include <windows.h>

#endif  // PT2_BASE_PLATFORM_WINDOWS_API_H
