#include "terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace digits {
namespace {

constexpr std::chrono::milliseconds kRedraw(50), kQuietAtMost(5000);
constexpr int kBarCells = 28;

// A bar of `fraction` of kBarCells, in steps of an eighth of a cell.
std::string bar(double fraction) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(fraction * kBarCells * 8));
  std::string text;
  int cells = 0;
  for (; cells < eighths / 8; ++cells) text += "█";
  if (eighths % 8 != 0) {
    text += kEighths[eighths % 8];
    ++cells;
  }
  text.append(kBarCells - cells, ' ');
  return text;
}

}  // namespace

Terminal stdout_terminal() {
  Terminal terminal;
  const char* const kind = std::getenv("TERM");
  terminal.live = isatty(STDOUT_FILENO) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
  terminal.colour = terminal.live && std::getenv("NO_COLOR") == nullptr;
  winsize size{};
  if (terminal.live && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.columns = size.ws_col;
  }
  return terminal;
}

std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) {
    text.insert(at, 1, ',');
  }
  return text;
}

ProgressBar::ProgressBar(const Terminal& terminal, std::string title, bool brief)
    : terminal_(terminal),
      title_(std::move(title)),
      brief_(brief),
      drawn_(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() {
  if (open_) std::printf("\n");
}

void ProgressBar::on_progress(const Progress& progress) {
  const bool finished = progress.epoch_done && progress.epoch == progress.epochs;
  const bool always = finished || (!terminal_.live && !brief_ && progress.epoch_done);
  const auto now = std::chrono::steady_clock::now();
  if (!always && now - drawn_ < (terminal_.live ? kRedraw : kQuietAtMost)) return;
  drawn_ = now;

  char figures[160];
  int length = std::snprintf(figures, sizeof figures, "epoch %*lld/%lld",
                             static_cast<int>(std::to_string(progress.epochs).size()),
                             static_cast<long long>(progress.epoch),
                             static_cast<long long>(progress.epochs));
  const auto add = [&](const char* format, double value) {
    if (std::isnan(value) && length > 0) return;
    length += std::snprintf(figures + length, sizeof figures - length, format, value);
  };
  add("  loss %.5f", progress.loss);
  add("  accuracy %5.2f %%", progress.accuracy * 100);
  add("  %5.0f steps/s", progress.steps_per_second);

  if (terminal_.live) {
    const double whole = static_cast<double>(progress.epochs * progress.steps);
    const double done =
        static_cast<double>((progress.epoch - 1) * progress.steps + progress.step) / whole;
    std::printf("\r%-15s %s%s%s  %s\x1b[K", title_.c_str(), terminal_.colour ? "\x1b[36m" : "",
                bar(done).c_str(), terminal_.colour ? "\x1b[0m" : "", figures);
    open_ = true;
    if (finished) {
      std::printf("\n");
      open_ = false;
    }
  } else {
    std::printf("%-15s %s\n", title_.c_str(), figures);
  }
  std::fflush(stdout);
}

}  // namespace digits
