// Batches, and the thread that makes them ahead of the loop.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include <sluice/data.h>
#include "frontend/checks.h"
#include "frontend/data/shuffled.h"

namespace sluice::data {

using frontend::fail;

// Fisher and Yates's shuffle. std::shuffle differs between standard libraries.
std::vector<int64_t> shuffled(int64_t count, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random = random_of({seed, epoch});
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

Loader::Loader(Dataset dataset, const LoaderOptions& options)
    : dataset_(std::move(dataset)), options_(options) {
  if (options.batch < 1) fail("Loader", "batch is ", options.batch, ", not positive");
  if (options.prefetch < 0) fail("Loader", "prefetch is ", options.prefetch, ", negative");
  const int64_t more = options.drop_last ? 0 : options.batch - 1;
  batches_ = (dataset_.size() + more) / options.batch;
}

Loader::Order Loader::order_of(int64_t epoch) const {
  if (!options_.shuffle) return {};
  return shuffled(dataset_.size(), options_.seed, static_cast<uint64_t>(epoch));
}

Batch Loader::make(const Order& order, int64_t epoch, int64_t i) const {
  const int64_t first = i * options_.batch;
  const int64_t last = std::min(first + options_.batch, dataset_.size());
  Batch batch = options_.shuffle ? dataset_.at({order.begin() + first, order.begin() + last})
                                 : dataset_.slice(first, last).fields();
  if (!options_.transform) return batch;
  Generator random(
      random_of({options_.seed, static_cast<uint64_t>(epoch), static_cast<uint64_t>(i) + 1})());
  return options_.transform(std::move(batch), random);
}

void Loader::set_epoch(int64_t epoch, int64_t first) {
  if (first < 0 || first > batches_) {
    fail("Loader::set_epoch", "there is no batch ", first, " of ", batches_);
  }
  epoch_ = epoch;
  first_ = first;
}

Batch Loader::batch(int64_t epoch, int64_t i) {
  if (i < 0 || i >= batches_) fail("Loader", "there is no batch ", i, " of ", batches_);
  if (order_epoch_ != epoch) {
    order_ = order_of(epoch);
    order_epoch_ = epoch;
  }
  return make(order_, epoch, i);
}

// Makes the batches of an epoch on a thread, which waits while `most` of them are not taken yet.
class Loader::Iterator::Ahead {
 public:
  Ahead(const Loader& loader, int64_t first)
      : most_(static_cast<size_t>(loader.options_.prefetch)),
        number_(first - 1),
        thread_([this, &loader, first, epoch = loader.epoch_,
                 order = loader.order_of(loader.epoch_)] { run(loader, order, epoch, first); }) {}

  ~Ahead() {
    {
      const std::lock_guard lock(mutex_);
      is_stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  // Batch i, which is not before that of the last call. Throws what making it threw.
  Batch at(int64_t i) {
    for (; number_ < i; ++number_) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !made_.empty(); });
      current_ = std::move(made_.front());
      made_.pop_front();
      lock.unlock();
      changed_.notify_all();
    }
    if (current_.error) std::rethrow_exception(current_.error);
    return current_.batch;
  }

 private:
  struct Made {
    Batch batch;
    std::exception_ptr error;
  };

  static Made make(const Loader& loader, const Order& order, int64_t epoch, int64_t i) {
    Made made;
    try {
      made.batch = loader.make(order, epoch, i);
      // Recorded by this thread, run by it too: the loop finds values, not its pending ops.
      for (const Tensor& field : made.batch) field.eval();
    } catch (...) {
      made = {{}, std::current_exception()};
    }
    return made;
  }

  void run(const Loader& loader, const Order& order, int64_t epoch, int64_t first) {
    for (int64_t i = first; i < loader.batches_; ++i) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return is_stopped_ || made_.size() < most_; });
        if (is_stopped_) return;
      }
      Made made = make(loader, order, epoch, i);
      const std::lock_guard lock(mutex_);
      made_.push_back(std::move(made));
      changed_.notify_all();
    }
  }

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Made> made_;
  bool is_stopped_ = false;
  // The loop's own.
  Made current_;
  int64_t number_;  // of current_
  // The last member: it uses the others.
  std::thread thread_;
};

Loader::Iterator::~Iterator() { delete ahead_; }

Batch Loader::Iterator::operator*() const {
  return ahead_ != nullptr ? ahead_->at(i_) : loader_->batch(loader_->epoch_, i_);
}

Loader::Iterator Loader::begin() {
  Iterator first{this, std::exchange(first_, 0)};
  if (options_.prefetch > 0 && first != end()) {
    first.ahead_ = new Iterator::Ahead(*this, first.i_);
  }
  return first;
}

}  // namespace sluice::data
