# The C++ peers of bench/scoreboard: the target scoreboard_peers builds those found on the system or
# where peers/install puts them.
set(peers_dir "${PROJECT_SOURCE_DIR}/build/peers")
add_custom_target(scoreboard_peers)

# scoreboard_peer(<name> INCLUDE <folders> [LIBRARIES <libraries>] [OPTIONS <compile options>])
function(scoreboard_peer name)
  cmake_parse_arguments(arg "" "" "INCLUDE;LIBRARIES;OPTIONS" ${ARGN})
  set(target "scoreboard_${name}")
  add_executable(${target} EXCLUDE_FROM_ALL "peers/${name}.cpp")
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(${target} PRIVATE -Wall -Wextra ${arg_OPTIONS})
  target_include_directories(${target} PRIVATE ${SLUICE_INCLUDES})
  target_include_directories(${target} SYSTEM PRIVATE ${arg_INCLUDE})
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES})
  add_dependencies(scoreboard_peers ${target})
endfunction()

find_path(SCOREBOARD_EIGEN unsupported/Eigen/SpecialFunctions
  PATHS "${peers_dir}/eigen/usr/include" PATH_SUFFIXES eigen3)
if(SCOREBOARD_EIGEN AND OpenMP_CXX_FOUND)
  scoreboard_peer(eigen INCLUDE "${SCOREBOARD_EIGEN}" LIBRARIES OpenMP::OpenMP_CXX
    OPTIONS -O3 -march=native -Wno-maybe-uninitialized)  # in GCC 12's own headers
endif()

if(ONEDNN_LIBRARY)
  scoreboard_peer(onednn INCLUDE "${ONEDNN_INCLUDE_DIR}" LIBRARIES "${ONEDNN_LIBRARY}")
endif()

# In a Python package, or standalone.
file(GLOB torch_dirs LIST_DIRECTORIES true
  "${peers_dir}/venv/lib/python3*/site-packages/torch" "${peers_dir}/libtorch/torch")
if(SCOREBOARD_TORCH AND NOT EXISTS "${SCOREBOARD_TORCH}")  # installed in the other way since
  unset(SCOREBOARD_TORCH CACHE)
endif()
find_path(SCOREBOARD_TORCH include/ATen/ATen.h PATHS ${torch_dirs} NO_DEFAULT_PATH)
if(SCOREBOARD_TORCH)
  scoreboard_peer(libtorch
    INCLUDE "${SCOREBOARD_TORCH}/include" "${SCOREBOARD_TORCH}/include/torch/csrc/api/include"
    LIBRARIES "${SCOREBOARD_TORCH}/lib/libtorch_cpu.so" "${SCOREBOARD_TORCH}/lib/libc10.so")
endif()
mark_as_advanced(SCOREBOARD_EIGEN SCOREBOARD_TORCH)
