// Random programs, run by the engine in every mode and by the oracle; and their gradients, in every
// mode.
//
//   SLUICE_FUZZ_SEED      of the first program (default 1); program n has the seed of the first + n
//   SLUICE_FUZZ_PROGRAMS  how many (default 2000, of gradients 150; fewer under a sanitizer)
//
// To run one failing program again: its printed seed, and SLUICE_FUZZ_PROGRAMS=1.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "tests/engine/fuzz_ops.h"

namespace sluice::test {
namespace {

struct Mode {
  bool fuse;
  CompileMode compile;
  int64_t window;
  bool eager = false;  // every value is computed at once: gradients compute those again that died
};

constexpr int64_t kWindows[] = {1, 2, 7, 100, 1 << 20};
// Everything else is compared with this one.
constexpr Mode kOpByOp = {false, CompileMode::kOff, 1 << 20};

std::vector<Mode> all_modes() {
  std::vector<Mode> modes;
  for (int64_t window : kWindows) {
    modes.push_back({false, CompileMode::kOff, window});
    modes.push_back({true, CompileMode::kOff, window});
    modes.push_back({true, CompileMode::kBlocking, window});
  }
  return modes;
}

std::vector<Mode> modes_for(uint64_t number) {
  if (number % 10 == 0) return all_modes();
  std::mt19937_64 rng(number);
  const auto window = [&] { return kWindows[rng() % std::size(kWindows)]; };
  return {{true, CompileMode::kOff, window()},
          {true, CompileMode::kBlocking, 1 << 20},
          {rng() % 2 == 0, CompileMode::kBlocking, window()}};
}

// What is compared of a program: its values, or the gradients of those that are left by its leaves.
enum class Of { kValues, kGradients };

std::string to_string(const Mode& mode) {
  return std::string(mode.fuse ? "fused" : "op by op") +
         (mode.compile == CompileMode::kOff ? ", interpreted" : ", compiled") + ", window of " +
         std::to_string(mode.window) + (mode.eager ? ", each value at once" : "");
}

std::string list(const auto& items) {
  std::ostringstream text;
  text << "{";
  const char* separator = "";
  for (const auto& item : items) {
    text << separator << item;
    separator = ", ";
  }
  text << "}";
  return text.str();
}

// The oracle's values of every step, by id.
std::map<int, NdArray> compute(const Program& program) {
  std::map<int, NdArray> values;
  for (const Step& step : program) {
    if (step.id < 0) continue;
    if (step.op == "leaf") {
      values[step.id] = step.leaf;
      continue;
    }
    Arrays operands;
    for (int arg : step.args) operands.push_back(values.at(arg));
    values[step.id] = row_of(step.op).oracle(step, operands);
  }
  return values;
}

std::string describe(const Program& program, const std::map<int, NdArray>& values) {
  std::ostringstream text;
  for (const Step& step : program) {
    text << "  ";
    if (step.id >= 0) text << "v" << step.id << " = ";
    text << step.op << "(";
    const char* separator = "";
    for (size_t i = 0; i < step.args.size(); ++i) {
      text << separator << (i == 0 && step.consume ? "move v" : "v") << step.args[i];
      separator = ", ";
    }
    text << ")";
    if (!step.ints.empty()) text << " " << list(step.ints);
    if (!step.axes.empty()) text << " axes " << list(step.axes);
    if (step.flag) text << " flag";
    if (step.id >= 0) {
      const NdArray& x = values.at(step.id);
      text << "  # " << name_of(x.dtype) << " " << sluice::to_string(x.shape);
    }
    if (step.op == "leaf" && step.leaf.numel() <= 8) {
      for (Real value : step.leaf.values) text << " " << static_cast<double>(value);
    }
    text << "\n";
  }
  return text.str();
}

struct Output {
  size_t step;
  int id;
  std::vector<uint8_t> bytes;
};

// By the leaf, in the order of the values and of the leaves.
void append_gradients(const std::map<int, Tensor>& handles, const std::map<int, Tensor>& leaves,
                      size_t step, std::vector<Output>* outputs) {
  std::vector<Tensor> xs;
  for (const auto& [id, leaf] : leaves) xs.push_back(leaf);
  for (const auto& [id, y] : handles) {
    if (!y.needs_grad() || leaves.contains(id)) continue;
    const Tensor seed = cos(arange(0, y.numel(), 1, y.dtype(), y.device())).reshape(y.shape());
    const std::vector<Tensor> all = gradients(y, xs, GradOptions{.seed = seed});
    size_t k = 0;
    for (const auto& [leaf_id, leaf] : leaves) {
      outputs->push_back({step, leaf_id, read_bytes(all[k++])});
    }
  }
}

// What the program's reads give, and last every value that is still held; or gradients.
std::vector<Output> run(const Program& program, const Mode& mode, Of of) {
  const ConfigGuard guard;
  sync();
  config().fuse = mode.fuse;
  config().compile = mode.compile;
  config().window_ops = mode.window;
  config().deterministic = true;
  manual_seed(7);
  std::map<int, Tensor> handles, leaves;
  std::vector<Output> outputs;
  for (size_t i = 0; i < program.size(); ++i) {
    const Step& step = program[i];
    if (step.op == "leaf") {
      handles[step.id] = to_tensor(step.leaf);
      if (of == Of::kGradients && is_float(step.leaf.dtype)) {
        handles[step.id] = leaves[step.id] = handles[step.id].requires_grad();
      }
    } else if (step.op == "drop")
      handles.erase(step.args[0]);
    else if (step.op == "read")
      outputs.push_back({i, step.args[0], read_bytes(handles.at(step.args[0]))});
    else if (step.op == "eval")
      handles.at(step.args[0]).eval();
    else if (step.op == "flush")
      flush();
    else {
      Tensors operands;
      for (int arg : step.args) operands.push_back(handles.at(arg));
      if (step.consume) handles.erase(step.args[0]);
      handles[step.id] = row_of(step.op).engine(step, std::move(operands));
      if (mode.eager) handles[step.id].eval();
    }
  }
  if (of == Of::kGradients) {
    append_gradients(handles, leaves, program.size(), &outputs);
    leaves.clear();
  } else {
    for (const auto& [id, tensor] : handles) {
      outputs.push_back({program.size(), id, read_bytes(tensor)});
    }
  }
  handles.clear();
  sync();
  return outputs;
}

// The first difference, in words; empty if there is none.
std::string check(const Program& program, const std::vector<Mode>& modes, Of of) {
  const std::map<int, NdArray> expected = compute(program);
  Mode mode = kOpByOp;
  try {
    const std::vector<Output> reference = run(program, mode, of);
    for (const Output& output : reference) {
      if (of == Of::kGradients) break;
      const testing::AssertionResult result = bytes_match(output.bytes, expected.at(output.id));
      if (!result) {
        return "v" + std::to_string(output.id) + " is not what the oracle says (" +
               to_string(mode) + "): " + result.message();
      }
    }
    for (const Mode& each : modes) {
      mode = each;
      const std::vector<Output> outputs = run(program, mode, of);
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i].bytes == reference[i].bytes) continue;
        const NdArray& x = expected.at(outputs[i].id);
        const size_t size = size_of(x.dtype);
        int64_t n = 0;
        while (std::equal(outputs[i].bytes.begin() + n * size,
                          outputs[i].bytes.begin() + (n + 1) * size,
                          reference[i].bytes.begin() + n * size)) {
          ++n;
        }
        return "v" + std::to_string(outputs[i].id) + " element " + std::to_string(n) + " is " +
               oracle::to_string(element(outputs[i].bytes, x.dtype, n), x.dtype) + " " +
               to_string(mode) + ", but " +
               oracle::to_string(element(reference[i].bytes, x.dtype, n), x.dtype) + " op by op";
      }
    }
  } catch (const std::exception& error) {
    return to_string(mode) + " threw: " + error.what();
  }
  return {};
}

