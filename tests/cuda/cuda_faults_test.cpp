// Every call of the CUDA driver in a training step fails in turn, then every kernel: what depends
// on it is an error that says what it was, all else is right, and so is the next step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/driver/driver.h"
#include "tests/emulated_cuda/start.h"
#include "tests/support/child_process.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using runtime::cuda::Result;

std::vector<float> wave(int64_t count, float scale) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<float>(i + 1)) * scale;
  return values;
}

// A network of two layers, its gradients written by hand, and Adam.
class Model {
 public:
  // Without `library`, products are ops of ours: then plans recur without a library call.
  explicit Model(bool library)
      : library_(library),
        pixels_(Tensor::from(wave(20 * kIn, 1), {20, kIn})),
        labels_(Tensor::from<int64_t>({0, 3, 1, 2, 2, 1, 3, 0, 1, 2, 3, 3, 0, 1, 0, 2, 1, 1, 3, 0},
                                      {20})) {
    const Shape shapes[] = {{kIn, kHidden}, {kHidden}, {kHidden, kOut}, {kOut}};
    for (const Shape& shape : shapes) {
      parameters_.push_back(Tensor::from(wave(shape.numel(), 0.5f), shape));
      means_.push_back(zeros(shape));
      squares_.push_back(zeros(shape));
    }
  }

  void step() {
    ++steps_;
    const Tensor rows = Tensor::from<int32_t>({3, 17, 4, 19, 8, 11, 0, 12}, {8});
    const Tensor x = take(pixels_, rows, 0), targets = one_hot(take(labels_, rows, 0), kOut);
    const Tensor hidden = relu(product(x, parameters_[0]) + parameters_[1]);
    const Tensor logits = product(hidden, parameters_[2]) + parameters_[3];
    const Tensor shifted = logits - max(logits, 1, true);
    const Tensor log_probabilities = shifted - log(sum(exp(shifted), {1}, true));
    loss_ = sum(targets * log_probabilities) * -0.125f;
    const Tensor delta = (exp(log_probabilities) - targets) * 0.125f;
    const Tensor inner = where(hidden > 0.f, product(delta, parameters_[2].T()), 0.f);
    const Tensor gradients[] = {product(x.T(), inner), sum(inner, {0}), product(hidden.T(), delta),
                                sum(delta, {0})};
    const float mean_scale = 1 / (1 - std::pow(0.9f, static_cast<float>(steps_)));
    const float square_scale = 1 / (1 - std::pow(0.999f, static_cast<float>(steps_)));
    for (size_t i = 0; i < parameters_.size(); ++i) {
      means_[i] = means_[i] * 0.9f + gradients[i] * 0.1f;
      squares_[i] = squares_[i] * 0.999f + square(gradients[i]) * 0.001f;
      parameters_[i] -= means_[i] * mean_scale / (sqrt(squares_[i] * square_scale) + 1e-8f) * 0.01f;
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      sync();
    }
  }

  // The loss, then the parameters.
  std::vector<Tensor> results() const {
    std::vector<Tensor> all = {loss_};
    all.insert(all.end(), parameters_.begin(), parameters_.end());
    return all;
  }

 private:
  static constexpr int64_t kIn = 12, kHidden = 16, kOut = 4;

  Tensor product(const Tensor& a, const Tensor& b) const {
    return library_ ? matmul(a, b) : sum(a.expand_dims(2) * b.expand_dims(0), {1});
  }

  const bool library_;
  Tensor pixels_, labels_, loss_;
  std::vector<Tensor> parameters_, means_, squares_;
  int steps_ = 0;
};

// As they lie in memory, one after another.
std::string bits_of(const std::vector<Tensor>& tensors) {
  std::string all;
  for (const Tensor& tensor : tensors) {
    const std::vector<uint8_t> bytes = read_bytes(tensor);
    all.append(bytes.begin(), bytes.end());
  }
  return all;
}

constexpr int64_t kStride = kSanitized ? 3 : 1;  // of the calls that fail
constexpr int64_t kNever = int64_t{1} << 40;
constexpr char kLost[] = "This process cannot use the device any more";

struct Fault {
  const char* name;
  Result result;
};
constexpr Fault kFaults[] = {{"no memory", Result::kOutOfMemory},
                             {"refused", Result::kInvalidValue},
                             {"illegal address", Result::kIllegalAddress}};

