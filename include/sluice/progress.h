// How a training goes, for people: a bar on a terminal, lines in a log.
#ifndef SLUICE_PROGRESS_H_
#define SLUICE_PROGRESS_H_

#include <cstdint>
#include <cstdio>
#include <string>

#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {
namespace data {

struct ProgressOptions {
  std::string title = "training";
  int64_t done = 0;       // steps that were taken before: a training that goes on
  double interval = 5;    // seconds between lines where there is no terminal
  bool is_quiet = false;  // shows nothing
  std::FILE* file = stdout;
};

// Shows loss, speed, the time that is left, and what the engine makes of a step:
//
//   data::Progress progress(steps);
//   for (...) {
//     ...
//     progress.step(loss);
//   }
//
//   training  ██████▌   1,460/2,245  loss 0.0312  497 steps/s  2 s left  150 ops: 9 kernels, ...
//
// The loss is an average over some fifty steps, figures are those of the last five seconds. Where
// `file` is no terminal there is a line when the first loss is known, one every `interval` seconds,
// one for each note(), and one at the end. A line is as wide as the terminal at most.
class Progress {
 public:
  // Of so many steps in all. 0: nobody knows.
  explicit Progress(int64_t steps, ProgressOptions options = {});
  // As finish() does.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A step is taken, whose loss, of one element, is read some steps later: what is recorded is
  // flushed, and the read waits for nothing recent. What a read throws is thrown here.
  void step(const Tensor& loss);
  void step();

  // Shown from now on, after the figures: "accuracy 97.5 %".
  void note(const std::string& text);
  // A line of its own, above the bar.
  void print(const std::string& text);
  // Reads the losses that are left, and shows how it ended. What comes after is not shown.
  void finish();

  // The average loss; NaN before the first is known.
  [[nodiscard]] double loss() const;
  // Steps taken, with those before.
  [[nodiscard]] int64_t steps() const;

 private:
  class Display;
  Display* const display_;
};

}  // namespace data
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_PROGRESS_H_
