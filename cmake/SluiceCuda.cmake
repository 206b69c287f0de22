# The CUDA backend. It loads the driver and NVIDIA's libraries when it runs, so that building it
# takes nothing of theirs. Where there is an nvcc, the generic kernel (kernels/gpu/generic/generic.h) is
# compiled ahead of time and built in; else NVRTC compiles it when it is first needed.
#
# SLUICE_CUDA: AUTO takes nvcc if it is there, ON fails if it is not, OFF leaves the backend out.

set(SLUICE_CUDA AUTO CACHE STRING "Build the CUDA backend: AUTO, ON or OFF")
set_property(CACHE SLUICE_CUDA PROPERTY STRINGS AUTO ON OFF)
set(SLUICE_HAVE_NVCC 0)
include("${CMAKE_CURRENT_LIST_DIR}/SluiceNvcc.cmake")

if(SLUICE_CUDA STREQUAL "OFF")
  message(STATUS "sluice: CUDA: left out")
elseif(SLUICE_SANITIZE)
  message(STATUS "sluice: CUDA: the generic kernel is not for GPUs in a sanitizer's build")
else()
  # Toolkits beside one another, newest first, and those that pip installs.
  file(GLOB sluice_toolkits LIST_DIRECTORIES true /usr/local/cuda /usr/local/cuda-* /opt/cuda)
  list(SORT sluice_toolkits COMPARE NATURAL ORDER DESCENDING)
  file(GLOB sluice_wheels LIST_DIRECTORIES true
    /usr/lib/python3*/site-packages/nvidia/cu* /usr/local/lib/python3*/*-packages/nvidia/cu*
    "$ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/cu*"
    "$ENV{HOME}/.local/lib/python3*/site-packages/nvidia/cu*")
  find_program(SLUICE_NVCC nvcc
    HINTS "${CUDAToolkit_ROOT}" ENV CUDAToolkit_ROOT ENV CUDA_HOME ENV CUDA_PATH
    PATHS ${sluice_toolkits} ${sluice_wheels} PATH_SUFFIXES bin)
  mark_as_advanced(SLUICE_NVCC)
  set(found "")
  if(SLUICE_NVCC)
    # In the cache: what is not of this folder needs it too.
    sluice_nvcc_version("${SLUICE_NVCC}" version)
    set(SLUICE_NVCC_VERSION ${version} CACHE INTERNAL "13000: CUDA 13.0")
    set(found "${SLUICE_NVCC} of version ${SLUICE_NVCC_VERSION} by ${CMAKE_CXX_COMPILER}")
    if(NOT SLUICE_NVCC_PROBED STREQUAL found)
      sluice_probe_nvcc("${SLUICE_NVCC}" "${PROJECT_BINARY_DIR}" arguments)
      set(SLUICE_NVCC_ARGUMENTS "${arguments}" CACHE INTERNAL "Architectures that nvcc compiles for")
      set(SLUICE_NVCC_PROBED "${found}" CACHE INTERNAL "What SLUICE_NVCC_ARGUMENTS are of")
    endif()
  endif()
  if(found AND SLUICE_NVCC_ARGUMENTS)
    set(SLUICE_HAVE_NVCC 1)
    message(STATUS "sluice: CUDA: generic kernel by ${SLUICE_NVCC}")
  elseif(SLUICE_CUDA STREQUAL "ON" AND found)
    message(FATAL_ERROR "SLUICE_CUDA=ON, but ${SLUICE_NVCC} compiles for none of 8.0, 9.0 and 10.0")
  elseif(SLUICE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "SLUICE_CUDA=ON, but there is no nvcc (set CUDAToolkit_ROOT)")
  elseif(found)
    message(STATUS "sluice: CUDA: ${SLUICE_NVCC} does not work, "
      "NVRTC compiles the generic kernel at run time")
  else()
    message(STATUS "sluice: CUDA: no nvcc, NVRTC compiles the generic kernel at run time")
  endif()
endif()

# sluice_generic_image(<target>): an object library that has the generic kernel, compiled. The tool
# that prints the kernel's source takes of the library's objects what it needs.
function(sluice_generic_image target)
  add_library(sluice_lower_archive STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:sluice_lower>)
  add_executable(sluice_print_generic EXCLUDE_FROM_ALL kernels/gpu/generic/print_generic.cpp)
  sluice_compile_options(sluice_print_generic)
  target_include_directories(sluice_print_generic PRIVATE ${SLUICE_INCLUDES})
  target_link_libraries(sluice_print_generic PRIVATE sluice_lower_archive ${SLUICE_ABSL} ${tbb})
  set(stem "${PROJECT_BINARY_DIR}/generic_kernel")
  add_custom_command(OUTPUT "${stem}.fatbin"
    COMMAND sluice_print_generic > "${stem}.cu"
    COMMAND "${SLUICE_NVCC}" -fatbin -std=c++17 --fmad=false -w ${SLUICE_NVCC_ARGUMENTS}
      -o "${stem}.fatbin" "${stem}.cu"
    DEPENDS sluice_print_generic VERBATIM
    COMMENT "Compiling the generic kernel for GPUs")
  file(CONFIGURE OUTPUT "${stem}_image.cpp" @ONLY CONTENT
    "asm(\".section .rodata\\n.balign 16\\n\"
    \".globl _ZN6sluice7kernels4cuda13kGenericImageE\\n\"
    \".hidden _ZN6sluice7kernels4cuda13kGenericImageE\\n\"
    \"_ZN6sluice7kernels4cuda13kGenericImageE:\\n\"
    \".incbin \\\"@stem@.fatbin\\\"\\n.byte 0\\n.previous\\n\");\n")
  set_source_files_properties("${stem}_image.cpp" PROPERTIES OBJECT_DEPENDS "${stem}.fatbin")
  # A target of its own: the library's sources need not wait for nvcc.
  add_library(${target} OBJECT "${stem}_image.cpp" "${stem}.fatbin")
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()
