# What sluice is built on. Abseil is required. Each of the others can be missing: the engine then
# works without it, slower. AUTO takes it if it is there, ON fails if it is not, OFF ignores it.

foreach(feature LLVM TBB ZLIB)
  set(SLUICE_${feature} AUTO CACHE STRING "Use ${feature}: AUTO, ON or OFF")
  set_property(CACHE SLUICE_${feature} PROPERTY STRINGS AUTO ON OFF)
  set(SLUICE_HAVE_${feature} 0)
endforeach()

# Turns what was found into SLUICE_HAVE_<feature> and says so.
macro(sluice_feature feature found description)
  if(${found})
    set(SLUICE_HAVE_${feature} 1)
    message(STATUS "sluice: ${feature}: ${description}")
  elseif("${SLUICE_${feature}}" STREQUAL "AUTO")
    message(STATUS "sluice: ${feature}: not found, built without")
  else()
    message(FATAL_ERROR "SLUICE_${feature}=${SLUICE_${feature}}, but it was not found")
  endif()
endmacro()

# sluice_find(<prefix> LIBRARY <names> HEADER <file> [HINTS <prefixes>]) sets <prefix>_LIBRARY and
# <prefix>_INCLUDE_DIR. Used in place of the packages' own config files where those drag in what
# the headers and the shared library do not need (LibEdit for LLVM).
macro(sluice_find prefix)
  cmake_parse_arguments(arg "" "HEADER" "LIBRARY;HINTS" ${ARGN})
  find_library(${prefix}_LIBRARY NAMES ${arg_LIBRARY} HINTS ${arg_HINTS} PATH_SUFFIXES lib)
  find_path(${prefix}_INCLUDE_DIR NAMES ${arg_HEADER} HINTS ${arg_HINTS} PATH_SUFFIXES include)
  mark_as_advanced(${prefix}_LIBRARY ${prefix}_INCLUDE_DIR)
endmacro()

find_package(absl CONFIG REQUIRED)
set(SLUICE_ABSL absl::flat_hash_map absl::function_ref absl::inlined_vector absl::span absl::status
  absl::statusor absl::strings absl::synchronization)
find_package(Threads REQUIRED)

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

if(SLUICE_TBB)
  find_package(TBB 2021 QUIET CONFIG COMPONENTS tbb)
  sluice_feature(TBB TBB_FOUND "oneTBB ${TBB_VERSION}")
endif()

if(SLUICE_LLVM)
  foreach(version 20 19 18 17 16 15)
    sluice_find(LLVM_${version} LIBRARY LLVM-${version} HEADER llvm/Config/llvm-config.h
      HINTS "${LLVM_ROOT}" "/usr/lib/llvm-${version}" "/usr/lib/llvm${version}")
    if(LLVM_${version}_LIBRARY AND LLVM_${version}_INCLUDE_DIR)
      set(LLVM_LIBRARY "${LLVM_${version}_LIBRARY}")
      set(LLVM_INCLUDE_DIR "${LLVM_${version}_INCLUDE_DIR}")
      break()
    endif()
  endforeach()
  sluice_feature(LLVM LLVM_LIBRARY "${LLVM_LIBRARY}")
endif()

if(SLUICE_ZLIB)
  find_package(ZLIB QUIET)
  sluice_feature(ZLIB ZLIB_FOUND "zlib ${ZLIB_VERSION_STRING}")
endif()
