# libpt2.so.1: the C interface with everything it needs inside. Nothing but pt2_* is seen from outside, so that it can
# live in one process with any other C++.
set(PT2_C_ABI 1)
add_library(pt2_shared SHARED $<TARGET_OBJECTS:pt2_c>)
set_target_properties(pt2_shared PROPERTIES OUTPUT_NAME pt2 EXPORT_NAME c
  VERSION ${PT2_C_ABI}.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} SOVERSION ${PT2_C_ABI} LINKER_LANGUAGE CXX)
add_library(pt2::c ALIAS pt2_shared)
target_include_directories(pt2_shared PUBLIC
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_link_libraries(pt2_shared PRIVATE pt2_options $<BUILD_INTERFACE:pt2::run>)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(symbols "${PROJECT_SOURCE_DIR}/src/c/libpt2.map")
  target_link_options(pt2_shared PRIVATE "LINKER:--version-script=${symbols}" LINKER:--exclude-libs,ALL)
  if(NOT PT2_SANITIZE)
    target_link_options(pt2_shared PRIVATE LINKER:--no-undefined)
  endif()
  set_target_properties(pt2_shared PROPERTIES LINK_DEPENDS "${symbols}")
endif()
