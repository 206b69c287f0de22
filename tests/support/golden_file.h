// Files of golden values, which other programs computed: tests/engine/golden.
#ifndef SLUICE_TESTS_SUPPORT_GOLDEN_FILE_H_
#define SLUICE_TESTS_SUPPORT_GOLDEN_FILE_H_

#include <cstdlib>
#include <string>

namespace sluice::test {

// In the folder $SLUICE_GOLDEN, for a machine that has the programs without the sources.
inline std::string golden_file(const std::string& name) {
  const char* folder = std::getenv("SLUICE_GOLDEN");
  return std::string(folder != nullptr ? folder : SLUICE_TEST_GOLDEN) + "/" + name;
}

}  // namespace sluice::test

#endif  // SLUICE_TESTS_SUPPORT_GOLDEN_FILE_H_
