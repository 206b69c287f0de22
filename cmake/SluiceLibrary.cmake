# The library: every folder of the house in one target. A backend that is not there is replaced by
# its stub (kernels/llvm/no_llvm.cpp, kernels/library/no_onednn.cpp).

set(folders runtime fusion kernels engine frontend)
list(TRANSFORM folders APPEND "/*.cpp")
file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" ${folders})

if(SLUICE_HAVE_LLVM)
  list(FILTER sources EXCLUDE REGEX "^kernels/llvm/no_llvm\\.cpp$")
else()
  list(FILTER sources EXCLUDE REGEX "^kernels/llvm/")
  list(APPEND sources kernels/llvm/no_llvm.cpp)
endif()
if(SLUICE_HAVE_ONEDNN)
  list(FILTER sources EXCLUDE REGEX "^kernels/library/no_onednn\\.cpp$")
else()
  list(FILTER sources EXCLUDE REGEX "^kernels/library/onednn_.*\\.cpp$")
endif()

list(FILTER sources EXCLUDE REGEX "^kernels/gpu/generic/print_generic\\.cpp$")
if(SLUICE_CUDA STREQUAL "OFF")
  list(FILTER sources EXCLUDE REGEX "^(runtime/cuda|kernels/cuda|kernels/gpu)/")
  list(APPEND sources runtime/cuda/no_cuda.cpp kernels/cuda/no_cuda.cpp)
else()
  list(FILTER sources EXCLUDE REGEX "/no_cuda\\.cpp$")
endif()

# The generic kernel's text, for the library and for the tool that prints it while it is built.
if(NOT SLUICE_CUDA STREQUAL "OFF")
  set(text
    kernels/gpu/emit/expression.cpp kernels/gpu/emit/functions.cpp kernels/gpu/emit/text_value.cpp
    kernels/gpu/generic/generic_source.cpp kernels/gpu/prelude/prelude.cpp)
  list(REMOVE_ITEM sources ${text})
  add_library(sluice_gpu_text OBJECT ${text})
  sluice_compile_options(sluice_gpu_text)
  set_target_properties(sluice_gpu_text PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(sluice_gpu_text PRIVATE ${SLUICE_INCLUDES})
  target_link_libraries(sluice_gpu_text PRIVATE ${SLUICE_ABSL})
  list(APPEND sources $<TARGET_OBJECTS:sluice_gpu_text>)
endif()
if(SLUICE_HAVE_NVCC)
  sluice_generic_image(image)
  list(APPEND sources "${image}")
endif()

# Compiled below, for each instruction set.
set(loops ${sources})
list(FILTER loops INCLUDE REGEX "^kernels/interp/loops_")
list(REMOVE_ITEM loops kernels/interp/loops_select.cpp)
list(REMOVE_ITEM sources ${loops})

# Traces, for the library and for tools that need nothing else of it.
file(GLOB trace_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/trace/*.cpp")
sluice_trace_page(page)
add_library(sluice_trace OBJECT ${trace_sources} "${page}")
sluice_compile_options(sluice_trace)
set_target_properties(sluice_trace PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(sluice_trace PRIVATE ${SLUICE_INCLUDES})
target_link_libraries(sluice_trace PRIVATE ${SLUICE_ABSL})

add_library(sluice ${sources} $<TARGET_OBJECTS:sluice_trace>)
add_library(sluice::sluice ALIAS sluice)
sluice_compile_options(sluice)
# Calls within the library go straight to their function.
target_compile_options(sluice PRIVATE -fno-semantic-interposition)
target_link_options(sluice PRIVATE -Wl,-Bsymbolic-functions)
set_target_properties(sluice PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} INSTALL_RPATH_USE_LINK_PATH ON)
target_include_directories(sluice PRIVATE "${PROJECT_SOURCE_DIR}" PUBLIC
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")

target_link_libraries(sluice PUBLIC ${SLUICE_ABSL} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
foreach(feature LLVM NVCC ONEDNN OPENMP SLEEF)
  target_compile_definitions(sluice PRIVATE SLUICE_HAVE_${feature}=${SLUICE_HAVE_${feature}})
endforeach()
foreach(feature LLVM ONEDNN SLEEF)
  if(SLUICE_HAVE_${feature})
    target_include_directories(sluice SYSTEM PRIVATE "${${feature}_INCLUDE_DIR}")
    target_link_libraries(sluice PRIVATE "${${feature}_LIBRARY}")
  endif()
endforeach()
if(SLUICE_HAVE_OPENMP)
  target_link_libraries(sluice PRIVATE OpenMP::OpenMP_CXX)
endif()

# The interpreter's loops, once for each instruction set; loops_select.cpp picks a set at run time.
# -O3 because GCC's -O2 vectorises little. Most are so short that one which lies across two cache
# lines takes up to three times as long, and that its counter takes as long as its work (measured on
# Zen 3): they are aligned, and the shortest unrolled.
set(unrolled -funroll-loops --param=max-unrolled-insns=40 --param=max-unroll-times=4)
set(isas baseline)
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-march=x86-64-v4 SLUICE_COMPILES_X86_64_V4)
# A sanitizer's build makes do with one set: compiling them all under it takes minutes.
if(SLUICE_COMPILES_X86_64_V4 AND NOT SLUICE_SANITIZE)
  list(APPEND isas x86_64_v3 x86_64_v4)
  target_compile_definitions(sluice PRIVATE SLUICE_HAVE_ISA_LOOPS)
endif()
foreach(isa ${isas})
  set(objects sluice_loops_${isa})
  add_library(${objects} OBJECT ${loops})
  sluice_compile_options(${objects})
  target_include_directories(${objects} PRIVATE ${SLUICE_INCLUDES})
  target_compile_definitions(${objects} PRIVATE SLUICE_ISA_NAMESPACE=${isa})
  if(NOT isa STREQUAL baseline)
    string(REPLACE "_" "-" march ${isa})
    target_compile_options(${objects} PRIVATE -march=${march})
  endif()
  if(isa STREQUAL x86_64_v4)
    target_compile_options(${objects} PRIVATE -mprefer-vector-width=512)
  endif()
  target_compile_options(${objects} PRIVATE
                         $<$<NOT:$<CONFIG:Debug>>:-O3;-falign-loops=64>
                         $<$<CXX_COMPILER_ID:GNU>:${unrolled}>)
  target_sources(sluice PRIVATE $<TARGET_OBJECTS:${objects}>)
endforeach()
