# What an nvcc compiles. Included by SluiceCuda.cmake and by the test of it, in script mode.

# sluice_probe_nvcc(<nvcc> <folder> <variable>): the -gencode arguments for those of the
# architectures 8.0, 9.0 and 10.0 that it makes code for: CUDA 12.0 to 12.7 do not know 10.0, and
# none works with a host compiler that is too new for it. Newer devices than these get PTX, which
# their driver compiles and keeps. Empty if there are none.
function(sluice_probe_nvcc nvcc folder variable)
  set(probe "${folder}/nvcc_probe.cu")
  file(WRITE "${probe}" "extern \"C\" __global__ void probe(float* x) { *x += 1; }\n")
  set(arguments)
  set(ptx)
  foreach(architecture 80 90 100)
    set(argument -gencode "arch=compute_${architecture},code=sm_${architecture}")
    execute_process(
      COMMAND "${nvcc}" -fatbin -std=c++17 ${argument} -o "${folder}/nvcc_probe.fatbin" "${probe}"
      RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET TIMEOUT 120)
    if(result STREQUAL "0")
      list(APPEND arguments ${argument})
      if(NOT ptx)
        set(ptx -gencode "arch=compute_${architecture},code=compute_${architecture}")
      endif()
    endif()
  endforeach()
  set(${variable} ${arguments} ${ptx} PARENT_SCOPE)
endfunction()

# sluice_nvcc_version(<nvcc> <variable>): "13000" for CUDA 13.0; 0 if it does not say.
function(sluice_nvcc_version nvcc variable)
  execute_process(COMMAND "${nvcc}" --version OUTPUT_VARIABLE text ERROR_QUIET TIMEOUT 60)
  set(version 0)
  if(text MATCHES "release ([0-9]+)\\.([0-9]+)")
    math(EXPR version "1000 * ${CMAKE_MATCH_1} + 10 * ${CMAKE_MATCH_2}")
  endif()
  set(${variable} ${version} PARENT_SCOPE)
endfunction()