// Which steps of a model are to fail.
struct Steps {
  int before;
  int failing;
  bool library;

  int all() const { return before + failing; }
};

// A process in which something fails. The emulated device is the default one.
class Patient {
 public:
  explicit Patient(uint64_t seed) : emulator_(emulated::start({.seed = seed})) {
    set_default_device(Device::cpu());
    on_host_ = Tensor::from({1.f, 2.f, 3.f});
    set_default_device(Device::cuda(0));
    bystander_ = Tensor::from({4.f, 5.f, 6.f});
    sync();
  }

  emulated::EmulatedCuda& emulator() { return emulator_; }
  const std::vector<std::string>& errors() const { return errors_; }

  // Whether `f` throws no Error.
  template <typename F>
  bool attempt(F&& f) {
    try {
      f();
      return true;
    } catch (const Error& error) {
      if (std::find(errors_.begin(), errors_.end(), error.what()) == errors_.end()) {
        errors_.push_back(error.what());
      }
      return false;
    }
  }

  // Another model comes to the same as ever.
  void expect_device_works(const Steps& steps, const std::string& expected) {
    EXPECT_EQ(bystander_.to_vector<float>(), (std::vector<float>{4, 5, 6}));
    EXPECT_NO_THROW(sync());
    Model model(steps.library);
    model.run(steps.all());
    EXPECT_TRUE(bits_of(model.results()) == expected);
    EXPECT_NO_THROW(sync());
  }

  void expect_device_is_lost() {
    const auto lost = [](auto&& f) { return fails_with(f, Code::kInternal, {kLost}); };
    EXPECT_TRUE(lost([] { return Tensor::from({1.f}); }));
    EXPECT_TRUE(lost([&] { return (bystander_ * 2.f).to_vector<float>(); }));
    EXPECT_TRUE(lost([&] { return bystander_.to_vector<float>(); }));
  }

  // To be called when nothing else holds tensors.
  void finish() {
    EXPECT_EQ((on_host_ + 1.f).to_vector<float>(), (std::vector<float>{2, 3, 4}));
    on_host_ = bystander_ = {};
    attempt([] { sync(); });
    EXPECT_EQ(stats().bytes_live, 0);
    for (const std::string& text : emulator_.violations()) ADD_FAILURE() << text;
  }

 private:
  using Code = ErrorCode;

  emulated::EmulatedCuda& emulator_;
  Tensor on_host_, bystander_;
  std::vector<std::string> errors_;
};

// The message is of the op, of the copy, or of the device as a whole.
testing::AssertionResult says_what(const std::string& message, bool sticky) {
  static const std::regex kOp(R"((kernel )?[a-z_0-9+.]+ \(result [a-z0-9]+\(.*\)\): .*)");
  static const std::regex kCopy(R"((from: [a-z0-9]+\(.*\): |copy of \d+ bytes ).*)");
  static const std::regex kDevice(R"(.*cuda:0.*)");
  if (sticky && !message.ends_with(kLost) &&
      message.find(kLost + std::string("; SLUICE_SYNC=1")) == std::string::npos) {
    return testing::AssertionFailure() << message;
  }
  if (std::regex_match(message, kOp) || std::regex_match(message, kCopy) ||
      std::regex_match(message, kDevice)) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << message;
}

// The n-th call from the first failing step on gives `result`. Empty if there is no such call.
std::string fail_a_call(int64_t n, Result result, const Steps& steps, const std::string& expected) {
  config().compile = n % 2 == 0 ? CompileMode::kBlocking : CompileMode::kAsync;
  const bool sticky = runtime::cuda::is_sticky(result);
  Patient patient(n);
  bool came = false;
  {
    Model model(steps.library);
    model.run(steps.before);
    sync();
    const int64_t start = patient.emulator().calls();
    patient.emulator().fail_call(n, result);
    bool recorded = true, synced = true;
    for (int i = 0; i < steps.failing; ++i) {
      recorded &= patient.attempt([&] { model.step(); });
      synced &= patient.attempt([] { sync(); });
    }
    const std::vector<Tensor> results = recorded ? model.results() : std::vector<Tensor>();
    size_t at = 0;
    for (const Tensor& x : results) {
      const auto read = [&, at] {
        EXPECT_TRUE(bits_of({x}) == expected.substr(at, 4 * x.numel())) << "at " << at;
      };
      // A result that cannot be had has been reported: it is the reading that failed, then.
      const bool good = patient.attempt(read);
      if (!good && synced && !sticky) {
        EXPECT_NO_THROW(read());
      }
      at += 4 * x.numel();
    }
    came = patient.emulator().calls() - start >= n;
    patient.emulator().fail_call(kNever, Result::kInvalidValue);
    for (const std::string& error : patient.errors()) EXPECT_TRUE(says_what(error, sticky));
    EXPECT_TRUE(came || patient.errors().empty());
  }
  if (sticky && came) {
    patient.expect_device_is_lost();
  } else {
    patient.expect_device_works(steps, expected);
  }
  patient.finish();
  return came ? "it came" : "";
}

