// One training run and what it measured.
#ifndef SLUICE_EXAMPLES_DIGITS_TRAINING_H_
#define SLUICE_EXAMPLES_DIGITS_TRAINING_H_

#include <sluice/sluice.h>

#include <cstdint>
#include <vector>

#include "dataset.h"
#include "options.h"

namespace digits {

// The progress of a run, for display.
struct Progress {
  int64_t epoch, epochs;    // epoch counts from 1
  int64_t step, steps;      // of this epoch
  double loss;              // mean of the losses read so far in this epoch; NaN before the first
  double accuracy;          // on the test images after the last whole epoch; NaN before that
  double steps_per_second;  // in this epoch so far; when it is done, as in Run
  bool epoch_done;
};

class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void on_progress(const Progress& progress) = 0;
};

struct Run {
  std::vector<float> losses;         // of every step
  std::vector<double> accuracies;    // on the test images, after every epoch
  std::vector<int64_t> predictions;  // for each test image, after the last epoch
  int64_t steps_an_epoch = 0;
  double steps_per_second = 0;  // of the median epoch, without the first, which compiles
  sluice::Stats all;            // the counters over the whole run, evaluation included
  sluice::Stats last_epoch;     // the counters over the training steps of the last epoch
};

// Trains from scratch. The result depends on `options` alone, bit for bit. Throws UsageError if
// there are fewer images than a batch holds.
Run train(const Options& options, const DeviceSet& train_set, const DeviceSet& test_set,
          Watcher* watcher);

}  // namespace digits

#endif  // SLUICE_EXAMPLES_DIGITS_TRAINING_H_