// The program without step `index` and what depends on it.
Program without(const Program& program, size_t index) {
  Program result;
  std::vector<int> gone;
  for (size_t i = 0; i < program.size(); ++i) {
    const Step& step = program[i];
    const bool depends = std::any_of(step.args.begin(), step.args.end(), [&](int arg) {
      return std::find(gone.begin(), gone.end(), arg) != gone.end();
    });
    if (i != index && !depends)
      result.push_back(step);
    else if (step.id >= 0)
      gone.push_back(step.id);
  }
  // A value that a removed step consumed lives on: nothing later names it.
  return result;
}

Program minimise(Program program, const std::vector<Mode>& modes, Of of) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (size_t i = program.size(); i-- > 0;) {
      if (i >= program.size()) continue;
      const Program candidate = without(program, i);
      if (candidate.empty() || check(candidate, modes, of).empty()) continue;
      program = candidate;
      smaller = true;
    }
  }
  return program;
}

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// A crash ends the test: say in which program first.
char crash_note[64];

void report_crash(int signal) {
  const ssize_t written = write(STDERR_FILENO, crash_note, std::strlen(crash_note));
  static_cast<void>(written);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void report_crashes() {
  if (kSanitized) return;  // sanitizers have handlers of their own
  for (int signal : {SIGSEGV, SIGFPE, SIGILL, SIGBUS, SIGABRT}) std::signal(signal, report_crash);
}

// Of all values of a program.
uint64_t elements_of(const Generator& generator) {
  int64_t sum = 0;
  for (const auto& [id, value] : generator.values) sum += value.numel();
  return static_cast<uint64_t>(sum);
}

void expect_agreement(Of of, uint64_t programs) {
  uint64_t seed = from_environment("SLUICE_FUZZ_SEED", 1);
  programs = from_environment("SLUICE_FUZZ_PROGRAMS", programs);
  // Larger programs are passed over: one takes minutes where PTX is interpreted.
  const uint64_t most = from_environment("SLUICE_FUZZ_ELEMENTS", UINT64_MAX);
  constexpr int kMostFailures = 5;
  int failures = 0;
  report_crashes();
  for (uint64_t n = 0; n < programs && failures < kMostFailures; ++seed) {
    std::snprintf(crash_note, sizeof crash_note, "crashed: SLUICE_FUZZ_SEED=%llu\n",
                  static_cast<unsigned long long>(seed));
    Generator generator(seed);
    const Program program = generator.make();
    if (elements_of(generator) > most) continue;
    ++n;
    std::vector<Mode> modes = modes_for(seed);
    if (of == Of::kGradients) {
      for (Mode mode : {modes.front(), modes.back()}) {
        mode.eager = true;
        modes.push_back(mode);
      }
    }
    const std::string difference = check(program, modes, of);
    if (difference.empty()) continue;
    ++failures;
    const Program least = minimise(program, modes, of);
    ADD_FAILURE() << "program " << n << ", SLUICE_FUZZ_SEED=" << seed << ": " << difference
                  << "\nleast program that fails:\n"
                  << describe(least, compute(least)) << check(least, modes, of);
  }
}

TEST(Fuzz, AllModesAgreeWithEachOtherAndTheOracle) {
  expect_agreement(Of::kValues, kSanitized ? 150 : 2000);
}

TEST(Fuzz, GradientsAgreeInAllModes) { expect_agreement(Of::kGradients, kSanitized ? 30 : 150); }

// The oracle must have something to say of what the programs make, or the test above says nothing.
TEST(Fuzz, MostElementsAreKnown) {
  int64_t known = 0, all = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Generator generator(seed);
    generator.make();
    for (const auto& [id, value] : generator.values) {
      for (Real error : value.errors) known += error != oracle::kUnknown;
      all += value.numel();
    }
  }
  EXPECT_GT(known, all * 6 / 10) << known << " of " << all;
}

}  // namespace
}  // namespace sluice::test
