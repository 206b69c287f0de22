# The library: every folder of the house in one target. A backend that is not there is replaced by
# its stub (kernels/compiled/no_llvm.cpp). What needs LLVM is a library of its own, if LLVM can be
# linked into it, which a shared sluice loads when it compiles (kernels/compiled/generator.h).

set(folders runtime fusion kernels engine frontend)
list(TRANSFORM folders APPEND "/*.cpp")
file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" ${folders})

set(generator_sources ${sources})
list(FILTER generator_sources INCLUDE REGEX "^kernels/llvm/")
if(NOT SLUICE_HAVE_LLVM)
  list(FILTER sources EXCLUDE REGEX "^kernels/(llvm|compiled)/")
  list(APPEND sources kernels/compiled/no_llvm.cpp)
else()
  list(FILTER sources EXCLUDE REGEX "/no_llvm\\.cpp$")
  include(SluiceFingerprint)
  list(APPEND sources "${fingerprint}")
  if(SLUICE_HAVE_LLVM_PLUGIN)
    list(FILTER sources EXCLUDE REGEX "^kernels/(llvm/|compiled/linked_generator\\.cpp$)")
  else()
    list(FILTER sources EXCLUDE REGEX "^kernels/(llvm/keep_statics|compiled/plugin)\\.cpp$")
  endif()
endif()

if(SLUICE_HAVE_ZLIB)
  list(FILTER sources EXCLUDE REGEX "/no_inflate\\.cpp$")
else()
  list(FILTER sources EXCLUDE REGEX "/inflate\\.cpp$")
endif()

# Libraries that are loaded when they are first used, if sluice is shared.
foreach(optional HIGHWAY ONEDNN)
  if(SLUICE_SHARED OR NOT SLUICE_HAVE_${optional})
    string(TOLOWER "${optional}" name)
    list(FILTER sources EXCLUDE REGEX "^kernels/library/[a-z]+/${name}\\.cpp$")
  endif()
endforeach()

list(FILTER sources EXCLUDE REGEX "^kernels/gpu/generic/print_generic\\.cpp$")
if(SLUICE_CUDA STREQUAL "OFF")
  list(FILTER sources EXCLUDE REGEX "^(runtime/cuda|kernels/cuda|kernels/gpu)/")
  list(APPEND sources runtime/cuda/no_cuda.cpp kernels/cuda/no_cuda.cpp)
else()
  list(FILTER sources EXCLUDE REGEX "/no_cuda\\.cpp$")
endif()

# Compiled below, for each instruction set.
set(loops ${sources})
list(FILTER loops INCLUDE REGEX "^kernels/((interp|math)/loops|library/(loops|products))/")
list(FILTER loops EXCLUDE REGEX "_select\\.cpp$")
list(REMOVE_ITEM sources ${loops})
list(FILTER loops EXCLUDE REGEX "_(amx|bfloat16)\\.cpp$")

set(tbb "")
if(SLUICE_HAVE_TBB)
  set(tbb TBB::tbb)
endif()
# Tests and some benchmarks link to internals. These are then exported as well, but protected: they
# are told from what is public (tests/project/check_exports.py), and calls of them cost as little.
set(default OFF)
if(SLUICE_HAVE_TESTS OR SLUICE_HAVE_BENCH)
  set(default ON)
endif()
option(SLUICE_EXPORT_INTERNALS "Export what is not public too" ${default})
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(SLUICE_EXPORT_INTERNALS)
  set(CMAKE_CXX_VISIBILITY_PRESET protected)
  set(CMAKE_VISIBILITY_INLINES_HIDDEN OFF)
endif()

sluice_precompiled_headers(sluice_library_headers ${SLUICE_COMMON_HEADERS} LIBRARIES ${SLUICE_ABSL})

# sluice_library_part(<target>): how the library's sources are compiled.
function(sluice_library_part target)
  sluice_compile_options(${target})
  sluice_reuse_headers(${target} sluice_library_headers)
  sluice_unity(${target})
  # Calls within the library go straight to their function.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition)
  target_include_directories(${target} PRIVATE ${SLUICE_INCLUDES})
  target_include_directories(${target} SYSTEM PRIVATE ${SLUICE_JSON_INCLUDES})
  foreach(feature LLVM NVCC TBB HIGHWAY ONEDNN)
    target_compile_definitions(${target} PRIVATE SLUICE_HAVE_${feature}=${SLUICE_HAVE_${feature}})
  endforeach()
  if(SLUICE_HAVE_LLVM)
    target_include_directories(${target} SYSTEM PRIVATE "${LLVM_INCLUDE_DIR}")
  endif()
  target_link_libraries(${target} PRIVATE ${SLUICE_ABSL} ${tbb})
