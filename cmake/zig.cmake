# The compilers that cmake/zig_tools.sh brings; ${compiler} is the name of one. Libraries are compiled from their sources by
# the modules of cmake/packages.
get_filename_component(tools "${CMAKE_CURRENT_LIST_DIR}/../build/zig-tools" ABSOLUTE)
set(CMAKE_C_COMPILER "${tools}/bin/${compiler}")
set(CMAKE_CXX_COMPILER "${tools}/bin/${compiler}++")
set(CMAKE_AR "${tools}/bin/ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${tools}/bin/ranlib" CACHE FILEPATH "")
set(PT2_LIBRARY_SOURCES "${tools}/sources")
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}/packages")
