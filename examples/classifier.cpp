// Two classifiers of handwritten digits, of layers, gradients and an optimiser: a multi-layer
// perceptron, and a small convolutional network. Each step, forward and backward pass and update of
// all parameters, is one window.
//
//   classifier [epochs]
//
// Exits with 1 if they learn less than they should, or if a step of the last epoch compiled
// something.
#include <sluice/sluice.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace sl = sluice;
namespace nn = sluice::nn;

namespace {

constexpr int64_t kSide = 8, kClasses = 10;

nn::Sequential perceptron() {
  return nn::Sequential{nn::Flatten{},
                        nn::Linear{kSide * kSide, 512},
                        nn::ReLU{},
                        nn::Dropout{0.3},
                        nn::Linear{512, 256},
                        nn::ReLU{},
                        nn::Linear{256, kClasses}};
}

nn::Sequential convolutional() {
  return nn::Sequential{nn::Conv2d{1, 16, {3, 3}, {.padding = 1}},
                        nn::BatchNorm2d{16},
                        nn::ReLU{},
                        nn::Conv2d{16, 32, {3, 3}, {.padding = 1}},
                        nn::BatchNorm2d{32},
                        nn::ReLU{},
                        nn::MaxPool2d{2},
                        nn::Flatten{},
                        nn::Dropout{0.3},
                        nn::Linear{32 * 4 * 4, kClasses}};
}

struct Digits {
  sl::data::Dataset train, test;
};

// Every fifth image is one of the test's. The others are joined by copies moved by a pixel.
Digits load(const std::string& path) {
  const sl::Tensor table = sl::data::load_csv(path);
  const sl::Tensor images = table(sl::Slice{}, sl::Slice{0, kSide * kSide}) / 16.f;
  const sl::Tensor pixels = images.reshape({-1, 1, kSide, kSide});
  const sl::Tensor labels = table(sl::Slice{}, -1).astype(sl::kInt64);
  const sl::Tensor is_test = sl::arange(labels.numel()) % 5 == 4;
  const sl::Tensor train = pixels(!is_test),
                   framed = sl::pad(train, {{0, 0}, {0, 0}, {1, 1}, {1, 1}});
  const auto moved = [&](int64_t down, int64_t right) {
    return framed.slice(2, 1 - down, 1 - down + kSide).slice(3, 1 - right, 1 - right + kSide);
  };
  const sl::Tensor shifted =
      sl::concat({train, moved(1, 0), moved(-1, 0), moved(0, 1), moved(0, -1)});
  return {{shifted, sl::tile(labels(!is_test), {5})}, {pixels(is_test), labels(is_test)}};
}

double accuracy(nn::Sequential& net, const sl::data::Dataset& set) {
  net.eval();
  const sl::NoGrad guard;
  const sl::Tensor right = sl::argmax(net(set[0]), 1) == set[1];
  net.train();
  return sl::mean(right).item<double>();
}

// Whether the network reaches this accuracy on the test's images, steadily.
bool learns(const char* name, nn::Sequential net, const Digits& digits, int64_t epochs,
            double wanted) {
  sl::data::Loader loader(digits.train, {.batch = 32, .shuffle = true, .drop_last = true});
  sl::optim::AdamW optimizer(net.parameters(), {.lr = 2e-3});
  const sl::optim::Schedule schedule = sl::optim::cosine(2e-3, epochs * loader.size());
  double reached = 0;
  int64_t compiles = 0, kernels = 0;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    const sl::Stats before = sl::stats();
    double total = 0;
    for (const sl::data::Batch& batch : loader) {
      optimizer.set_lr(schedule(optimizer.steps()));
      const auto loss_of = [&](nn::Sequential& model) {
        return nn::cross_entropy(model(batch[0]), batch[1]);
      };
      auto [loss, gradients] = sl::value_and_grad(loss_of)(net);
      optimizer.step(gradients);
      total += loss.item<double>();
    }
    compiles = sl::stats().compiles - before.compiles;
    kernels = (sl::stats().kernels_launched - before.kernels_launched) / loader.size();
    reached = accuracy(net, digits.test);
    std::printf("%s, epoch %lld: loss %.4f, accuracy %.2f %%, %lld kernels a step\n", name,
                static_cast<long long>(epoch) + 1, total / static_cast<double>(loader.size()),
                100 * reached, static_cast<long long>(kernels));
    std::fflush(stdout);
  }
  return reached >= wanted && compiles == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t epochs = argc > 1 ? std::atoi(argv[1]) : 5;
  sl::manual_seed(1);
  const Digits digits = load(DIGITS_DATA_PATH);
  const bool first = learns("perceptron", perceptron(), digits, epochs, 0.975);
  const bool second = learns("convolutional network", convolutional(), digits, epochs, 0.985);
  return first && second ? 0 : 1;
}
