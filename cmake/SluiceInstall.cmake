# `cmake --install` gives a package: find_package(sluice) and link sluice::sluice, or pkg-config
# sluice. `cpack` makes it a .deb.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sluice")

install(TARGETS sluice EXPORT sluice_targets INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
foreach(plugin sluice_llvm sluice_highway sluice_onednn)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
endforeach()
# The public headers include nothing but one another (tests/project/check_layers.py).
install(DIRECTORY include/sluice DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs/ DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs" PATTERN "decisions" EXCLUDE)

install(EXPORT sluice_targets NAMESPACE sluice:: FILE sluice-targets.cmake
  DESTINATION "${package_dir}")
configure_package_config_file(cmake/sluice-config.cmake.in
  "${PROJECT_BINARY_DIR}/sluice-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sluice-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/sluice-config.cmake"
  "${PROJECT_BINARY_DIR}/sluice-config-version.cmake" DESTINATION "${package_dir}")

# For pkg-config: a static library's users link to what it is built on, too.
set(pc_requires "")
set(pc_libraries "-pthread -ldl")
if(NOT SLUICE_SHARED)
  list(TRANSFORM SLUICE_ABSL REPLACE "absl::" "absl_" OUTPUT_VARIABLE pc_requires)
  if(SLUICE_HAVE_TBB)
    list(APPEND pc_requires tbb)
  endif()
  string(REPLACE ";" " " pc_requires "${pc_requires}")
  if(SLUICE_HAVE_LLVM)
    string(APPEND pc_libraries " ${LLVM_LIBRARY}")
  endif()
  if(SLUICE_HAVE_ZLIB)
    string(APPEND pc_libraries " ${SLUICE_ZLIB_LIBRARY}")
  endif()
  if(SLUICE_HAVE_HIGHWAY)
    string(APPEND pc_libraries " ${SLUICE_HIGHWAY_LIBRARY} ${SLUICE_HIGHWAY_BASE_LIBRARY}")
  endif()
  if(SLUICE_HAVE_ONEDNN)
    string(APPEND pc_libraries " ${SLUICE_ONEDNN_LIBRARY}")
  endif()
endif()
file(RELATIVE_PATH to_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" to_prefix "${to_prefix}")
configure_file(cmake/sluice.pc.in "${PROJECT_BINARY_DIR}/sluice.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/sluice.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME libsluice-dev)
set(CPACK_PACKAGE_CONTACT "The Sluice authors")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
include(CPack)
