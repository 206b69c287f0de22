// The command line.
#ifndef SLUICE_EXAMPLES_DIGITS_OPTIONS_H_
#define SLUICE_EXAMPLES_DIGITS_OPTIONS_H_

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace digits {

// An error that the user can correct: main() prints one line and exits with 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  std::vector<std::string> networks = {"perceptron", "convolutional"};
  int64_t epochs = 8;
  int64_t batch = 32;
  std::vector<int64_t> hidden = {512, 256};  // of the perceptron
  uint64_t seed = 1;
  double learning_rate = 2e-3;
  bool quiet = false;
  bool compare = true;
  bool help = false;
  std::string data = DIGITS_DATA_PATH;
  std::string json;   // empty: none
  std::string trace;  // empty: none
};

// Throws UsageError.
Options parse_options(int argc, char** argv);

std::string usage();

}  // namespace digits

#endif  // SLUICE_EXAMPLES_DIGITS_OPTIONS_H_
