// A training whose process is killed, at any moment, and goes on from its checkpoint: the losses
// have the bits of one that nobody disturbed.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

constexpr int64_t kSteps = 60;

struct Net : nn::Module {
  nn::Linear a{6, 16}, b{16, 3};
  nn::BatchNorm1d norm{16};
  nn::Dropout dropout{0.25};
  Net() {
    register_module("a", a);
    register_module("norm", norm);
    register_module("dropout", dropout);
    register_module("b", b);
  }
  Tensor forward(const Tensor& x) { return b(dropout(gelu(norm(a(x))))); }
};

// What a step had for a loss. Lines of this are written whole.
struct Line {
  int64_t step;
  float loss;
};

std::vector<Line> lines_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<Line> lines;
  for (Line line{}; file.read(reinterpret_cast<char*>(&line), sizeof line);) lines.push_back(line);
  return lines;
}

// A program that trains, from its checkpoint if there is one.
void train(const std::string& checkpoint_path, const std::string& log_path) {
  manual_seed(21);
  const Tensor x = randn({100, 6}), labels = argmax(matmul(x, randn({6, 3})), 1);
  Net net;
  optim::Adam optimizer(net.parameters(), {.lr = 0.02});
  optim::Plateau plateau(0.02, {.factor = 0.5, .patience = 3});
  data::Loader loader({x, labels}, {.batch = 16,
                                    .shuffle = true,
                                    .transform =
                                        [](data::Batch batch, Generator& random) {
                                          batch[0] = batch[0] + random.randn({6}) * 0.1;
                                          return batch;
                                        },
                                    .prefetch = 2});
  data::Checkpoint checkpoint{.model = &net, .optimizer = &optimizer};
  if (std::filesystem::exists(checkpoint_path)) {
    data::load_checkpoint(checkpoint_path, &checkpoint);
    plateau.load_state_dict(checkpoint.more);
  }
  const int log = open(log_path.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0644);
  int64_t step = checkpoint.step;
  loader.set_epoch(step / loader.size(), step % loader.size());
  while (step < kSteps) {
    for (const data::Batch& batch : loader) {
      const auto loss_of = [&](Net& n) { return nn::cross_entropy(n.forward(batch[0]), batch[1]); };
      const auto [loss, gradients] = value_and_grad(loss_of)(net);
      optimizer.step(gradients);
      const Line line{step, loss.item<float>()};
      optimizer.set_lr(plateau.next(line.loss));
      ASSERT_EQ(write(log, &line, sizeof line), ssize_t{sizeof line});
      if (++step % 3 == 0) {
        data::save_checkpoint(
            checkpoint_path,
            {.model = &net, .optimizer = &optimizer, .step = step, .more = plateau.state_dict()});
      }
      if (step == kSteps) break;
    }
  }
  close(log);
}

// Before this process has a thread: of one with threads only one is forked.
pid_t start(const std::string& checkpoint_path, const std::string& log_path) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  try {
    train(checkpoint_path, log_path);
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the training: %s\n", error.what());
    std::_Exit(2);
  }
}

TEST(Resume, OfATrainingThatIsKilledAgainAndAgain) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("sluice_resume_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const auto path = [&](const char* name) { return (folder / name).string(); };

  int status = 0;
  waitpid(start(path("whole.safetensors"), path("whole")), &status, 0);
  ASSERT_EQ(status, 0);
  std::vector<float> expected;
  for (const Line& line : lines_of(path("whole"))) expected.push_back(line.loss);
  ASSERT_EQ(expected.size(), static_cast<size_t>(kSteps));
  ASSERT_LT(expected.back(), expected.front());

  std::mt19937 random(std::random_device{}());
  int kills = 0;
  for (bool is_done = false; !is_done;) {
    const pid_t pid = start(path("cut.safetensors"), path("cut"));
    ASSERT_GT(pid, 0);
    // When it has come so much further, and a little later still: amid a step, or a checkpoint.
    const uintmax_t wanted = sizeof(Line) * (1 + random() % 8);
    const auto size = [&] {
      std::error_code ignored;
      const uintmax_t bytes = std::filesystem::file_size(path("cut"), ignored);
      return ignored ? 0 : bytes;
    };
    const uintmax_t before = size();
    while (!is_done && size() < before + wanted) {
      is_done = waitpid(pid, &status, WNOHANG) == pid;
      usleep(50);
    }
    if (!is_done) {
      usleep(random() % 2000);
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      is_done = WIFEXITED(status);
      kills += is_done ? 0 : 1;
    }
    if (is_done) {
      ASSERT_EQ(status, 0);
    }
    ASSERT_LT(kills, 1000);
  }
  EXPECT_GT(kills, 3);

  std::vector<bool> is_seen(kSteps);
  for (const Line& line : lines_of(path("cut"))) {
    EXPECT_EQ(std::bit_cast<uint32_t>(line.loss), std::bit_cast<uint32_t>(expected.at(line.step)))
        << "step " << line.step << " after " << kills << " kills";
    is_seen[line.step] = true;
  }
  EXPECT_EQ(std::count(is_seen.begin(), is_seen.end(), true), kSteps);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace sluice::test
