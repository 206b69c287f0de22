// A variational autoencoder (Kingma and Welling, 2014) learns to draw handwritten digits: each is a
// place in a plane, and what lies between two digits is drawn as something between them.
//
//   autoencoder [epochs [picture.pgm]]
//
// Exits with 1 if it draws no better than the mean of all images.
#include <sluice/sluice.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace sl = sluice;
namespace nn = sluice::nn;

namespace {

constexpr int64_t kSide = 8, kPixels = kSide * kSide, kHidden = 256, kPlane = 2;
constexpr int64_t kDown = 6, kAcross = 12;  // digits in the picture

struct Autoencoder : nn::Module {
  nn::Sequential encoder{nn::Linear{kPixels, kHidden}, nn::ReLU{}, nn::Linear{kHidden, kHidden},
                         nn::ReLU{}, nn::Linear{kHidden, 2 * kPlane}};
  nn::Sequential decoder{nn::Linear{kPlane, kHidden}, nn::ReLU{}, nn::Linear{kHidden, kHidden},
                         nn::ReLU{}, nn::Linear{kHidden, kPixels}};
  Autoencoder() {
    register_module("encoder", encoder);
    register_module("decoder", decoder);
  }

  // The evidence lower bound, negated, of an image: how badly it is drawn, and how far the places
  // of images are from being normally distributed.
  sl::Tensor loss(const sl::Tensor& images) {
    const std::vector<sl::Tensor> place = sl::split(encoder(images), 2, 1);
    const sl::Tensor &mean = place[0], &log_variance = place[1];
    const sl::Tensor z = mean + sl::exp(log_variance * 0.5f) * sl::randn(mean.shape());
    const sl::Tensor distance =
        0.5f * sl::sum(sl::square(mean) + sl::exp(log_variance) - 1.f - log_variance);
    return (nn::bce_with_logits_loss(decoder(z), images, nn::Reduction::kSum) + distance) /
           static_cast<float>(images.shape(0));
  }

  // Drawn from places all over the plane: (rows of pixels, columns).
  sl::Tensor picture() {
    const sl::NoGrad guard;
    const auto axes = sl::meshgrid(
        {sl::linspace(-1.7f, 1.7f, kDown), sl::linspace(-1.7f, 1.7f, kAcross)}, /*ij=*/true);
    const sl::Tensor places = sl::stack(axes, -1).reshape({-1, kPlane});
    return sl::sigmoid(decoder(places))
        .reshape({kDown, kAcross, kSide, kSide})
        .permute({0, 2, 1, 3})
        .reshape({kDown * kSide, kAcross * kSide});
  }
};

void print(const sl::Tensor& picture) {
  const std::vector<float> pixels = picture.to_vector<float>();
  const int64_t width = picture.shape(1);
  for (int64_t y = 0; y < picture.shape(0); y += 2) {  // characters are twice as high as wide
    std::string line;
    for (int64_t x = 0; x < width; ++x) {
      line +=
          " .:-=+*#%@"[std::lround(4.5f * (pixels[y * width + x] + pixels[(y + 1) * width + x]))];
    }
    std::printf("%s\n", line.c_str());
  }
}

void write_pgm(const std::string& path, const sl::Tensor& picture) {
  const std::vector<uint8_t> grey =
      sl::round(picture * 255.f).astype(sl::kUInt8).to_vector<uint8_t>();
  std::ofstream(path, std::ios::binary)
      << "P5 " << picture.shape(1) << " " << picture.shape(0) << " 255\n"
      << std::string(grey.begin(), grey.end());
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t epochs = argc > 1 ? std::atoi(argv[1]) : 60;
  sl::manual_seed(3);
  const sl::Tensor table = sl::data::load_csv(DIGITS_DATA_PATH);
  const sl::Tensor images = table(sl::Slice{}, sl::Slice{0, kPixels}) / 16.f;
  sl::data::Loader loader({images}, {.batch = 64, .shuffle = true, .drop_last = true});

  Autoencoder net;
  sl::optim::Adam optimizer(net.parameters(), {.lr = 2e-3});
  const auto schedule = sl::optim::cosine(2e-3, epochs * loader.size());
  sl::data::Progress progress(epochs * loader.size(), {.title = "digits"});
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    for (const sl::data::Batch& batch : loader) {
      const auto loss_of = [&](Autoencoder& a) { return a.loss(batch[0]); };
      auto [loss, gradients] = sl::value_and_grad(loss_of)(net);
      optimizer.set_lr(schedule(optimizer.steps()));
      optimizer.step(gradients);
      progress.step(loss);
    }
  }
  progress.finish();

  const sl::Tensor picture = net.picture();
  print(picture);
  if (argc > 2) write_pgm(argv[2], picture);
  // The loss of one who draws the mean of all images.
  const sl::Tensor mean = sl::clip(sl::mean(images, 0), 1e-6f, 1 - 1e-6f);
  const sl::Tensor each = nn::bce_loss(sl::broadcast_to(mean, images.shape()), images);
  const double known = each.item<double>() * kPixels;
  std::printf("loss %.2f an image; the mean of all images has %.2f\n", progress.loss(), known);
  return progress.loss() < known ? 0 : 1;
}
