# The fingerprint of what compiled code depends on (kernels/compiled/generator.h): of the emitter, of
# the programs that it is given, and of what compiled code calls and reads.
#
# Included, it sets `fingerprint` to a source that a build writes; run as a script (-DROOT= -DOUTPUT=),
# it is the build's command.
set(patterns kernels/llvm/*.cpp kernels/llvm/*.h kernels/compiled/*.h kernels/math/* kernels/*.h
  fusion/ir/* include/sluice/dtype.h)

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(files ${patterns})
  list(TRANSFORM files PREPEND "${PROJECT_SOURCE_DIR}/")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${files})
  set(fingerprint "${PROJECT_BINARY_DIR}/fingerprint.cpp")
  set(llvm "${LLVM_ARCHIVES}")
  list(FILTER llvm INCLUDE REGEX "libLLVM")
  set(script "${CMAKE_CURRENT_LIST_DIR}/SluiceFingerprint.cmake")
  add_custom_command(OUTPUT "${fingerprint}" DEPENDS ${files} ${llvm} "${script}" VERBATIM
    COMMAND "${CMAKE_COMMAND}" "-DROOT=${PROJECT_SOURCE_DIR}" "-DOUTPUT=${fingerprint}" "-DLLVM=${llvm}"
      -P "${script}"
    COMMENT "Generating fingerprint.cpp")
  add_custom_target(sluice_fingerprint DEPENDS "${fingerprint}")
  return()
endif()

set(files ${patterns})
list(TRANSFORM files PREPEND "${ROOT}/")
file(GLOB_RECURSE files RELATIVE "${ROOT}" ${files})
set(hashes "")
foreach(name IN LISTS files)
  file(SHA256 "${ROOT}/${name}" hash)
  string(APPEND hashes "${name} ${hash}\n")
endforeach()
foreach(archive IN LISTS LLVM)
  file(SIZE "${archive}" size)
  file(TIMESTAMP "${archive}" time UTC)
  string(APPEND hashes "${archive} ${size} ${time}\n")
endforeach()
string(SHA256 hash "${hashes}")
file(WRITE "${OUTPUT}" "#include \"kernels/compiled/generator.h\"
#include \"llvm/Config/llvm-config.h\"

const char* sluice::kernels::fingerprint() { return \"${hash} LLVM \" LLVM_VERSION_STRING; }
")
