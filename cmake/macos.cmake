# macOS on ARM.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
set(compiler macos-clang)
include("${CMAKE_CURRENT_LIST_DIR}/zig.cmake")
# What only the installation of shared libraries calls.
find_program(does_nothing true REQUIRED)
set(CMAKE_INSTALL_NAME_TOOL "${does_nothing}" CACHE FILEPATH "")
