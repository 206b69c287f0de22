#include "training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <span>

#include "adam.h"
#include "counters.h"
#include "network.h"

namespace digits {
namespace {

namespace sl = sluice;
using Clock = std::chrono::steady_clock;

// How many steps the host runs ahead of the loss it reads. A read waits for its own batch only, so
// later steps keep the device busy.
constexpr size_t kStepsAhead = 4;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Fisher-Yates. std::shuffle differs between standard libraries.
void shuffle(std::vector<int64_t>& order, std::mt19937_64& random) {
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Trainer {
 public:
  Trainer(const DeviceSet& images, const std::vector<int64_t>& widths)
      : images_(images), network_(widths), adam_(network_.layers()) {}

  // Records one step on the given rows and returns its loss, not yet computed.
  sl::Tensor step(std::span<const int64_t> rows, double learning_rate) {
    const sl::Tensor chosen = sl::Tensor::from(rows, {static_cast<int64_t>(rows.size())});
    const sl::Tensor inputs = sl::take(images_.pixels, chosen, 0);
    const sl::Tensor targets = sl::one_hot(sl::take(images_.labels, chosen, 0), kClasses);
    Gradients gradients = network_.gradients(inputs, targets);
    adam_.step(learning_rate, gradients.layers, network_.layers());
    return std::move(gradients.loss);
  }

  sl::Tensor predict(const sl::Tensor& pixels) const {
    return sl::argmax(network_.logits(pixels), {1});
  }

 private:
  const DeviceSet& images_;
  Network network_;
  Adam adam_;
};

}  // namespace

Run train(const Options& options, const DeviceSet& train_set, const DeviceSet& test_set,
          Watcher* watcher) {
  const int64_t steps = train_set.size() / options.batch;
  if (steps == 0) {
    throw UsageError("--batch " + std::to_string(options.batch) + " is more than the " +
                     std::to_string(train_set.size()) + " training images");
  }
  sl::sync();
  const sl::Stats before = sl::stats();
  sl::manual_seed(options.seed);
  std::mt19937_64 random(options.seed);
  std::vector<int64_t> widths = {kPixels};
  widths.insert(widths.end(), options.hidden.begin(), options.hidden.end());
  widths.push_back(kClasses);
  Trainer trainer(train_set, widths);

  std::vector<int64_t> order(train_set.size());
  std::iota(order.begin(), order.end(), 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<int64_t> truth = test_set.labels.to_vector<int64_t>();

  Run run;
  run.steps_an_epoch = steps;
  std::vector<double> speeds;
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    shuffle(order, random);
    const sl::Stats epoch_before = sl::stats();
    const Clock::time_point start = Clock::now();
    std::deque<sl::Tensor> unread;
    double loss_sum = 0;
    int64_t losses_read = 0;
    const auto read_loss = [&] {
      run.losses.push_back(unread.front().item<float>());
      unread.pop_front();
      loss_sum += run.losses.back();
      ++losses_read;
    };
    const auto report = [&](int64_t step, bool done) {
      if (watcher == nullptr) return;
      watcher->on_progress({epoch + 1, options.epochs, step, steps,
                            losses_read > 0 ? loss_sum / static_cast<double>(losses_read) : nan,
                            run.accuracies.empty() ? nan : run.accuracies.back(),
                            static_cast<double>(step) / seconds_since(start), done});
    };

    for (int64_t step = 0; step < steps; ++step) {
      const double done =
          static_cast<double>(epoch * steps + step) / static_cast<double>(options.epochs * steps);
      const double rate = options.learning_rate * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
      const std::span<const int64_t> rows(order.data() + step * options.batch, options.batch);
      unread.push_back(trainer.step(rows, rate));
      sl::flush();
      if (unread.size() > kStepsAhead) read_loss();
      report(step + 1, false);
    }
    while (!unread.empty()) read_loss();
    // The first epoch, which compiles, counts only until there is another.
    if (epoch == 1) speeds.clear();
    speeds.push_back(static_cast<double>(steps) / seconds_since(start));
    run.steps_per_second = median(speeds);
    run.last_epoch = counted_between(epoch_before, sl::stats());

    run.predictions = trainer.predict(test_set.pixels).to_vector<int64_t>();
    int64_t right = 0;
    for (size_t i = 0; i < truth.size(); ++i) right += run.predictions[i] == truth[i];
    run.accuracies.push_back(static_cast<double>(right) / static_cast<double>(truth.size()));
    if (watcher != nullptr) {
      watcher->on_progress({epoch + 1, options.epochs, steps, steps,
                            loss_sum / static_cast<double>(steps), run.accuracies.back(),
                            run.steps_per_second, true});
    }
  }
  sl::sync();
  run.all = counted_between(before, sl::stats());
  return run;
}

}  // namespace digits
