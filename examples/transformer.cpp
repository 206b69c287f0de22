// A transformer learns Shakespeare's sonnets, character by character, and writes on.
//
//   transformer [steps]     1,500 of them take two minutes on two cores
//
// Exits with 1 if it learnt nothing.
#include <sluice/sluice.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace sl = sluice;
namespace nn = sluice::nn;

namespace {

constexpr int64_t kLength = 64, kWidth = 96, kHeads = 4, kBlocks = 3, kBatch = 16;

// Characters as numbers, and back.
struct Text {
  explicit Text(const std::string& path) {
    std::ifstream file(path);
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    const std::set<char> distinct(all.begin(), all.end());
    alphabet.assign(distinct.begin(), distinct.end());
    std::vector<int64_t> numbers;
    for (const char c : all) numbers.push_back(static_cast<int64_t>(alphabet.find(c)));
    characters = sl::Tensor::from(numbers);
  }
  // Pieces of kLength + 1 characters from anywhere.
  [[nodiscard]] sl::Tensor pieces() const {
    const sl::Tensor starts = sl::randint(0, characters.numel() - kLength, {kBatch, 1});
    return sl::take(characters, starts + sl::arange(kLength + 1), 0);
  }
  std::string alphabet;
  sl::Tensor characters;
};

struct Writer : nn::Module {
  nn::Embedding characters, places{kLength, kWidth};
  std::vector<nn::TransformerEncoderLayer> blocks;
  nn::LayerNorm norm{kWidth};
  nn::Linear next;

  explicit Writer(int64_t alphabet) : characters(alphabet, kWidth), next(kWidth, alphabet) {
    for (int i = 0; i < kBlocks; ++i) {
      blocks.emplace_back(
          kWidth, kHeads,
          nn::TransformerOptions{
              .feedforward = 4 * kWidth, .dropout = 0.1, .gelu = true, .norm_first = true});
    }
    register_module("characters", characters);
    register_module("places", places);
    register_module("blocks", blocks);
    register_module("norm", norm);
    register_module("next", next);
    characters.weight = characters.weight * 0.1f;
    places.weight = places.weight * 0.1f;
  }

  // (n, kLength) characters to (n, kLength, alphabet): what may follow each.
  sl::Tensor forward(const sl::Tensor& text) {
    sl::Tensor x = characters(text) + places(sl::arange(kLength));
    for (const auto& block : blocks) x = block(x, sl::Tensor(), /*causal=*/true);
    return next(norm(x));
  }
};

// Each character is drawn by its probability (Gumbel's trick), which `temperature` sharpens.
std::string write(Writer& writer, const Text& text, int count, float temperature) {
  const sl::NoGrad guard;
  writer.eval();
  std::string written;
  sl::Tensor before = sl::slice(text.characters, 0, 0, kLength).reshape({1, kLength});
  for (int i = 0; i < count; ++i) {
    const sl::Tensor logits = writer.forward(before)(0, -1) / temperature;
    const sl::Tensor noise = -sl::log(-sl::log(sl::rand(logits.shape()) + 1e-9f));
    const sl::Tensor chosen = sl::argmax(logits + noise, -1, /*keepdims=*/true).reshape({1, 1});
    before = sl::concat({before(sl::Slice{}, sl::Slice{1, {}}), chosen}, 1);
    written += text.alphabet[chosen.item<size_t>()];
  }
  writer.train();
  return written;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t steps = argc > 1 ? std::atoi(argv[1]) : 1500;
  sl::manual_seed(2);
  const Text text(SONNETS_PATH);
  const auto alphabet = static_cast<int64_t>(text.alphabet.size());
  Writer writer(alphabet);
  std::printf("%lld parameters, %lld characters of text\n",
              static_cast<long long>(writer.parameter_count()),
              static_cast<long long>(text.characters.numel()));

  sl::optim::AdamW optimizer(writer.parameters(), {.lr = 2e-3, .beta2 = 0.99});
  const auto schedule = sl::optim::warm_up(50, sl::optim::cosine(2e-3, steps - 50, 2e-4));
  sl::data::Progress progress(steps, {.title = "sonnets"});
  for (int64_t step = 0; step < steps; ++step) {
    const sl::Tensor pieces = text.pieces();
    const auto loss_of = [&](Writer& w) {
      const sl::Tensor logits = w.forward(pieces(sl::Slice{}, sl::Slice{{}, -1}));
      return nn::cross_entropy(logits.reshape({-1, alphabet}),
                               pieces(sl::Slice{}, sl::Slice{1, {}}).reshape({-1}));
    };
    auto [loss, gradients] = sl::value_and_grad(loss_of)(writer);
    sl::optim::clip_grad_norm(gradients, 1);
    optimizer.set_lr(schedule(step));
    optimizer.step(gradients);
    progress.step(loss);
  }
  progress.finish();
  std::printf("\n%s\n",
              write(writer, text, static_cast<int>(std::min<int64_t>(steps, 600)), 0.7f).c_str());
  // One that knew nothing would be at log(alphabet).
  return progress.loss() < 0.85 * std::log(static_cast<double>(alphabet)) ? 0 : 1;
}
