# What is compiled ahead of time by compilers of several kinds: cmake -DCMAKE_FOLDER=<folder of
# SluiceNvcc.cmake> -DWORK_DIR=<folder> -DKERNEL=<source of the generic kernel> -P
# nvcc_probe_test.cmake. They are shell scripts, and those that SLUICE_TEST_NVCC names, a list with
# colons, which must also compile the generic kernel, if the build has printed it.
include("${CMAKE_FOLDER}/SluiceNvcc.cmake")
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")

# make_nvcc(<name> <release> <architectures that it refuses>): 0: all
function(make_nvcc name release refused)
  file(WRITE "${WORK_DIR}/${name}" "#!/bin/sh
case \"$*\" in
  --version) echo 'Cuda compilation tools, release ${release}, V${release}.1' ;;
  *${refused}*) echo \"ptxas fatal: Value 'sm_${refused}' is not defined\" >&2; exit 1 ;;
  *) : ;;
esac
")
  execute_process(COMMAND chmod +x "${WORK_DIR}/${name}")
endfunction()

function(expect nvcc version arguments)
  sluice_nvcc_version("${WORK_DIR}/${nvcc}" actual_version)
  sluice_probe_nvcc("${WORK_DIR}/${nvcc}" "${WORK_DIR}" actual)
  string(REPLACE ";" " " actual "${actual}")
  if(NOT actual STREQUAL arguments OR NOT actual_version EQUAL version)
    message(SEND_ERROR "${nvcc}: '${actual}' of ${actual_version}, not '${arguments}' of ${version}")
  endif()
endfunction()

set(ptx "-gencode arch=compute_80,code=compute_80")
set(old "-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90")
make_nvcc(nvcc_12_0 12.0 sm_100)
expect(nvcc_12_0 12000 "${old} ${ptx}")
make_nvcc(nvcc_12_6 12.6 sm_100)
expect(nvcc_12_6 12060 "${old} ${ptx}")
make_nvcc(nvcc_13_0 13.0 nothing)
expect(nvcc_13_0 13000 "${old} -gencode arch=compute_100,code=sm_100 ${ptx}")
# One that does not take the host's compiler, and none at all.
make_nvcc(nvcc_broken 12.0 sm_)
expect(nvcc_broken 12000 "")
expect(no_nvcc 0 "")

string(REPLACE ":" ";" real_compilers "$ENV{SLUICE_TEST_NVCC}")
foreach(nvcc ${real_compilers})
  sluice_nvcc_version("${nvcc}" version)
  sluice_probe_nvcc("${nvcc}" "${WORK_DIR}" arguments)
  set(expected "${old} ${ptx}")
  if(version GREATER_EQUAL 12080)
    set(expected "${old} -gencode arch=compute_100,code=sm_100 ${ptx}")
  endif()
  string(REPLACE ";" " " actual "${arguments}")
  if(version LESS 12000 OR NOT actual STREQUAL expected)
    message(SEND_ERROR "${nvcc} of ${version}: '${actual}', not '${expected}'")
  elseif(EXISTS "${KERNEL}")
    execute_process(COMMAND "${nvcc}" -fatbin -std=c++17 --fmad=false -w ${arguments}
      -o "${WORK_DIR}/generic_kernel.fatbin" "${KERNEL}" RESULT_VARIABLE result)
    if(NOT result STREQUAL "0")
      message(SEND_ERROR "${nvcc} does not compile ${KERNEL}: ${result}")
    endif()
  endif()
endforeach()
