// What is shown of a training, in a file and on a terminal.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

// A file, and the lines that are written to it.
class Log {
 public:
  ~Log() { std::fclose(file_); }
  std::FILE* file() const { return file_; }
  std::string text() const {
    std::rewind(file_);
    std::string text;
    for (int c = 0; (c = std::fgetc(file_)) != EOF;) text += static_cast<char>(c);
    return text;
  }
  std::vector<std::string> lines() const {
    std::istringstream text(this->text());
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

 private:
  std::FILE* file_ = std::tmpfile();
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Progress, IsLinesWhereThereIsNoTerminal) {
  const Log log;
  Tensor x = ones({4});
  {
    data::Progress progress(1200, {.title = "fit", .interval = 1e9, .file = log.file()});
    EXPECT_TRUE(std::isnan(progress.loss()));
    for (int i = 0; i < 1200; ++i) {
      x = x * 0.5 + 0.5;
      progress.step(mean(x));
      if (i == 99) progress.note("accuracy 97.50 %");
      if (i == 199) progress.print("a line of its own");
    }
    EXPECT_NEAR(progress.loss(), 1, 1e-6);
    EXPECT_EQ(progress.steps(), 1200);
  }
  const std::vector<std::string> lines = log.lines();
  ASSERT_EQ(lines.size(), 4u) << log.text();
  EXPECT_TRUE(lines[0].starts_with("fit      1/1,200  loss 1  ")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("fit    100/1,200  loss 1  accuracy 97.50 %  ")) << lines[1];
  EXPECT_TRUE(has(lines[1], " left  ")) << lines[1];
  EXPECT_TRUE(has(lines[1], " ops: ") && has(lines[1], " kernel")) << lines[1];
  EXPECT_EQ(lines[2], "a line of its own");
  EXPECT_TRUE(lines[3].starts_with("fit  1,200/1,200  loss 1  accuracy 97.50 %  ")) << lines[3];
  EXPECT_FALSE(has(lines[3], "left")) << lines[3];
  EXPECT_FALSE(has(log.text(), "\r")) << log.text();
}

TEST(Progress, ReadsLossesThatAreOld) {
  const ConfigGuard guard;
  const Log log;
  data::Progress progress(0, {.done = 10, .file = log.file()});
  std::vector<Tensor> losses;
  for (int i = 0; i < 20; ++i) {
    losses.push_back(sum(full({3}, static_cast<float>(i))));
    progress.step(losses.back());
    EXPECT_TRUE(losses.back().is_materialized());  // submitted
  }
  progress.finish();
  progress.step();
  progress.finish();
  const std::vector<std::string> lines = log.lines();
  ASSERT_EQ(lines.size(), 2u) << log.text();
  EXPECT_TRUE(lines[0].starts_with("training  11  loss 0")) << lines[0];
  EXPECT_TRUE(lines[1].starts_with("training  30  loss ")) << lines[1];
}

TEST(Progress, IsSilentIfToldSoAndWhereNothingWasDone) {
  const Log log;
  {
    data::Progress progress(10, {.is_quiet = true, .file = log.file()});
    progress.step(ones({}));
    progress.note("x");
    progress.print("y");
    const data::Progress unused(10, {.file = log.file()});
  }
  EXPECT_EQ(log.text(), "");
}

TEST(Progress, AnErrorOfALossIsThrownOnce) {
  const Log log;
  data::Progress progress(3, {.file = log.file()});
  const Tensor bad = take(ones({2}), Tensor::from<int64_t>({5}), 0);
  EXPECT_THROW(progress.step(sum(bad)), Error);
  progress.step(ones({}));
}

TEST(Progress, IsABarOnATerminal) {
  const int controller = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  if (controller < 0) GTEST_SKIP() << "no pseudo-terminals here";
  ASSERT_EQ(grantpt(controller), 0);
  ASSERT_EQ(unlockpt(controller), 0);
  std::FILE* const terminal = std::fopen(ptsname(controller), "w");
  ASSERT_NE(terminal, nullptr);
  constexpr int kColumns = 60;
  winsize size{};
  size.ws_col = kColumns;
  ioctl(fileno(terminal), TIOCSWINSZ, &size);
  setenv("TERM", "xterm", 1);
  {
    data::Progress progress(8, {.title = "fit", .file = terminal});
    for (int i = 0; i < 8; ++i) progress.step(full({}, 0.25f));
    progress.note("a note that is much too long for a line of this terminal");
  }
  std::string text, part(4096, '\0');
  for (ssize_t count = 1; count > 0;) {  // what there is comes in pieces
    count = read(controller, part.data(), part.size());
    if (count > 0) text += part.substr(0, count);
  }
  std::fclose(terminal);
  close(controller);
  EXPECT_TRUE(text.starts_with("\rfit  ███ ")) << text;  // an eighth
  EXPECT_TRUE(has(text, "1/8  loss 0.25")) << text;
  EXPECT_TRUE(has(text, "████████████████████████  8/8  loss 0.25")) << text;
  EXPECT_FALSE(has(text, "note")) << text;
  EXPECT_TRUE(text.ends_with("\x1b[K\r\n")) << text;
  // No wider than the terminal.
  std::istringstream frames(text);
  for (std::string frame; std::getline(frames, frame, '\r');) {
    const auto is_first_byte = [](char c) { return (c & 0xc0) != 0x80; };
    EXPECT_LT(std::count_if(frame.begin(), frame.end(), is_first_byte), kColumns + 3) << frame;
  }
}

}  // namespace
}  // namespace sluice::test