// The launches that a message puts a failure down to.
struct Blame {
  std::string label;
  int64_t first = 0, last = 0;
};
std::vector<Blame> blames(const std::string& message) {
  static const std::regex kBlame(
      R"(first incomplete: (.*?) \(launch (\d+)\)(, submitted with all up to launch (\d+))?)");
  std::vector<Blame> found;
  for (std::sregex_iterator it(message.begin(), message.end(), kBlame), end; it != end; ++it) {
    const int64_t first = std::stoll((*it)[2]);
    found.push_back({(*it)[1], first, (*it)[4].matched ? std::stoll((*it)[4]) : first});
  }
  return found;
}

// The error of a program whose n-th kernel fails.
std::string fail_a_kernel(int64_t n, bool library, bool synchronous) {
  if (synchronous) setenv("SLUICE_SYNC", "1", 1);
  config().compile = CompileMode::kBlocking;
  Patient patient(n);
  {
    Model model(library);
    patient.emulator().fail_kernel(n, Result::kIllegalAddress);
    EXPECT_FALSE(patient.attempt([&] { model.run(static_cast<int>(n)); }));
    patient.emulator().fail_kernel(kNever, Result::kIllegalAddress);
    EXPECT_FALSE(patient.attempt([&] { bits_of(model.results()); }));
    for (const std::string& error : patient.errors()) EXPECT_TRUE(says_what(error, true));
  }
  patient.expect_device_is_lost();
  patient.finish();
  return patient.errors().front();
}

class CudaFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("SLUICE_EMULATED_CUDA") != nullptr) GTEST_SKIP() << "has emulators of its own";
    unsetenv("SLUICE_SYNC");
  }

  static std::string run_without_fault(const Steps& steps) {
    std::string bits;
    ChildProcesses(1).start(
        "no fault",
        [&] {
          config().compile = CompileMode::kBlocking;
          Patient patient(1);
          Model model(steps.library);
          model.run(steps.all());
          return bits_of(model.results());
        },
        [&](const std::string& answer) { bits = answer; });
    return bits;
  }

  static void fail_every_call(const Steps& steps) {
    const std::string expected = run_without_fault(steps);
    ASSERT_FALSE(expected.empty());
    for (const Fault& fault : kFaults) {
      bool over = false;
      ChildProcesses children(2);
      for (int64_t n = 1; n <= 500 && !over; n += kStride) {
        children.start(
            absl::StrCat(fault.name, " at call ", n),
            [&] { return fail_a_call(n, fault.result, steps, expected); },
            [&](const std::string& answer) { over |= answer.empty(); });
      }
    }
  }
};

TEST_F(CudaFaults, EveryCallOfTheFirstStep) { fail_every_call({0, 1, true}); }
TEST_F(CudaFaults, EveryCallOfALaterStep) { fail_every_call({4, 1, true}); }
// The first of these makes a graph, the second changes it.
TEST_F(CudaFaults, EveryCallOfStepsThatAreReplayed) { fail_every_call({4, 2, false}); }

