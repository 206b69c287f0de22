# What sluice is built on. Abseil is required. Each of the others can be missing: the engine then
# works without it, slower, and tests and benchmarks are left out. AUTO takes what is there, ON fails
# if it is not, OFF leaves it out.

# sluice_feature(<name> <option> <found> <what was looked for> [<where>]) turns what was found into
# SLUICE_HAVE_<name>, and says so.
macro(sluice_feature name option found description)
  set(SLUICE_HAVE_${name} 0)
  if(NOT ${option})
    message(STATUS "sluice: ${name}: left out (${option}=${${option}})")
  elseif(${found})
    set(SLUICE_HAVE_${name} 1)
    message(STATUS "sluice: ${name}: ${description} ${ARGN}")
  elseif("${${option}}" STREQUAL "AUTO")
    message(STATUS "sluice: ${name}: built without: there is no ${description}")
  else()
    message(FATAL_ERROR "sluice: ${option}=${${option}}, but there is no ${description}")
  endif()
endmacro()

# sluice_option(<option> <default> <text>)
function(sluice_option option default text)
  set(${option} ${default} CACHE STRING "${text}: AUTO, ON or OFF")
  set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
endfunction()

# sluice_find(<prefix> LIBRARY <names> HEADER <file> [HINTS <prefixes>]) sets <prefix>_LIBRARY and
# <prefix>_INCLUDE_DIR. Used in place of the packages' own config files where those drag in what
# the headers and the shared library do not need (LibEdit for LLVM).
macro(sluice_find prefix)
  cmake_parse_arguments(arg "" "HEADER" "LIBRARY;HINTS" ${ARGN})
  find_library(${prefix}_LIBRARY NAMES ${arg_LIBRARY} HINTS ${arg_HINTS} PATH_SUFFIXES lib)
  find_path(${prefix}_INCLUDE_DIR NAMES ${arg_HEADER} HINTS ${arg_HINTS} PATH_SUFFIXES include)
  mark_as_advanced(${prefix}_LIBRARY ${prefix}_INCLUDE_DIR)
endmacro()

if(NOT TARGET absl::status)  # which a parent project may have built
  find_package(absl CONFIG QUIET)
endif()
if(NOT TARGET absl::status)
  message(FATAL_ERROR "sluice: Abseil is required, and there is no abslConfig.cmake: install it "
    "(Debian: libabsl-dev), or say where it is by -DCMAKE_PREFIX_PATH=")
endif()
set(SLUICE_ABSL absl::flat_hash_map absl::function_ref absl::inlined_vector absl::span absl::status
  absl::statusor absl::strings absl::synchronization)
find_package(Threads REQUIRED)

# A static library's users link to these too, in their own folders.
if(NOT PROJECT_IS_TOP_LEVEL AND NOT SLUICE_SHARED)
  get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
  set_target_properties(${imported} PROPERTIES IMPORTED_GLOBAL TRUE)
endif()

# For programs that are to run on machines that have none of this.
option(SLUICE_STATIC "Link Abseil and the compiler's runtime statically" OFF)
if(SLUICE_STATIC)
  add_link_options(-static-libstdc++ -static-libgcc)
  # Debian's targets are the shared libraries, with the archives beside them.
  get_property(absl_targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  list(FILTER absl_targets INCLUDE REGEX "^absl::")
  foreach(target ${absl_targets})
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    foreach(configuration IN LISTS configurations)
      get_target_property(library ${target} IMPORTED_LOCATION_${configuration})
      if(NOT library)  # an interface
        continue()
      endif()
      string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${library}")
      if(NOT EXISTS "${archive}")
        message(FATAL_ERROR "SLUICE_STATIC: ${archive} is not there")
      endif()
      set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} "${archive}")
    endforeach()
  endforeach()
endif()

sluice_option(SLUICE_TBB AUTO "Run on several threads, with oneTBB")
if(SLUICE_TBB)
  find_package(TBB 2021 QUIET CONFIG COMPONENTS tbb)
endif()
sluice_feature(TBB SLUICE_TBB TBB_FOUND "oneTBB 2021 or newer" "(${TBB_VERSION})")

# Compiled code is loaded on these processors (kernels/compiled/object_code.h).
sluice_option(SLUICE_LLVM AUTO "Compile kernels for the CPU, with LLVM")
if(SLUICE_LLVM AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|aarch64)$")
  foreach(version 20 19 18 17 16 15)
    sluice_find(SLUICE_LLVM_${version} LIBRARY LLVM-${version} HEADER llvm/Config/llvm-config.h
      HINTS "${LLVM_ROOT}" "/usr/lib/llvm-${version}" "/usr/lib/llvm${version}")
    if(SLUICE_LLVM_${version}_LIBRARY AND SLUICE_LLVM_${version}_INCLUDE_DIR)
      # The file itself, which mostly lies where the loader looks: then it takes no RPATH, and a .deb
      # knows its package.
      get_filename_component(LLVM_LIBRARY "${SLUICE_LLVM_${version}_LIBRARY}" REALPATH)
      set(LLVM_INCLUDE_DIR "${SLUICE_LLVM_${version}_INCLUDE_DIR}")
      break()
    endif()
  endforeach()
