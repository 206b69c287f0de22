// Trains a classifier of handwritten digits, then reports what the engine fused and compiled, and
// checks that neither changed a bit.
#include <sluice/sluice.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataset.h"
#include "options.h"
#include "picture.h"
#include "report.h"
#include "terminal.h"
#include "training.h"

namespace digits {
namespace {

namespace sl = sluice;

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

class Demo {
 public:
  explicit Demo(const Options& options)
      : options_(options), terminal_(stdout_terminal()), digits_(load_digits(options.data)) {}

  // Returns the exit code.
  int run() {
    std::ofstream json;
    if (!options_.json.empty()) {
      json.open(options_.json);
      if (!json) throw UsageError("can't write " + options_.json);
    }
    test_set_ = to_device(digits_.test);
    train_set_ = with_shifts(to_device(digits_.train));

    const Run run = train("training", /*brief=*/false);
    print(summary(options_, run, train_set_.size(), test_set_.size()));
    if (!options_.quiet) show(run.predictions);

    std::vector<Comparison> comparisons;
    if (options_.compare) {
      sl::Config& config = sl::config();
      compare(run, "fusion off", "SLUICE_FUSE=off", config.fuse, false, comparisons);
      compare(run, "compilation off", "SLUICE_COMPILE=off", config.compile, sl::CompileMode::kOff,
              comparisons);
      print(comparison_table(run, comparisons));
    }
    if (json.is_open()) {
      write_json(json, options_, run, comparisons);
      if (!json.flush()) throw UsageError("can't write " + options_.json);
    }
    for (const Comparison& other : comparisons) {
      if (!other.same_losses) {
        std::fprintf(stderr, "digits: with %s the losses differ\n", other.setting.c_str());
        return 1;
      }
    }
    return 0;
  }

 private:
  Run train(const char* title, bool brief) {
    std::optional<ProgressBar> bar;
    if (!options_.quiet) bar.emplace(terminal_, title, brief);
    return digits::train(options_, train_set_, test_set_, bar ? &*bar : nullptr);
  }

  void show(const std::vector<int64_t>& predictions) {
    const std::string pictures = mistakes(digits_.test, predictions, terminal_);
    if (pictures.empty()) {
      print("\nIt made no mistake.\n\n");
    } else {
      print("\nWhat it got wrong\n\n" + pictures);
    }
    print(confusion_matrix(digits_.test, predictions));
  }

  // Trains again with `setting` off, unless it is off already.
  template <typename T>
  void compare(const Run& run, const char* name, const char* variable, T& setting, T off,
               std::vector<Comparison>& comparisons) {
    if (setting == off) {
      print(std::string("\n  ") + variable + " is set: nothing to compare it with\n");
      return;
    }
    const T former = std::exchange(setting, off);
    if (comparisons.empty() && !options_.quiet) print("\n");
    Comparison other{name, variable, train(name, /*brief=*/true), false};
    setting = former;
    other.same_losses = same_bits(run.losses, other.run.losses);
    comparisons.push_back(std::move(other));
  }

  const Options& options_;
  Terminal terminal_;
  Digits digits_;
  DeviceSet train_set_, test_set_;
};

// SLUICE_DEVICE may name a device that does not exist.
void require_device() {
  try {
    sl::default_device();
  } catch (const sl::Error& error) {
    throw UsageError(error.what());
  }
}

int main(int argc, char** argv) {
  try {
    const Options options = parse_options(argc, argv);
    if (options.help) {
      print(usage());
      return 0;
    }
    require_device();
    return Demo(options).run();
  } catch (const UsageError& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "digits: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) { return digits::main(argc, argv); }
