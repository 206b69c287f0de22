# Runs ${PROGRAM} with what it cannot take: each time one line on stderr, nothing on stdout, exit code 2.
function(expect_refusal)
  execute_process(COMMAND ${PROGRAM} ${ARGN}
    RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE error)
  if(NOT code EQUAL 2)
    message(FATAL_ERROR "${ARGN}: exit code ${code}")
  endif()
  if(NOT error MATCHES "^[^\n]+\n$" OR NOT output STREQUAL "")
    message(FATAL_ERROR "${ARGN}: said\n${output}${error}")
  endif()
endfunction()

file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/damaged.csv" "1,2,three\n")
expect_refusal(--no-such-flag)
expect_refusal(--epochs)
expect_refusal(--epochs many)
expect_refusal(--batch 0)
expect_refusal(--hidden 12,,4)
expect_refusal(--data "${CMAKE_CURRENT_BINARY_DIR}/no-such-file.csv")
expect_refusal(--data "${CMAKE_CURRENT_BINARY_DIR}/damaged.csv")

# A device that no machine has.
set(ENV{SLUICE_DEVICE} cuda:99)
expect_refusal()