endif()
sluice_feature(LLVM SLUICE_LLVM LLVM_LIBRARY "LLVM 15 to 20 for x86-64 or aarch64" "(${LLVM_LIBRARY})")

# A shared sluice loads LLVM when it first compiles, if there are archives to make that library of: a
# thread may be loading it while another one calls exit(), which LLVM's shared library does not survive
# (kernels/llvm/keep_statics.cpp). Else LLVM is linked to as any other library is; so it is under
# sanitizers, as LeakSanitizer crashes at an exit() during another thread's dlopen().
sluice_option(SLUICE_LLVM_PLUGIN AUTO "Load LLVM when the first kernel is compiled")
set(SLUICE_HAVE_LLVM_PLUGIN 0)
if(SLUICE_HAVE_LLVM AND SLUICE_SHARED)
  if(SLUICE_LLVM_PLUGIN AND NOT SLUICE_SANITIZE)
    include(SluiceArchives)
    sluice_llvm_archives(LLVM_ARCHIVES)
  endif()
  sluice_feature(LLVM_PLUGIN SLUICE_LLVM_PLUGIN LLVM_ARCHIVES "LLVM in static archives")
endif()

# What writes traces as JSON; a copy comes with the sources.
find_package(nlohmann_json 3.10 QUIET CONFIG)
if(nlohmann_json_FOUND)
  get_target_property(SLUICE_JSON_INCLUDES nlohmann_json::nlohmann_json INTERFACE_INCLUDE_DIRECTORIES)
else()
  set(SLUICE_JSON_INCLUDES "${PROJECT_SOURCE_DIR}/third_party")
endif()

set(default OFF)
if(PROJECT_IS_TOP_LEVEL)
  set(default AUTO)
endif()
sluice_option(SLUICE_BUILD_TESTS ${default} "Build the tests")
if(DEFINED BUILD_TESTING AND NOT BUILD_TESTING)
  set(SLUICE_BUILD_TESTS OFF)
endif()
if(SLUICE_BUILD_TESTS)
  find_package(GTest QUIET)
  find_package(Python3 3.8 QUIET COMPONENTS Interpreter)
  set(found FALSE)
  if(TARGET GTest::gmock AND Python3_FOUND)
    set(found TRUE)
  endif()
endif()
sluice_feature(TESTS SLUICE_BUILD_TESTS found "GoogleTest and Python 3.8")

sluice_option(SLUICE_BUILD_BENCH ${default} "Build the benchmarks")
if(SLUICE_BUILD_BENCH)
  find_package(benchmark QUIET)
endif()
sluice_feature(BENCH SLUICE_BUILD_BENCH benchmark_FOUND "Google Benchmark")

sluice_option(SLUICE_ZLIB AUTO "Read compressed .npz files, with zlib")
if(SLUICE_ZLIB)
  sluice_find(SLUICE_ZLIB LIBRARY z HEADER zlib.h)
endif()
set(found FALSE)
if(SLUICE_ZLIB_LIBRARY AND SLUICE_ZLIB_INCLUDE_DIR)
  set(found TRUE)
endif()
sluice_feature(ZLIB SLUICE_ZLIB found "zlib" "(${SLUICE_ZLIB_LIBRARY})")

sluice_option(SLUICE_HIGHWAY AUTO "Sort with vector instructions, with Highway")
if(SLUICE_HIGHWAY)
  sluice_find(SLUICE_HIGHWAY LIBRARY hwy_contrib HEADER hwy/contrib/sort/vqsort.h)
  sluice_find(SLUICE_HIGHWAY_BASE LIBRARY hwy HEADER hwy/base.h)
endif()
set(found FALSE)
if(SLUICE_HIGHWAY_LIBRARY AND SLUICE_HIGHWAY_INCLUDE_DIR AND SLUICE_HIGHWAY_BASE_LIBRARY)
  set(found TRUE)
endif()
sluice_feature(HIGHWAY SLUICE_HIGHWAY found "Highway" "(${SLUICE_HIGHWAY_LIBRARY})")

# Of those that have threads, only OpenMP's can be told to have none.
sluice_option(SLUICE_ONEDNN AUTO "Convolve by oneDNN")
if(SLUICE_ONEDNN)
  sluice_find(SLUICE_ONEDNN LIBRARY dnnl HEADER oneapi/dnnl/dnnl.hpp)
endif()
set(found FALSE)
if(SLUICE_ONEDNN_LIBRARY AND SLUICE_ONEDNN_INCLUDE_DIR)
  file(STRINGS "${SLUICE_ONEDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_config.h" runtime
    REGEX "#define DNNL_CPU_RUNTIME DNNL_RUNTIME_(OMP|SEQ)")
  if(runtime)
    set(found TRUE)
  endif()
endif()
sluice_feature(ONEDNN SLUICE_ONEDNN found "oneDNN" "(${SLUICE_ONEDNN_LIBRARY})")
