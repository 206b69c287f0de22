# The page that shows a trace: the files of tools/trace/page/ and dagre as one C++ file, for
# trace/html.cpp. They go where page.html names them, so that their order is written down there
# alone.
#
# This file is also the script that makes it:
# cmake -DSOURCE_DIR=<project> -DOUTPUT=<file> -P <this>

if(CMAKE_SCRIPT_MODE_FILE)
  # Replaces what matches `element` (its group is a file's name) by the file's text between two
  # tags.
  macro(inline_files element opening closing)
    string(REGEX MATCHALL "${element}" references "${page}")
    foreach(reference IN LISTS references)
      string(REGEX REPLACE "${element}" "\\1" name "${reference}")
      find_file(path "${name}" PATHS "${SOURCE_DIR}/tools/trace/page" "${SOURCE_DIR}/third_party/dagre"
        NO_DEFAULT_PATH NO_CACHE)
      if(NOT path)
        message(FATAL_ERROR "tools/trace/page/page.html: there is no ${name}")
      endif()
      file(READ "${path}" text)
      string(FIND "${text}" "${closing}" end)
      if(NOT end EQUAL -1)
        message(FATAL_ERROR "${path}: has a ${closing}")
      endif()
      string(REPLACE "${reference}" "${opening}\n${text}${closing}" page "${page}")
      unset(path)
    endforeach()
  endmacro()

  file(READ "${SOURCE_DIR}/tools/trace/page/page.html" page)
  inline_files("<link rel=\"stylesheet\" href=\"([^\"]+)\">" "<style>" "</style>")
  inline_files("<script src=\"([^\"]+)\"></script>" "<script>" "</script>")

  set(place "<!--TRACE-->")
  string(FIND "${page}" "${place}" begin)
  string(LENGTH "${place}" length)
  math(EXPR end "${begin} + ${length}")
  string(SUBSTRING "${page}" 0 ${begin} before)
  string(SUBSTRING "${page}" ${end} -1 after)
  file(WRITE "${OUTPUT}" "// Made by cmake/SluicePage.cmake of the files in tools/trace/page/.
#include <string_view>

namespace sluice::trace {

extern const std::string_view kPageBeforeTrace, kPageAfterTrace;
const std::string_view kPageBeforeTrace = R\"~~~(${before})~~~\";
const std::string_view kPageAfterTrace = R\"~~~(${after})~~~\";

}  // namespace sluice::trace
")
  return()
endif()

# sluice_trace_page(<variable>) sets it to the C++ file, which is made when the page has changed.
function(sluice_trace_page variable)
  file(GLOB files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/trace/page/*"
    "${PROJECT_SOURCE_DIR}/third_party/dagre/*.js")
  set(script "${CMAKE_CURRENT_FUNCTION_LIST_FILE}")
  set(output "${PROJECT_BINARY_DIR}/trace_page.cpp")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}" "-DOUTPUT=${output}"
      -P "${script}"
    DEPENDS ${files} "${script}" COMMENT "Making trace_page.cpp" VERBATIM)
  set(${variable} "${output}" PARENT_SCOPE)
endfunction()
