# libdeflate 1.14 of Debian 12 ships no CMake package; newer ones do. Gives Deflate::Deflate either way.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PC_DEFLATE QUIET libdeflate)
endif()
find_path(Deflate_INCLUDE_DIR libdeflate.h HINTS ${PC_DEFLATE_INCLUDE_DIRS})
find_library(Deflate_LIBRARY NAMES deflate HINTS ${PC_DEFLATE_LIBRARY_DIRS})
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Deflate REQUIRED_VARS Deflate_LIBRARY Deflate_INCLUDE_DIR)
if(Deflate_FOUND AND NOT TARGET Deflate::Deflate)
  add_library(Deflate::Deflate UNKNOWN IMPORTED)
  set_target_properties(Deflate::Deflate PROPERTIES
    IMPORTED_LOCATION "${Deflate_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Deflate_INCLUDE_DIR}")
endif()
