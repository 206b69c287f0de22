// The contestant "sluice" of bench/cliffs, which says it what to do: a command a line on stdin, an
// answer a line on stdout ("error ..." on failure).
//
//   version
//   programs
//   prepare SECONDS PROGRAM ARGUMENTS INPUT...   makes the inputs and steps until all kernels run
//                                                compiled; answers "name=value ..."
//   check                                        samples of the results of a step
//   time                                         seconds a step, of each of some batches of steps
//                                                that take about SECONDS in all
//   quit
//
// ARGUMENTS are integers with commas between them, or "-". SECONDS of 0 means that a program is new
// at every step: it is not warmed up, and timed once.
#include <algorithm>
#include <chrono>
#include <exception>
#include <iostream>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/cliffs/cliffs.h"

namespace sluice::bench {

std::map<std::string, Program, std::less<>>& programs() {
  static std::map<std::string, Program, std::less<>> all;
  return all;
}

namespace {

using Clock = std::chrono::steady_clock;

// As long as a program may go on being interpreted.
constexpr double kLongestWarmUp = 4;
constexpr int kBatches = 8;
// Of slow steps there are as many, for as many times the time.
constexpr int kFewBatches = 3;
constexpr double kPatience = 8;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Five elements, the mean, and a mean that depends on the order.
void write_samples(const Tensor& result, std::ostream& out) {
  const std::vector<double> values = astype(result, kFloat64).to_vector<double>();
  const size_t n = values.size();
  for (size_t i = 0; i < 5; ++i) out << values[(n - 1) * i / 4] << ' ';
  double sum = 0, weighted = 0;
  for (size_t i = 0; i < n; ++i) {
    sum += values[i];
    weighted += values[i] * static_cast<double>(i % 17 + 1);
  }
  out << sum / static_cast<double>(n) << ' ' << weighted / static_cast<double>(n) << ' ';
}

class Server {
 public:
  std::string answer(const std::string& line) {
    std::istringstream in(line);
    std::ostringstream out;
    out.precision(9);
    std::string command;
    in >> command;
    if (command == "version") {
      out << "Sluice";
      std::istringstream info(build_info());
      for (std::string entry; std::getline(info, entry);) out << ", " << entry;
    } else if (command == "programs") {
      for (const auto& [name, _] : programs()) out << name << ' ';
    } else if (command == "prepare") {
      prepare(in, out);
    } else if (command == "check") {
      for (const Tensor& result : step_()) write_samples(result, out);
    } else if (command == "time") {
      time(out);
    } else {
      throw std::invalid_argument("no command " + command);
    }
    return out.str();
  }

 private:
  void prepare(std::istream& in, std::ostream& out) {
    step_ = nullptr;
    steps_ = 0;
    std::string name, arguments, input;
    in >> seconds_ >> name >> arguments;
    const auto program = programs().find(name);
    if (program == programs().end()) throw std::invalid_argument("no program " + name);
    Given given;
    if (arguments != "-") {
      std::istringstream numbers(arguments);
      for (std::string number; std::getline(numbers, number, ',');) {
        given.add_argument(std::stoll(number));
      }
    }
    while (in >> input) given.add_input(input);
    sync();
    step_ = program->second(std::move(given));
    reset_stats();
    if (seconds_ > 0) warm_up(out);
  }

  void warm_up(std::ostream& out) {
    const Clock::time_point start = Clock::now();
    run(1);
    const double first = seconds_since(start);
    const int64_t peak = stats().bytes_allocated_peak;
    bool compiled = false;
    while (!compiled && seconds_since(start) < kLongestWarmUp) {
      const int64_t before = stats().generic_tier_launches;
      run(2);
      compiled = stats().generic_tier_launches == before;
      if (!compiled) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    out << "first=" << first << " warm_up=" << seconds_since(start) << " compiled=" << compiled
        << " compiles=" << stats().compiles << " peak_bytes=" << peak;
  }

  double run(int64_t steps) const {
    const Clock::time_point start = Clock::now();
    for (int64_t i = 0; i < steps; ++i) {
      const Tensors results = step_();
      sync();
    }
    return seconds_since(start) / static_cast<double>(steps);
  }

  void time(std::ostream& out) {
    if (seconds_ == 0) {
      out << run(1);
      return;
    }
    if (steps_ == 0) find_steps(seconds_ / kBatches);
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kBatches; ++i) {
      const double limit = seconds_ * (i < kFewBatches ? kPatience : 1);
      if (i > 0 && seconds_since(start) > limit) break;
      out << run(steps_) << ' ';
    }
  }

  // How many steps take `batch` seconds.
  void find_steps(double batch) {
    steps_ = 1;
    for (int tries = 0; tries < 3; ++tries) {
      const auto fitting = std::max<int64_t>(1, static_cast<int64_t>(batch / run(steps_)));
      const bool found = fitting <= steps_;
      steps_ = fitting;
      if (found) return;
    }
  }

  Step step_;
  double seconds_ = 0;
  int64_t steps_ = 0;  // of a batch; 0: not known yet
};

int serve() {
  add_pointwise_programs();
  add_reduction_programs();
  add_movement_programs();
  add_sorting_programs();
  add_whole_programs();
  add_linalg_programs();
  add_layer_programs();
  add_everyday_programs();
  add_network_programs();
  add_view_programs();
  add_science_programs();
  Server server;
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    std::string answer;
    try {
      answer = server.answer(line);
    } catch (const std::exception& error) {
      answer = std::string("error ") + error.what();
      std::replace(answer.begin(), answer.end(), '\n', ' ');
    }
    std::cout << answer << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace sluice::bench

int main() { return sluice::bench::serve(); }
