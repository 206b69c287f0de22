// Pictures made of characters.
#ifndef SLUICE_EXAMPLES_DIGITS_PICTURE_H_
#define SLUICE_EXAMPLES_DIGITS_PICTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "dataset.h"
#include "terminal.h"

namespace digits {

// The images that were taken for another digit, side by side, each under what it was taken for and
// what it is. Shades of grey where the terminal has them, else blocks of four densities.
std::string mistakes(const ImageSet& images, const std::vector<int64_t>& predictions,
                     const Terminal& terminal);

// Rows: what a digit is. Columns: what it was taken for.
std::string confusion_matrix(const ImageSet& images, const std::vector<int64_t>& predictions);

}  // namespace digits

#endif  // SLUICE_EXAMPLES_DIGITS_PICTURE_H_
