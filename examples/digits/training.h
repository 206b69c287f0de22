// One training run and what it measured.
#ifndef SLUICE_EXAMPLES_DIGITS_TRAINING_H_
#define SLUICE_EXAMPLES_DIGITS_TRAINING_H_

#include <sluice/sluice.h>

#include <cstdint>
#include <string>
#include <vector>

#include "dataset.h"
#include "options.h"

namespace digits {

// "perceptron" or "convolutional": its layers with new weights.
sluice::nn::Sequential make_network(const std::string& name, const Options& options);

struct Run {
  std::vector<float> losses;         // of every step
  std::vector<double> accuracies;    // on the test images, after every epoch
  std::vector<int64_t> predictions;  // for each test image, after the last epoch
  int64_t steps_an_epoch = 0;
  double steps_per_second = 0;  // of the median epoch, without the first, which compiles
  sluice::Stats all;            // the counters over the whole run, evaluation included
  sluice::Stats last_epoch;     // the counters over the training steps of the last epoch
};

// The first `epochs` of those in the options, from scratch. The result depends on `options` alone,
// bit for bit. Throws UsageError if there are fewer images than a batch holds.
Run train(const std::string& network, const Options& options, const Digits& digits,
          const std::string& title, int64_t epochs);

// Records some steps in a trace, and writes it.
void write_trace(const std::string& network, const Options& options, const Digits& digits);

}  // namespace digits

#endif  // SLUICE_EXAMPLES_DIGITS_TRAINING_H_
