// Parses the PTX that NVRTC writes.
#ifndef SLUICE_TESTS_PTX_DEVICE_PARSER_H_
#define SLUICE_TESTS_PTX_DEVICE_PARSER_H_

#include <memory>
#include <string>

#include "tests/ptx_device/program.h"

namespace sluice::ptx {

// Null and an error with its line if there is anything that the machine does not know: nothing is
// skipped silently.
std::unique_ptr<Program> parse(const std::string& text, std::string* error);

}  // namespace sluice::ptx

#endif  // SLUICE_TESTS_PTX_DEVICE_PARSER_H_
