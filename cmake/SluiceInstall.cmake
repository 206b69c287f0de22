# `cmake --install` gives a package: find_package(sluice) and link sluice::sluice.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/sluice")

install(TARGETS sluice EXPORT sluice_targets)
# The public headers: sluice.h and all that it includes (the `package` test fails if one is missing).
foreach(header
    sluice.h
    engine/observe/call_site.h include/sluice/config.h runtime/fast_tls.h engine/record/node.h include/sluice/stats.h include/sluice/trace.h
    include/sluice/control.h include/sluice/creation.h frontend/elementwise.def frontend/methods.def
    include/sluice/ops.h include/sluice/scalar.h include/sluice/tensor.h
    fusion/ir/op.h fusion/ir/ops.def
    runtime/buffer.h include/sluice/device.h include/sluice/dtype.h include/sluice/error.h include/sluice/half.h
    runtime/layout.h include/sluice/shape.h)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/sluice/${folder}")
endforeach()
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")

install(EXPORT sluice_targets NAMESPACE sluice:: FILE sluice-targets.cmake
  DESTINATION "${package_dir}")
configure_package_config_file(cmake/sluice-config.cmake.in
  "${PROJECT_BINARY_DIR}/sluice-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sluice-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/sluice-config.cmake"
  "${PROJECT_BINARY_DIR}/sluice-config-version.cmake" DESTINATION "${package_dir}")
