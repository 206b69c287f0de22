#include "training.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "counters.h"

namespace digits {
namespace {

namespace sl = sluice;
namespace nn = sluice::nn;
using Clock = std::chrono::steady_clock;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Trainer {
 public:
  Trainer(const std::string& network, const Options& options, const Digits& digits)
      : net_(seeded(network, options)),
        optimizer_(net_.parameters(), {.lr = options.learning_rate}),
        loader_(digits.train,
                {.batch = options.batch, .shuffle = true, .seed = options.seed, .drop_last = true}),
        schedule_(sl::optim::cosine(options.learning_rate, options.epochs * loader_.size())) {
    if (loader_.size() == 0) {
      throw UsageError("--batch " + std::to_string(options.batch) + " is more than the " +
                       std::to_string(digits.train.size()) + " training images");
    }
  }

  sl::data::Loader& loader() { return loader_; }

  // Records a step, and returns its loss, not yet computed.
  sl::Tensor step(const sl::data::Batch& batch) {
    optimizer_.set_lr(schedule_(optimizer_.steps()));
    const auto loss_of = [&](nn::Sequential& net) {
      return nn::cross_entropy(net(batch[0]), batch[1]);
    };
    auto [loss, gradients] = sl::value_and_grad(loss_of)(net_);
    optimizer_.step(gradients);
    return loss;
  }

  std::vector<int64_t> predict(const sl::Tensor& images) {
    const sl::NoGrad guard;
    net_.eval();
    const sl::Tensor classes = sl::argmax(net_(images), 1);
    net_.train();
    return classes.to_vector<int64_t>();
  }

 private:
  static nn::Sequential seeded(const std::string& network, const Options& options) {
    sl::manual_seed(options.seed);
    return make_network(network, options);
  }

  nn::Sequential net_;
  sl::optim::AdamW optimizer_;
  sl::data::Loader loader_;
  sl::optim::Schedule schedule_;
};

}  // namespace

nn::Sequential make_network(const std::string& name, const Options& options) {
  if (name == "convolutional") {
    return nn::Sequential{nn::Conv2d{1, 16, {3, 3}, {.padding = 1}},
                          nn::BatchNorm2d{16},
                          nn::ReLU{},
                          nn::Conv2d{16, 32, {3, 3}, {.padding = 1}},
                          nn::BatchNorm2d{32},
                          nn::ReLU{},
                          nn::MaxPool2d{2},
                          nn::Flatten{},
                          nn::Dropout{0.3},
                          nn::Linear{32 * kPixels / 4, kClasses}};
  }
  nn::Sequential net{nn::Flatten{}};
  int64_t width = kPixels;
  for (const int64_t next : options.hidden) {
    net.append(nn::Linear{width, next}).append(nn::ReLU{}).append(nn::Dropout{0.3});
    width = next;
  }
  net.append(nn::Linear{width, kClasses});
  return net;
}

Run train(const std::string& network, const Options& options, const Digits& digits,
          const std::string& title, int64_t epochs) {
  sl::sync();
  const sl::Stats before = sl::stats();
  Trainer trainer(network, options, digits);
  const std::vector<int64_t> truth = digits.test[1].to_vector<int64_t>();

  Run run;
  run.steps_an_epoch = trainer.loader().size();
  std::vector<double> speeds;
  sl::data::Progress progress(epochs * run.steps_an_epoch,
                              {.title = title, .is_quiet = options.quiet});
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    const sl::Stats epoch_before = sl::stats();
    const Clock::time_point start = Clock::now();
    std::vector<sl::Tensor> losses;
    for (const sl::data::Batch& batch : trainer.loader()) {
      losses.push_back(trainer.step(batch));
      progress.step(losses.back());
    }
    for (const sl::Tensor& loss : losses) run.losses.push_back(loss.item<float>());
    // The first epoch, which compiles, counts only until there is another.
    if (epoch == 1) speeds.clear();
    speeds.push_back(static_cast<double>(run.steps_an_epoch) /
                     std::chrono::duration<double>(Clock::now() - start).count());
    run.last_epoch = counted_between(epoch_before, sl::stats());

    run.predictions = trainer.predict(digits.test[0]);
    int64_t right = 0;
    for (size_t i = 0; i < truth.size(); ++i) right += run.predictions[i] == truth[i];
    run.accuracies.push_back(static_cast<double>(right) / static_cast<double>(truth.size()));
    char note[32];
    std::snprintf(note, sizeof note, "accuracy %.2f %%", 100 * run.accuracies.back());
    progress.note(note);
  }
  run.steps_per_second = median(speeds);
  sl::sync();
  run.all = counted_between(before, sl::stats());
  return run;
}

void write_trace(const std::string& network, const Options& options, const Digits& digits) {
  constexpr int64_t kSteps = 20;
  sl::trace::start();
  Trainer trainer(network, options, digits);
  for (int64_t i = 0; i < std::min(kSteps, trainer.loader().size()); ++i) {
    const sl::Tensor loss = trainer.step(trainer.loader().batch(0, i));
    sl::flush();
  }
  sl::sync();
  sl::trace::stop();
  sl::trace::write(options.trace);
}

}  // namespace digits
