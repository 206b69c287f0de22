// The report of the runs, as text and as JSON.
#ifndef SLUICE_EXAMPLES_DIGITS_REPORT_H_
#define SLUICE_EXAMPLES_DIGITS_REPORT_H_

#include <ostream>
#include <string>
#include <vector>

#include "options.h"
#include "training.h"

namespace digits {

// The first epoch again, under another engine setting.
struct Comparison {
  std::string name;     // "fusion off"
  std::string setting;  // "SLUICE_FUSE=off"
  Run run;
  bool same_losses;  // as the main run's first, bit for bit
};

struct Report {
  std::string network;
  Run run;
  std::vector<Comparison> comparisons;
};

// True if the first of `all` are `some`, bit for bit.
bool begins_with(const std::vector<float>& all, const std::vector<float>& some);

std::string summary(const std::string& network, const Options& options, const Run& run,
                    const Digits& digits);
std::string comparison_table(const Run& run, const std::vector<Comparison>& comparisons);

void write_json(std::ostream& out, const Options& options, const std::vector<Report>& reports);

}  // namespace digits

#endif  // SLUICE_EXAMPLES_DIGITS_REPORT_H_
