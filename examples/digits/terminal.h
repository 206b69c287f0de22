// What stdout can show, and the progress bar on it.
#ifndef SLUICE_EXAMPLES_DIGITS_TERMINAL_H_
#define SLUICE_EXAMPLES_DIGITS_TERMINAL_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "training.h"

namespace digits {

struct Terminal {
  bool live = false;    // a terminal: lines can be drawn over
  bool colour = false;  // it has 256 colours, and NO_COLOR is not set
  int columns = 100;
};

Terminal stdout_terminal();

// 1234567 -> "1,234,567".
std::string grouped(int64_t number);

// One line that moves on a terminal; elsewhere a plain line an epoch, or one in all if `brief`.
class ProgressBar : public Watcher {
 public:
  ProgressBar(const Terminal& terminal, std::string title, bool brief);
  ~ProgressBar() override;
  void on_progress(const Progress& progress) override;

 private:
  Terminal terminal_;
  std::string title_;
  bool brief_;
  std::chrono::steady_clock::time_point drawn_{};
  bool open_ = false;  // the cursor is on a line that is still drawn over
};

}  // namespace digits

#endif  // SLUICE_EXAMPLES_DIGITS_TERMINAL_H_
