include(CMakePackageConfigHelpers)
install(TARGETS pt2_lib_core pt2_lib_ops pt2_lib_run EXPORT pt2Targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(PT2_C)
  install(TARGETS pt2_shared EXPORT pt2Targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  # Relative to where it lies, so that `cmake --install --prefix` may put it anywhere.
  file(RELATIVE_PATH PT2_PREFIX_FROM_PKGCONFIG "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  string(REGEX REPLACE "/$" "" PT2_PREFIX_FROM_PKGCONFIG "${PT2_PREFIX_FROM_PKGCONFIG}")
  configure_file(cmake/libpt2.pc.in "${PROJECT_BINARY_DIR}/libpt2.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/libpt2.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
install(DIRECTORY include/pt2 DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT pt2Targets NAMESPACE pt2:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pt2)
configure_package_config_file(cmake/pt2Config.cmake.in "${PROJECT_BINARY_DIR}/pt2Config.cmake"
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pt2)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/pt2ConfigVersion.cmake" COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/pt2Config.cmake" "${PROJECT_BINARY_DIR}/pt2ConfigVersion.cmake"
  cmake/FindDeflate.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/pt2)
