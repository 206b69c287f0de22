#include <sluice/progress.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/control.h>
#include <sluice/stats.h>
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trace/format.h"

namespace sluice::data {
namespace {

using trace::format_count;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kRedraw(100);
constexpr double kWindowSeconds = 5;  // that figures are of
constexpr size_t kUnread = 4;         // losses: how far the host runs ahead
constexpr double kDecay = 0.98;       // of the average loss
constexpr int kCells = 24;            // of the bar

// A share, in steps of an eighth of a cell.
std::string bar_of(double share) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = std::lround(std::clamp(share, 0.0, 1.0) * kCells * 8);
  std::string text;
  for (int64_t i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[eighths % 8];
  text.append(kCells - (eighths + 7) / 8, ' ');
  return text;
}

std::string duration(double seconds) {
  const auto whole = std::llround(std::min(seconds, 1e9));
  if (whole < 100) return absl::StrCat(whole, " s");
  if (whole < 3600) return absl::StrFormat("%d:%02d min", whole / 60, whole % 60);
  return absl::StrFormat("%d:%02d h", whole / 3600, whole / 60 % 60);
}

std::string speed(double rate) {
  if (rate >= 10) return absl::StrCat(format_count(std::llround(rate)), " steps/s");
  if (rate >= 0.1) return absl::StrFormat("%.1f steps/s", rate);
  return absl::StrFormat("%.0f s a step", 1 / rate);
}

// In characters, not bytes, of UTF-8.
int64_t width_of(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

// Of the terminal that this is; 0: it is none.
int columns_of(std::FILE* file) {
  const char* const kind = std::getenv("TERM");
  const bool can_redraw = kind != nullptr && std::string_view(kind) != "dumb";
  if (!can_redraw || isatty(fileno(file)) == 0) return 0;
  winsize size{};
  return ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

class Progress::Display {
 public:
  Display(int64_t total, ProgressOptions options)
      : total_(total), options_(std::move(options)), steps_(options_.done) {
    mark(Clock::now());
  }

  void step(const Tensor* loss) {
    ++steps_;
    if (loss != nullptr) {
      unread_.push_back(*loss);
      flush();
      if (losses_read_ == 0 || unread_.size() > kUnread) read_loss();
    }
    const bool is_first = loss != nullptr && losses_read_ == 1 && !is_drawn_;
    draw_if(is_first);
  }

  void note(const std::string& text) {
    note_ = text;
    // At the end nothing is recorded that reading could wait for.
    while (steps_ == total_ && !unread_.empty()) read_loss();
    draw_if(true);
  }

  void print(const std::string& text) {
    if (options_.is_quiet) return;
    write(absl::StrCat(is_open_ ? "\r\x1b[K" : "", text, "\n"));
    is_open_ = false;
    if (columns_of(options_.file) > 0) draw_if(true);
  }

  void finish() {
    if (std::exchange(is_finished_, true)) return;
    const bool had_unread = !unread_.empty();
    while (!unread_.empty()) read_loss();
    if (steps_ == options_.done || options_.is_quiet) return;
    if (is_open_ || had_unread || shown_steps_ != steps_) draw(Clock::now());
    if (is_open_) write("\n");
    is_open_ = false;
  }

  [[nodiscard]] double loss() const {
    // Of an average that begins as 0 (as in Adam).
    return losses_read_ == 0 ? std::numeric_limits<double>::quiet_NaN()
                             : average_ / (1 - std::pow(kDecay, losses_read_));
  }
  [[nodiscard]] int64_t steps() const { return steps_; }

 private:
  // Where it was at a time.
  struct Mark {
    Clock::time_point time;
    int64_t steps;
    Stats stats;
  };

  void read_loss() {
    const Tensor loss = std::move(unread_.front());
    unread_.pop_front();
    average_ = kDecay * average_ + (1 - kDecay) * loss.item<double>();
    ++losses_read_;
  }

  void mark(Clock::time_point now) {
    marks_.push_back({now, steps_, stats()});
    while (marks_.size() > 2 && seconds(marks_[1].time, now) > kWindowSeconds) marks_.pop_front();
  }

  static double seconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }

  void draw_if(bool always) {
    if (options_.is_quiet || is_finished_) return;
    const Clock::time_point now = Clock::now();
    const bool is_live = columns_of_file_ > 0;
    if (now - marks_.back().time >= kRedraw) mark(now);
    const double wait =
        is_live ? std::chrono::duration<double>(kRedraw).count() : options_.interval;
    if (always || seconds(drawn_, now) >= wait) draw(now);
  }

  // The figures in order of importance.
  [[nodiscard]] std::vector<std::string> figures(Clock::time_point now) const {
    std::vector<std::string> parts;
    const std::string count = format_count(steps_), total = format_count(total_);
    parts.push_back(total_ == 0 ? count
                                : absl::StrCat(trace::pad_left(count, total.size()), "/", total));
    if (losses_read_ > 0) parts.push_back(absl::StrFormat("loss %.4g", loss()));
    if (!note_.empty()) parts.push_back(note_);
    const Mark& from = marks_.front();
    const auto steps = static_cast<double>(steps_ - from.steps);
    const double time = seconds(from.time, now);
    if (steps == 0 || time <= 0) return parts;
    parts.push_back(speed(steps / time));
    if (steps_ < total_) {
      const double left = static_cast<double>(total_ - steps_) * time / steps;
      parts.push_back(absl::StrCat(duration(left), " left"));
    }
    const Stats stats = sluice::stats();
    const auto a_step = [&](int64_t Stats::*counter, const char* noun) {
      const auto count = static_cast<double>(stats.*counter - from.stats.*counter);
      return trace::count_of(std::llround(count / steps), noun);
    };
    parts.push_back(absl::StrCat(a_step(&Stats::ops_recorded, "op"), ": ",
                                 a_step(&Stats::kernels_launched, "kernel"), ", ",
                                 a_step(&Stats::library_calls, "library call")));
    return parts;
  }

  void draw(Clock::time_point now) {
    columns_of_file_ = columns_of(options_.file);
    const bool is_live = columns_of_file_ > 0;
    std::string line = options_.title;
    if (is_live && total_ > 0) {
      const double share = static_cast<double>(steps_) / static_cast<double>(total_);
      absl::StrAppend(&line, "  ", bar_of(share));
    }
    int64_t width = width_of(line);
    for (const std::string& part : figures(now)) {
      width += 2 + width_of(part);
      if (is_live && width >= columns_of_file_) break;
      absl::StrAppend(&line, "  ", part);
    }
    write(is_live ? absl::StrCat("\r", line, "\x1b[K") : absl::StrCat(line, "\n"));
    is_open_ = is_live;
    is_drawn_ = true;
    drawn_ = now;
    shown_steps_ = steps_;
  }

  void write(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), options_.file);
    std::fflush(options_.file);
  }

  const int64_t total_;
  const ProgressOptions options_;
  int64_t steps_;
  std::deque<Tensor> unread_;
  double average_ = 0;
  int64_t losses_read_ = 0;
  std::string note_;
  std::deque<Mark> marks_;  // from kWindowSeconds ago
  int columns_of_file_ = columns_of(options_.file);
  Clock::time_point drawn_ = Clock::now();
  int64_t shown_steps_ = -1;
  bool is_drawn_ = false;
  bool is_open_ = false;  // the line may be drawn again
  bool is_finished_ = false;
};

Progress::Progress(int64_t steps, ProgressOptions options)
    : display_(new Display(steps, std::move(options))) {}

Progress::~Progress() {
  try {
    display_->finish();
  } catch (...) {  // a loss that cannot be computed: whoever reads it is told
  }
  delete display_;
}

void Progress::step(const Tensor& loss) { display_->step(&loss); }
void Progress::step() { display_->step(nullptr); }
void Progress::note(const std::string& text) { display_->note(text); }
void Progress::print(const std::string& text) { display_->print(text); }
void Progress::finish() { display_->finish(); }
double Progress::loss() const { return display_->loss(); }
int64_t Progress::steps() const { return display_->steps(); }

}  // namespace sluice::data
