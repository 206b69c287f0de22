# `cmake --install` gives a package: find_package(sluice) and link sluice::sluice.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sluice")

install(TARGETS sluice EXPORT sluice_targets)
# The public headers include nothing but one another (tests/project/check_layers.py).
install(DIRECTORY include/sluice DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")

install(EXPORT sluice_targets NAMESPACE sluice:: FILE sluice-targets.cmake
  DESTINATION "${package_dir}")
configure_package_config_file(cmake/sluice-config.cmake.in
  "${PROJECT_BINARY_DIR}/sluice-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sluice-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/sluice-config.cmake"
  "${PROJECT_BINARY_DIR}/sluice-config-version.cmake" DESTINATION "${package_dir}")
