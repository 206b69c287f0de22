# sluice_llvm_archives(<variable>): what to link for the code generator of this machine, LLVM's archives
# and the libraries that they call. Empty where the archives are missing, or of another version than
# the headers, or do not link.
function(sluice_llvm_archives result)
  set(${result} "" PARENT_SCOPE)
  get_filename_component(prefix "${LLVM_INCLUDE_DIR}" DIRECTORY)
  find_program(SLUICE_LLVM_CONFIG NAMES llvm-config HINTS "${prefix}/bin" NO_DEFAULT_PATH)
  mark_as_advanced(SLUICE_LLVM_CONFIG)
  if(NOT SLUICE_LLVM_CONFIG)
    return()
  endif()
  foreach(what version libfiles system-libs)
    set(arguments --${what})
    if(NOT what STREQUAL "version")
      list(APPEND arguments --link-static native)
    endif()
    execute_process(COMMAND "${SLUICE_LLVM_CONFIG}" ${arguments} RESULT_VARIABLE failed
      OUTPUT_VARIABLE text ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(failed)
      return()
    endif()
    separate_arguments(text)
    set(${what} "${text}")
  endforeach()

  set(libraries "${libfiles}")
  foreach(name IN LISTS system-libs)
    string(REGEX REPLACE "^-l" "" name "${name}")
    if(IS_ABSOLUTE "${name}")
      set(library "${name}")
    else()
      # Packages of LLVM do not require every package that would have the link without a number.
      find_library(SLUICE_LLVM_NEEDS_${name} NAMES ${name} lib${name}.so.1)
      mark_as_advanced(SLUICE_LLVM_NEEDS_${name})
      set(library "${SLUICE_LLVM_NEEDS_${name}}")
    endif()
    if(EXISTS "${library}")
      list(APPEND libraries "${library}")
    endif()
  endforeach()

  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES "${LLVM_INCLUDE_DIR}")
  set(CMAKE_REQUIRED_FLAGS "-std=c++17")
  set(CMAKE_REQUIRED_LIBRARIES -Wl,--as-needed "${libraries}")
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles("
    #include \"llvm/Config/llvm-config.h\"
    #include \"llvm/Support/TargetSelect.h\"
    static_assert(__builtin_strcmp(LLVM_VERSION_STRING, \"${version}\") == 0);
    int main() { return llvm::InitializeNativeTarget() || llvm::InitializeNativeTargetAsmPrinter(); }
    " SLUICE_LLVM_ARCHIVES_LINK)
  if(SLUICE_LLVM_ARCHIVES_LINK)
    set(${result} "${libraries}" PARENT_SCOPE)
  endif()
endfunction()
