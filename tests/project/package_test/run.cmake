# cmake -DBUILD_DIR= -DPROJECT_DIR= -DWORK_DIR= -DCONFIG= -DGENERATOR= -DCXX= [-DSTANDARD=] -P <this>
# Installs BUILD_DIR into a fresh prefix, then builds and runs a program against it, by find_package()
# and by pkg-config, and compiles it in a project that adds Sluice's sources.

set(source "${CMAKE_CURRENT_LIST_DIR}")
if(NOT STANDARD)
  set(STANDARD 20)
endif()

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "failed (${result}): ${command}\n${output}")
  endif()
endfunction()

set(prefix "${WORK_DIR}/prefix")
set(configure "${CMAKE_COMMAND}" -S "${source}" -G "${GENERATOR}"
  "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_CXX_STANDARD=${STANDARD}")
file(REMOVE_RECURSE "${WORK_DIR}")

run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${prefix}" --config "${CONFIG}")
set(build "${WORK_DIR}/found")
run(${configure} -B "${build}" "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_BUILD_TYPE=${CONFIG}")
run("${CMAKE_COMMAND}" --build "${build}" --config "${CONFIG}")
run("${build}/package_test")

find_program(pkg_config pkg-config)
file(GLOB_RECURSE pc "${prefix}/sluice.pc")
if(pkg_config AND pc)
  get_filename_component(folder "${pc}" DIRECTORY)
  set(program "${WORK_DIR}/by_pkg_config")
  run(sh -c "'${CXX}' -std=c++${STANDARD} -o '${program}' '${source}/main.cpp' \
$(PKG_CONFIG_PATH='${folder}' '${pkg_config}' --cflags --libs sluice) \
-Wl,-rpath,$(PKG_CONFIG_PATH='${folder}' '${pkg_config}' --variable=libdir sluice)")
  run("${program}")
endif()

set(build "${WORK_DIR}/added")
run(${configure} -B "${build}" "-DSLUICE_SOURCE=${PROJECT_DIR}" -DSLUICE_CUDA=OFF)
run("${CMAKE_COMMAND}" --build "${build}" --target package_object)
