# How every target of this project is compiled.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(SLUICE_CCACHE ccache)
  if(SLUICE_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${SLUICE_CCACHE}")
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
    -fno-math-errno -fno-trapping-math)
  if(SLUICE_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${SLUICE_SANITIZE})
  endif()
endfunction()

# sluice_program(<name> SOURCES <files> [LIBRARIES <targets>])
function(sluice_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  sluice_compile_options(${name})
  target_link_libraries(${name} PRIVATE sluice::sluice ${arg_LIBRARIES})
endfunction()