endfunction()

# ThreadSanitizer cannot follow tasks through oneTBB.
if(SLUICE_SANITIZE MATCHES "thread")
  set_source_files_properties(runtime/cpu/workers.cpp PROPERTIES
    COMPILE_OPTIONS -fno-sanitize=thread SKIP_PRECOMPILE_HEADERS ON)
endif()

# Traces, for the library and for tools that need nothing else of it.
file(GLOB trace_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/trace/*.cpp")
sluice_trace_page(page)
add_library(sluice_trace OBJECT ${trace_sources} "${page}")
sluice_library_part(sluice_trace)

# What the generic kernel's source is made of is compiled first: the tool that prints it for nvcc
# takes it from here (cmake/SluiceCuda.cmake).
set(lower_sources ${sources})
list(FILTER lower_sources INCLUDE REGEX "^(runtime|fusion|kernels/gpu)/")
list(REMOVE_ITEM sources ${lower_sources})
add_library(sluice_lower OBJECT ${lower_sources})
sluice_library_part(sluice_lower)

set(kind STATIC)
if(SLUICE_SHARED)
  set(kind SHARED)
endif()
add_library(sluice ${kind} ${sources} $<TARGET_OBJECTS:sluice_lower>
  $<TARGET_OBJECTS:sluice_trace>)
add_library(sluice::sluice ALIAS sluice)
sluice_library_part(sluice)
if(SLUICE_HAVE_NVCC)
  sluice_generic_image(sluice_generic_image)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/kernels/cuda/compile/generic_image.cpp"
    PROPERTIES COMPILE_DEFINITIONS "SLUICE_NVCC_VERSION=${SLUICE_NVCC_VERSION}")
  target_sources(sluice PRIVATE $<TARGET_OBJECTS:sluice_generic_image>)
endif()
# Versions of one minor number are compatible (SluiceInstall.cmake says the same to find_package).
set_target_properties(sluice PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} INSTALL_RPATH_USE_LINK_PATH ON)
if(SLUICE_EXPORT_INTERNALS)
  target_link_options(sluice PRIVATE -Wl,-Bsymbolic-functions)
else()
  # What libraries' templates leave, which is not hidden.
  set(exports "${PROJECT_SOURCE_DIR}/cmake/exports.map")
  target_link_options(sluice PRIVATE "-Wl,--version-script=${exports}")
  set_target_properties(sluice PROPERTIES LINK_DEPENDS "${exports}")
endif()
target_include_directories(sluice PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")

target_link_libraries(sluice PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
# sluice_plugin(<name> <sources>): a library beside sluice, which it loads when it needs it. Versions that are not compatible lie side by side.
function(sluice_plugin name)
  set(target sluice_${name})
  add_library(${target} MODULE ${ARGN})
  sluice_library_part(${target})
  set(exports "${PROJECT_SOURCE_DIR}/cmake/plugin_exports.map")
  target_link_options(${target} PRIVATE "-Wl,--version-script=${exports}" -Wl,-z,nodelete)
  if(NOT SLUICE_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
  set(file "libsluice_${name}.so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
  set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME "${file}"
    INSTALL_RPATH_USE_LINK_PATH ON LINK_DEPENDS "${exports}")
  string(TOUPPER "${name}" upper)
  set_property(SOURCE kernels/compiled/plugin.cpp kernels/library/sort/find_vector_sorts.cpp
    kernels/library/convolution/find_convolutions.cpp
    DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY COMPILE_DEFINITIONS
    "SLUICE_${upper}_PLUGIN_NAME=\"${file}\"")
  add_dependencies(sluice ${target})
endfunction()

if(SLUICE_HAVE_LLVM AND NOT SLUICE_HAVE_LLVM_PLUGIN)
  set_source_files_properties("${PROJECT_SOURCE_DIR}/kernels/compiled/compiler.cpp" PROPERTIES
    COMPILE_DEFINITIONS "SLUICE_LLVM_LIBRARY=\"${LLVM_LIBRARY}\"")
  target_link_libraries(sluice PRIVATE "${LLVM_LIBRARY}")
elseif(SLUICE_HAVE_LLVM)
  # What little it shares with sluice, the language of programs, has no state: it has a copy.
  file(GLOB ir_sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" fusion/ir/*.cpp)
  sluice_plugin(llvm ${generator_sources} ${ir_sources} runtime/dtype.cpp "${fingerprint}")
  target_link_libraries(sluice_llvm PRIVATE -Wl,--as-needed "${LLVM_ARCHIVES}")
  target_link_options(sluice_llvm PRIVATE -Wl,--gc-sections -Wl,--wrap=__cxa_atexit)
  add_dependencies(sluice_llvm sluice_fingerprint)
endif()
if(SLUICE_HAVE_ZLIB)
  target_include_directories(sluice SYSTEM PRIVATE "${SLUICE_ZLIB_INCLUDE_DIR}")
  target_link_libraries(sluice PRIVATE "${SLUICE_ZLIB_LIBRARY}")
endif()
# sluice_optional(<name> <source> INCLUDE <folder> LIBRARIES <files>): what needs a library that only
# some programs have a use for: a plugin, or a part of a static sluice.
function(sluice_optional name source)
  cmake_parse_arguments(arg "" "INCLUDE" "LIBRARIES" ${ARGN})
  set(target sluice)
  if(SLUICE_SHARED)
    set(target sluice_${name})
    sluice_plugin(${name} ${source})
  endif()
  target_include_directories(${target} SYSTEM PRIVATE "${arg_INCLUDE}")
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES})
endfunction()
if(SLUICE_HAVE_HIGHWAY)
  sluice_optional(highway kernels/library/sort/highway.cpp INCLUDE "${SLUICE_HIGHWAY_INCLUDE_DIR}"
    LIBRARIES "${SLUICE_HIGHWAY_LIBRARY}" "${SLUICE_HIGHWAY_BASE_LIBRARY}")
endif()
if(SLUICE_HAVE_ONEDNN)
  sluice_optional(onednn kernels/library/convolution/onednn.cpp
    INCLUDE "${SLUICE_ONEDNN_INCLUDE_DIR}" LIBRARIES "${SLUICE_ONEDNN_LIBRARY}")
endif()

# The loops of the interpreter, of matrix products and of rare operands, once for each instruction set; *_select.cpp
# pick a set at run time. -O3 because GCC's -O2 vectorises little. Most are so short that one which lies across two cache
# lines takes up to three times as long, and that its counter takes as long as its work (measured on
# Zen 3): they are aligned, and the shortest unrolled.
set(unrolled -funroll-loops --param=max-unrolled-insns=40 --param=max-unroll-times=4)
# An element of a product is one sum: nothing depends on its products being rounded.
file(GLOB product_loops RELATIVE "${PROJECT_SOURCE_DIR}" kernels/library/products/*.cpp)
set_source_files_properties(${product_loops} PROPERTIES COMPILE_OPTIONS
  "-ffp-contract=fast;$<$<CXX_COMPILER_ID:GNU>:-fno-tree-loop-distribute-patterns>")
sluice_instruction_sets(isas)
foreach(isa ${isas})
  if(NOT isa STREQUAL baseline)
    string(TOUPPER ${isa} name)
    target_compile_definitions(sluice PRIVATE SLUICE_HAVE_${name})
  endif()
endforeach()
if("x86_64_v4" IN_LIST isas)
  set(bfloat16_loops kernels/library/products/products_amx.cpp
      kernels/library/products/products_bfloat16.cpp)
  set(flags -mamx-tile -mamx-bf16 -mavx512bf16)
  check_cxx_compiler_flag("${flags}" SLUICE_COMPILES_BFLOAT16)
  if(SLUICE_COMPILES_BFLOAT16)
    set_property(SOURCE kernels/library/products/products_select.cpp APPEND PROPERTY
      COMPILE_DEFINITIONS SLUICE_HAVE_BFLOAT16_LOOPS)
    set_property(SOURCE ${bfloat16_loops} APPEND PROPERTY COMPILE_OPTIONS ${flags})
  endif()
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
    if(SLUICE_COMPILES_BFLOAT16)
      target_sources(${objects} PRIVATE ${bfloat16_loops})
    endif()
  endif()
  target_compile_options(${objects} PRIVATE
                         $<$<NOT:$<CONFIG:Debug>>:-O3;-falign-loops=64>
                         $<$<CXX_COMPILER_ID:GNU>:${unrolled}>
                         $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>)
  target_sources(sluice PRIVATE $<TARGET_OBJECTS:${objects}>)
endforeach()
