# An overlay port of the tree that it lies in: vcpkg install libpt2 --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" shared_c)
vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES tools PT2_TOOLS)
# The C++ libraries are static whatever the triplet says: their interface has no stable ABI.
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${features} -DPT2_C=${shared_c} -DPT2_INSTALL=ON -DBUILD_SHARED_LIBS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME pt2 CONFIG_PATH lib/cmake/pt2)
if(shared_c)
  vcpkg_fixup_pkgconfig()
endif()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES pt2 AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/bin")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
