# Windows on x86-64.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(compiler windows-clang)
include("${CMAKE_CURRENT_LIST_DIR}/zig.cmake")
set(CMAKE_RC_COMPILER "${tools}/bin/rc")
set(CMAKE_RC_COMPILE_OBJECT "<CMAKE_RC_COMPILER> /:output-format coff /:target x64 /fo <OBJECT> -- <SOURCE>")
