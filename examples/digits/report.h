// The report of the runs, as text and as JSON.
#ifndef SLUICE_EXAMPLES_DIGITS_REPORT_H_
#define SLUICE_EXAMPLES_DIGITS_REPORT_H_

#include <ostream>
#include <string>
#include <vector>

#include "options.h"
#include "training.h"

namespace digits {

// The same training under another engine setting.
struct Comparison {
  std::string name;     // "fusion off"
  std::string setting;  // "SLUICE_FUSE=off"
  Run run;
  bool same_losses;  // all losses equal the main run's, bit for bit
};

// True if both have the same losses, bit for bit.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

// A 64-bit digest of the losses' bits, for comparing runs.
uint64_t digest(const std::vector<float>& losses);

std::string summary(const Options& options, const Run& run, int64_t train_images,
                    int64_t test_images);
std::string comparison_table(const Run& run, const std::vector<Comparison>& comparisons);

void write_json(std::ostream& out, const Options& options, const Run& run,
                const std::vector<Comparison>& comparisons);

}  // namespace digits

#endif  // SLUICE_EXAMPLES_DIGITS_REPORT_H_
