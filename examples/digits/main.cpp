// Trains two classifiers of handwritten digits, a multi-layer perceptron and a convolutional
// network, then reports what the engine fused and compiled, and checks that neither changed a bit.
#include <sluice/sluice.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "dataset.h"
#include "options.h"
#include "picture.h"
#include "report.h"
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
      : options_(options), digits_(load_digits(options.data)), test_(on_host(digits_.test)) {}

  // Returns the exit code.
  int run() {
    std::ofstream json;
    if (!options_.json.empty()) {
      json.open(options_.json);
      if (!json) throw UsageError("can't write " + options_.json);
    }
    std::vector<Report> reports;
    for (const std::string& network : options_.networks) {
      if (!reports.empty()) print("\n");
      reports.push_back(report_of(network));
    }
    if (json.is_open()) {
      write_json(json, options_, reports);
      if (!json.flush()) throw UsageError("can't write " + options_.json);
    }
    // A trace of the whole process is not to be cut short.
    if (!options_.trace.empty() && std::getenv("SLUICE_TRACE") == nullptr) {
      write_trace(options_.networks.back(), options_, digits_);
      print("\nWhat became of each op of some steps is in " + options_.trace + "\n");
    }
    return exit_code(reports);
  }

 private:
  Report report_of(const std::string& network) {
    Report report{network, train(network, options_, digits_, network, options_.epochs), {}};
    print(summary(network, options_, report.run, digits_));
    if (!options_.quiet) show(report.run.predictions);
    if (options_.compare) {
      sl::Config& config = sl::config();
      compare("fusion off", "SLUICE_FUSE=off", config.fuse, false, &report);
      compare("compilation off", "SLUICE_COMPILE=off", config.compile, sl::CompileMode::kOff,
              &report);
      print(comparison_table(report.run, report.comparisons));
    }
    return report;
  }

  void show(const std::vector<int64_t>& predictions) {
    const std::string pictures = mistakes(test_, predictions, stdout_terminal());
    print(pictures.empty() ? "\nIt made no mistake.\n\n" : "\nWhat it got wrong\n\n" + pictures);
    print(confusion_matrix(test_, predictions) + "\n");
  }

  // Trains for an epoch with `setting` off, unless it is off already.
  template <typename T>
  void compare(const char* name, const char* variable, T& setting, T off, Report* report) {
    if (setting == off) {
      print(std::string("\n  ") + variable + " is set: nothing to compare it with\n");
      return;
    }
    const T former = std::exchange(setting, off);
    Comparison other{name, variable, train(report->network, options_, digits_, name, 1), false};
    setting = former;
    other.same_losses = begins_with(report->run.losses, other.run.losses);
    report->comparisons.push_back(std::move(other));
  }

  static int exit_code(const std::vector<Report>& reports) {
    for (const Report& report : reports) {
      for (const Comparison& other : report.comparisons) {
        if (other.same_losses) continue;
        std::fprintf(stderr, "digits: %s: with %s the losses differ\n", report.network.c_str(),
                     other.setting.c_str());
        return 1;
      }
    }
    return 0;
  }

  const Options& options_;
  Digits digits_;
  HostImages test_;
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
