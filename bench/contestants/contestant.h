// The protocol of bench/scoreboard's contestants: a program reads commands from stdin, one per
// line, and answers each with one line on stdout ("error ..." on failure).
//
//   version                                    its name and version
//   programs                                   the names of its programs
//   prepare SECONDS PROGRAM COUNT INPUT...     makes the inputs
//   check                                      samples of the results of the third step since then
//   time                                       seconds a step and the number of steps, of a run of
//                                              SECONDS; the first time after warming up
//   quit
//
// An INPUT is shape:low:high, such as 4096x1024:-1:1; COUNT is the program's own: ops, or steps of
// an iteration. Started as `once PROGRAM COUNT INPUT...` it does one step in a fresh process.
#ifndef SLUICE_BENCH_CONTESTANTS_CONTESTANT_H_
#define SLUICE_BENCH_CONTESTANTS_CONTESTANT_H_

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace scoreboard {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Aligned for vectors; large arrays in huge pages.
template <typename T>
struct Memory {
  using value_type = T;
  static constexpr size_t kPage = size_t{2} << 20;
  static std::align_val_t alignment(size_t bytes) {
    return std::align_val_t{bytes < kPage ? 256 : kPage};
  }
  T* allocate(size_t n) {
    void* data = operator new(n * sizeof(T), alignment(n * sizeof(T)));
#ifdef MADV_HUGEPAGE
    if (n * sizeof(T) >= kPage) madvise(data, n * sizeof(T), MADV_HUGEPAGE);
#endif
    return static_cast<T*>(data);
  }
  void deallocate(T* p, size_t n) { operator delete(p, alignment(n * sizeof(T))); }
  bool operator==(const Memory&) const { return true; }
};
using Floats = std::vector<float, Memory<float>>;

struct Array {
  std::vector<int64_t> shape;
  Floats values;
};
using Arrays = std::vector<Array>;

// A program with its inputs.
struct Work {
  std::function<void()> step;                 // computes the results, waits for them and drops them
  std::function<std::vector<Floats>()> read;  // the results of one more step
};

struct Contestant {
  std::string version;
  std::map<std::string, std::function<Work(Arrays inputs, int64_t count)>> programs;
  // More about the step of a fresh process, as " name=value ...".
  std::function<std::string(const Work& work, Clock::time_point step_started)> after_once;
};

// Work of a framework, whose `run` returns a list of its tensors.
//   void Framework::wait(tensors)    until they are computed; small ones until they can be read
//   Floats Framework::read(tensor)
template <typename Framework, typename Run>
Work work_of(Run run) {
  const auto shared = std::make_shared<Run>(std::move(run));
  return {[shared] { Framework::wait((*shared)()); },
          [shared] {
            std::vector<Floats> values;
            for (const auto& tensor : (*shared)()) values.push_back(Framework::read(tensor));
            return values;
          }};
}

// Work with result buffers that every step overwrites.
template <typename Step>
Work work_of(std::shared_ptr<Arrays> results, Step step) {
  const auto shared = std::make_shared<Step>(std::move(step));
  return {[shared] { (*shared)(); },
          [results, shared] {
            (*shared)();
            std::vector<Floats> values;
            for (const Array& array : *results) values.push_back(array.values);
            return values;
          }};
}

namespace internal {

// Numbers between low and high, the same in every contestant (also in peers/contestant.py).
inline Array parse_input(const std::string& text, uint32_t number) {
  Array array;
  std::istringstream in(text);
  int64_t extent, total = 1;
  float low, high;
  char mark = 'x';
  while (mark == 'x' && in >> extent >> mark) {
    array.shape.push_back(extent);
    total *= extent;
  }
  if (!(in >> low >> mark >> high)) throw std::invalid_argument(text);
  array.values.resize(total);
  const float width = high - low;
  for (int64_t i = 0; i < total; ++i) {
    uint32_t h = static_cast<uint32_t>(i) * 0x9E3779B1u + (number + 1) * 0x85EBCA77u;
    h = (h ^ (h >> 15)) * 0x2C1B3C6Du;
    h = (h ^ (h >> 12)) * 0x297A2D39u;
    h ^= h >> 15;
    array.values[i] = low + width * (static_cast<float>(h >> 8) * 0x1p-24f);
  }
  return array;
}

struct Request {
  std::function<Work(Arrays inputs, int64_t count)> program;
  int64_t count = 0;
  Arrays inputs;
};

// PROGRAM COUNT INPUT...
inline Request parse_request(const Contestant& contestant, std::istream& in) {
  std::string name, input;
  Request request;
  in >> name >> request.count;
  const auto program = contestant.programs.find(name);
  if (program == contestant.programs.end()) throw std::invalid_argument("no program " + name);
  request.program = program->second;
  while (in >> input) {
    request.inputs.push_back(parse_input(input, static_cast<uint32_t>(request.inputs.size())));
  }
  return request;
}

// Five elements and the mean of every result.
inline std::string samples_of(const std::vector<Floats>& results) {
  std::ostringstream out;
  out.precision(9);
  for (const Floats& values : results) {
    const size_t last = values.size() - 1;
    for (size_t i = 0; i < 5; ++i) out << values[last * i / 4] << ' ';
    double sum = 0;
    for (const float value : values) sum += value;
    out << sum / static_cast<double>(values.size()) << ' ';
  }
  return out.str();
}

class Server {
 public:
  explicit Server(const Contestant& contestant) : contestant_(contestant) {}

  std::string answer(const std::string& line) {
    std::istringstream in(line);
    std::string command;
    in >> command;
    if (command == "version") return contestant_.version;
    if (command == "programs") {
      std::string names;
      for (const auto& [name, _] : contestant_.programs) names += name + " ";
      return names;
    }
    if (command == "prepare") {
      work_ = Work();
      in >> seconds_;
      Request request = parse_request(contestant_, in);
      work_ = request.program(std::move(request.inputs), request.count);
      steps_ = 0;
      return "ok";
    }
    if (command == "check") {
      work_.step();
      work_.step();
      return samples_of(work_.read());
    }
    if (command == "time") {
      if (steps_ == 0) find_steps();
      std::ostringstream out;
      out << run(steps_) / static_cast<double>(steps_) << ' ' << steps_;
      return out.str();
    }
    throw std::invalid_argument("no command " + command);
  }

 private:
  double run(int64_t steps) const {
    const Clock::time_point start = Clock::now();
    for (int64_t i = 0; i < steps; ++i) work_.step();
    return seconds_since(start);
  }

  void find_steps() {
    run(2);
    steps_ = 1;
    for (double taken = run(1); taken < seconds_; taken = run(steps_)) {
      const double factor = std::min(1.1 * seconds_ / std::max(taken, 1e-9), 100.0);
      steps_ = std::max(steps_ + 1, static_cast<int64_t>(static_cast<double>(steps_) * factor));
    }
  }

  const Contestant& contestant_;
  Work work_;
  double seconds_ = 0;
  int64_t steps_ = 0;
};

}  // namespace internal

inline int serve(const Contestant& contestant) {
  internal::Server server(contestant);
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    try {
      std::cout << server.answer(line) << std::endl;
    } catch (const std::exception& error) {
      std::string text = error.what();
      std::replace(text.begin(), text.end(), '\n', ' ');
      std::cout << "error " << text << std::endl;
    }
  }
  return 0;
}

// One step in a fresh process. Reports the time of generating the inputs' numbers, so that it can
// be subtracted.
inline int once(const Contestant& contestant, const std::vector<std::string>& arguments) {
  std::string text;
  for (size_t i = 2; i < arguments.size(); ++i) text += arguments[i] + " ";
  std::istringstream in(text);
  const Clock::time_point begin = Clock::now();
  internal::Request request = internal::parse_request(contestant, in);
  const double inputs = seconds_since(begin);
  const Work work = request.program(std::move(request.inputs), request.count);
  const Clock::time_point start = Clock::now();
  work.step();
  const double first = seconds_since(start);
  std::cout << "inputs=" << inputs << " first=" << first
            << " main=" << seconds_since(begin) - inputs << std::endl;
  if (contestant.after_once) std::cout << contestant.after_once(work, start) << std::endl;
  return 0;
}

inline int contestant_main(int argc, char** argv, const Contestant& contestant) {
  const std::vector<std::string> arguments(argv, argv + argc);
  return argc > 1 && arguments[1] == "once" ? once(contestant, arguments) : serve(contestant);
}

}  // namespace scoreboard

#endif  // SLUICE_BENCH_CONTESTANTS_CONTESTANT_H_
