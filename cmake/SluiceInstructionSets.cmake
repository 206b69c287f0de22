# The instruction sets that loops are compiled for.
include(CheckCXXCompilerFlag)

set(SLUICE_ISAS all CACHE STRING
  "Instruction sets that loops are compiled for: all, or host (that of this machine, and the baseline)")

# sluice_instruction_sets(<variable>): their names, which are namespaces; the baseline is the first.
function(sluice_instruction_sets variable)
  if(NOT SLUICE_ISAS MATCHES "^(all|host)$")
    message(FATAL_ERROR "sluice: SLUICE_ISAS is ${SLUICE_ISAS}, neither all nor host")
  endif()
  set(${variable} baseline PARENT_SCOPE)
  check_cxx_compiler_flag(-march=x86-64-v4 SLUICE_COMPILES_X86_64_V4)
  # A sanitizer's build makes do with one set: compiling them all under it takes minutes.
  if(NOT SLUICE_COMPILES_X86_64_V4 OR SLUICE_SANITIZE)
    return()
  endif()
  if(SLUICE_ISAS STREQUAL host AND NOT CMAKE_CROSSCOMPILING)
    if(NOT DEFINED SLUICE_HOST_ISA)
      set(source "${PROJECT_BINARY_DIR}/host_isa.cpp")
      file(WRITE "${source}" "#include \"kernels/host_isa.cpp\"\n#include <cstdio>\n"
        "int main() { std::puts(sluice::kernels::name_of(sluice::kernels::host_isa())); }\n")
      try_run(runs compiles "${PROJECT_BINARY_DIR}/host_isa" "${source}"
        CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}"
        COMPILE_DEFINITIONS -DSLUICE_HAVE_X86_64_V3 -DSLUICE_HAVE_X86_64_V4
        RUN_OUTPUT_VARIABLE isa)
      string(STRIP "${isa}" isa)
      if(NOT compiles OR NOT runs EQUAL 0)
        message(FATAL_ERROR "sluice: SLUICE_ISAS=host: what asks this machine for its instruction "
          "set does not run (SLUICE_ISAS=all compiles for all)")
      endif()
      set(SLUICE_HOST_ISA "${isa}" CACHE INTERNAL "The instruction set of this machine")
    endif()
    string(REPLACE "-" "_" isas "${SLUICE_HOST_ISA}")
    list(REMOVE_ITEM isas baseline)
  else()
    set(isas x86_64_v3 x86_64_v4)
  endif()
  set(${variable} baseline ${isas} PARENT_SCOPE)
endfunction()
