// The capabilities of stdout, and a progress bar.
#ifndef SLUICE_EXAMPLES_DIGITS_TERMINAL_H_
#define SLUICE_EXAMPLES_DIGITS_TERMINAL_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "training.h"

namespace digits {

struct Terminal {
  bool live = false;    // a terminal, on which lines can be redrawn
  bool colour = false;  // 256 colours, and NO_COLOR is not set
  int columns = 100;
};

Terminal stdout_terminal();

// 1234567 -> "1,234,567".
std::string grouped(int64_t number);

// A progress bar on a terminal; elsewhere one line per epoch, or a single line if `brief`, and one
// every five seconds of those that take longer.
class ProgressBar : public Watcher {
 public:
  ProgressBar(const Terminal& terminal, std::string title, bool brief);
  ~ProgressBar() override;
  void on_progress(const Progress& progress) override;

 private:
  Terminal terminal_;
  std::string title_;
  bool brief_;
  std::chrono::steady_clock::time_point drawn_;
  bool open_ = false;  // the current line is still being redrawn
};

}  // namespace digits

#endif  // SLUICE_EXAMPLES_DIGITS_TERMINAL_H_
