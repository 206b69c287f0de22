# What is built, and how every target of this project is compiled.

foreach(compiler GNU:GCC:11 Clang:Clang:16)
  string(REPLACE ":" ";" compiler ${compiler})
  list(POP_FRONT compiler id name least)
  if(CMAKE_CXX_COMPILER_ID STREQUAL id AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS least)
    message(FATAL_ERROR "sluice: ${CMAKE_CXX_COMPILER} is ${name} ${CMAKE_CXX_COMPILER_VERSION}; "
      "${name} ${least} or newer is required (-DCMAKE_CXX_COMPILER= names another compiler)")
  endif()
endforeach()

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(shared ON)
if(DEFINED BUILD_SHARED_LIBS)
  set(shared ${BUILD_SHARED_LIBS})
endif()
option(SLUICE_SHARED "Build sluice as a shared library" ${shared})
option(SLUICE_INSTALL "Have rules to install sluice" ${PROJECT_IS_TOP_LEVEL})
option(SLUICE_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(SLUICE_WERROR "Treat warnings as errors" OFF)
set(SLUICE_SANITIZE "" CACHE STRING "Sanitizers to build with, as -fsanitize= takes them")

if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(SLUICE_CCACHE ccache)
  if(SLUICE_CCACHE)
    # Precompiled headers are not cached otherwise; sources here use no __DATE__ and no __TIME__.
    # Clones share what they compile: paths count from the project's root.
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}"
      CCACHE_NOHASHDIR=1 "${SLUICE_CCACHE}")
  endif()
endif()

# Public headers are <sluice/...>; the project's own are spelled from its root: "engine/run/batch.h".
set(SLUICE_INCLUDES "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")

# Contraction is off everywhere: fusing two ops must never change a bit, and tests compare with plain
# loops. Neither errno nor trapping is asked for, as loops over selects and roundings would otherwise
# not be vectorised; that changes no result.
function(sluice_compile_options target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE -Wall -Wextra -ffp-contract=off
    -fno-math-errno -fno-trapping-math $<$<CONFIG:>:-O2>)
  if(SLUICE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  # What GCC 12 warns of at -O3 is libstdc++'s own operator+ of strings (GCC bug 105329).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
    target_compile_options(${target} PRIVATE
      $<$<CONFIG:Release>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow>)
  endif()
  if(SLUICE_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${SLUICE_SANITIZE})
  endif()
endfunction()

# Headers that most sources include. Parsing them is a third of a compilation; no header of this
# project is among them, as a change of one would compile everything again.
set(SLUICE_COMMON_HEADERS <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint>
  <cstring> <deque> <functional> <map> <memory> <mutex> <optional> <string> <string_view> <utility>
  <variant> <vector> <absl/container/flat_hash_map.h> <absl/container/inlined_vector.h>
  <absl/functional/function_ref.h> <absl/status/status.h> <absl/status/statusor.h>
  <absl/strings/str_cat.h> <absl/strings/str_format.h> <absl/strings/str_join.h>
  <absl/types/span.h>)

# sluice_precompiled_headers(<target> <headers> LIBRARIES <targets> [OPTIONS <options>]): for targets
# to reuse that are compiled likewise. GCC asks for the same -fPIC and -O0 or not; Clang
# for all the same options, and does without.
function(sluice_precompiled_headers target)
  cmake_parse_arguments(arg "" "" "LIBRARIES;OPTIONS" ${ARGN})
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/${target}.cpp" CONTENT "")
  add_library(${target} OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/${target}.cpp")
  sluice_compile_options(${target})
  target_compile_options(${target} PRIVATE ${arg_OPTIONS})
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES})
  target_precompile_headers(${target} PRIVATE ${arg_UNPARSED_ARGUMENTS})
endfunction()

# sluice_reuse_headers(<target> <target of sluice_precompiled_headers>)
function(sluice_reuse_headers target headers)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()

option(SLUICE_UNITY "Compile up to eight sources of a folder at once: faster, if all are compiled" OFF)
# sluice_unity(<target>): compiles its sources so, if it is asked for. What they declare for
# themselves has names that no other of their folder has. A folder is divided by what lies in it, so
# that no configuration puts two together that another keeps apart.
function(sluice_unity target)
  if(NOT SLUICE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  foreach(source ${sources})
    get_filename_component(path "${source}" ABSOLUTE)
    get_filename_component(folder "${path}" DIRECTORY)
    file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}" "${folder}")
    string(MAKE_C_IDENTIFIER "${name}" group)
    file(GLOB neighbours "${folder}/*.cpp")
    list(FIND neighbours "${path}" place)
    math(EXPR part "(${place} + 8) / 8")
    set_property(SOURCE "${source}" PROPERTY UNITY_GROUP "${group}_${part}")
  endforeach()
endfunction()

# sluice_program(<name> SOURCES <files> [LIBRARIES <targets>] [HEADERS <precompiled headers>|NONE])
function(sluice_program name)
  cmake_parse_arguments(arg "" "HEADERS" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT arg_HEADERS)
    set(arg_HEADERS sluice_library_headers)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  sluice_compile_options(${name})
  # No copies of the library's data, which protected data does not allow (SLUICE_EXPORT_INTERNALS).
  target_compile_options(${name} PRIVATE -fPIC)
  target_include_directories(${name} SYSTEM PRIVATE ${SLUICE_JSON_INCLUDES})
  if(NOT arg_HEADERS STREQUAL "NONE")
    sluice_reuse_headers(${name} ${arg_HEADERS})
  endif()
  target_link_libraries(${name} PRIVATE sluice::sluice ${arg_LIBRARIES} ${SLUICE_ABSL})
endfunction()

# sluice_program_library(<name> SOURCES <files> LIBRARIES <targets>): what several programs share.
function(sluice_program_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${SLUICE_INCLUDES})
  sluice_compile_options(${name})
  target_compile_options(${name} PRIVATE -fPIC)
  target_include_directories(${name} SYSTEM PRIVATE ${SLUICE_JSON_INCLUDES})
  sluice_reuse_headers(${name} sluice_library_headers)
  target_link_libraries(${name} PUBLIC ${arg_LIBRARIES} ${SLUICE_ABSL})
endfunction()