// With SLUICE_SYNC=1 it is known which launch it was; without, among which.
TEST_F(CudaFaults, EveryKernel) {
  constexpr int64_t kKernels = 50;
  std::map<int64_t, std::string> at_once, later;
  {
    ChildProcesses children(2);
    for (int64_t n = 1; n <= kKernels; ++n) {
      children.start(
          absl::StrCat("kernel ", n, " with SLUICE_SYNC=1"),
          [&] { return fail_a_kernel(n, true, true); },
          [&, n](const std::string& answer) { at_once[n] = answer; });
      children.start(
          absl::StrCat("kernel ", n), [&] { return fail_a_kernel(n, true, false); },
          [&, n](const std::string& answer) { later[n] = answer; });
    }
  }
  for (int64_t n = 1; n <= kKernels; ++n) {
    SCOPED_TRACE(absl::StrCat("kernel ", n, "\n", at_once[n], "\n", later[n]));
    const std::vector<Blame> exact = blames(at_once[n]);
    ASSERT_EQ(exact.size(), 1);
    EXPECT_EQ(exact[0].first, exact[0].last);
    EXPECT_NE(exact[0].label.find(" (result "), std::string::npos);
    EXPECT_TRUE(at_once[n].ends_with(kLost));
    const std::vector<Blame> rough = blames(later[n]);
    EXPECT_TRUE(std::any_of(rough.begin(), rough.end(), [&](const Blame& blame) {
      return blame.first <= exact[0].first && exact[0].first <= blame.last;
    }));
  }
}

TEST_F(CudaFaults, KernelsOfAGraph) {
  ChildProcesses children(2);
  for (int64_t n = 1; n <= 100; n += 3) {
    children.start(
        absl::StrCat("kernel ", n), [&] { return fail_a_kernel(n, false, false); },
        [&, n](const std::string& answer) {
          EXPECT_FALSE(blames(answer).empty()) << "kernel " << n << ": " << answer;
        });
  }
}

// Each op is a kernel: it is known what each depends on.
class Ops {
 public:
  explicit Ops(const Tensor& x)
      : tensors_{exp(x), sin(x)}, label_{"exp", "sin", "add", "sqrt", "take"} {
    tensors_.push_back(tensors_[0] + tensors_[1]);
    tensors_.push_back(sqrt(tensors_[0]));
    tensors_.push_back(take(tensors_[1], Tensor::from<int64_t>({2, 0}), 0));
  }

  size_t size() const { return tensors_.size(); }
  const Tensor& operator[](size_t i) const { return tensors_[i]; }
  const char* label(size_t i) const { return label_[i]; }
  // Whether op i needs op k.
  static bool needs(size_t i, size_t k) {
    constexpr bool kNeeds[5][5] = {
        {1, 0, 0, 0, 0}, {0, 1, 0, 0, 0}, {1, 1, 1, 0, 0}, {1, 0, 0, 1, 0}, {0, 1, 0, 0, 1}};
    return kNeeds[i][k];
  }

 private:
  std::vector<Tensor> tensors_;
  const char* label_[5];
};

void expect_dependents_to_fail(int64_t n) {
  config().compile = CompileMode::kBlocking;
  config().fuse = false;
  Patient patient(n);
  {
    const Tensor x = Tensor::from({0.5f, 1.f, 2.f});
    std::vector<std::string> expected;
    {
      const Ops ops(x);
      for (size_t i = 0; i < ops.size(); ++i) expected.push_back(bits_of({ops[i]}));
    }
    std::optional<Ops> made;
    patient.emulator().fail_call(n, Result::kLaunchOutOfResources);
    if (patient.attempt([&] { made.emplace(x); }) && !patient.attempt([] { sync(); })) {
      patient.emulator().fail_call(kNever, Result::kInvalidValue);
      const Ops& ops = *made;
      const std::string& error = patient.errors().back();
      size_t culprit = 0;
      while (culprit < ops.size() && !error.starts_with(ops.label(culprit))) ++culprit;
      // Else it is of the batch: nothing of it can be had.
      const bool is_launch = error.find("cuLaunchKernelEx") != std::string::npos;
      EXPECT_TRUE(culprit < ops.size()) << error;
      for (size_t i = 0; i < ops.size(); ++i) {
        const bool good = patient.attempt([&] { EXPECT_EQ(bits_of({ops[i]}), expected[i]); });
        if (is_launch) {
          EXPECT_EQ(good, !Ops::needs(i, culprit)) << ops.label(i) << " of " << error;
        }
      }
      EXPECT_EQ(patient.errors().size(), 1);
      EXPECT_NO_THROW(sync());
    }
    patient.emulator().fail_call(kNever, Result::kInvalidValue);
  }
  patient.finish();
}

TEST_F(CudaFaults, OnlyWhatDependsOnAFailedLaunchFails) {
  ChildProcesses children(2);
  for (int64_t n = 1; n <= 40; ++n) {
    children.start(absl::StrCat("call ", n), [&] {
      expect_dependents_to_fail(n);
      return "";
    });
  }
}

}  // namespace
}  // namespace sluice::test
