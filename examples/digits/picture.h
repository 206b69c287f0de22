// Pictures made of characters.
#ifndef SLUICE_EXAMPLES_DIGITS_PICTURE_H_
#define SLUICE_EXAMPLES_DIGITS_PICTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "dataset.h"

namespace digits {

// What stdout can show.
struct Terminal {
  bool colour = false;  // 256 colours, and NO_COLOR is not set
  int columns = 100;
};
Terminal stdout_terminal();

// The misclassified images side by side, each under its predicted and its true digit. In shades of
// grey if the terminal has them, else in blocks of four densities.
std::string mistakes(const HostImages& images, const std::vector<int64_t>& predictions,
                     const Terminal& terminal);

// Rows: the true digit. Columns: the predicted one.
std::string confusion_matrix(const HostImages& images, const std::vector<int64_t>& predictions);

}  // namespace digits

#endif  // SLUICE_EXAMPLES_DIGITS_PICTURE_H_
