// Processes of a test's own: for what a process can do only once, such as lose its GPU or die.
#ifndef SLUICE_TESTS_SUPPORT_CHILD_PROCESS_H_
#define SLUICE_TESTS_SUPPORT_CHILD_PROCESS_H_

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace sluice::test {

// Runs bodies in forked processes, a few at a time. Whoever has one must not have started a thread
// or used the engine before: of a process with threads only one is forked.
class ChildProcesses {
 public:
  using Body = std::function<std::string()>;
  using Then = std::function<void(const std::string&)>;

  explicit ChildProcesses(size_t most) : most_(most) {}
  ~ChildProcesses() { wait(); }
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;

  // `then` is given what `body` returns, here, from a later call. What the child expected in vain,
  // a crash, a time of more than kSeconds and a leak that a sanitizer finds are failures of the
  // test, which call it `name`.
  void start(const std::string& name, const Body& body, Then then = nullptr) {
    while (running_.size() >= most_) wait_for_one();
    const int answer = memfd_create("answer", MFD_CLOEXEC);
    std::fflush(nullptr);
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) run(name, body, answer);
    running_[pid] = {name, std::move(then), answer};
  }

  void wait() {
    while (!running_.empty()) wait_for_one();
  }

 private:
  static constexpr unsigned kSeconds = 60;

  struct Child {
    std::string name;
    Then then;
    int answer;  // a file
  };

  // The child's own: the test may have failed before.
  struct Failures : testing::EmptyTestEventListener {
    void OnTestPartResult(const testing::TestPartResult& result) override {
      any |= result.failed();
    }
    bool any = false;
  };

  [[noreturn]] static void run(const std::string& name, const Body& body, int answer) {
    alarm(kSeconds);
    auto* const failures = new Failures;
    testing::UnitTest::GetInstance()->listeners().Append(failures);
    const testing::ScopedTrace trace(__FILE__, __LINE__, name);
    try {
      const std::string text = body();
      EXPECT_EQ(write(answer, text.data(), text.size()), ssize_t(text.size()));
    } catch (const std::exception& error) {
      ADD_FAILURE() << "an exception: " << error.what();
    }
    // With all that a process does at its end.
    std::exit(failures->any);
  }

  void wait_for_one() {
    int status = 0;
    const auto ended = running_.find(waitpid(-1, &status, 0));
    if (ended == running_.end()) return;
    const Child child = std::move(ended->second);
    running_.erase(ended);
    std::string answer(lseek(child.answer, 0, SEEK_END), '\0');
    const bool read =
        pread(child.answer, answer.data(), answer.size(), 0) == ssize_t(answer.size());
    close(child.answer);
    if (WIFSIGNALED(status)) {
      ADD_FAILURE() << child.name << ": the process died of signal " << WTERMSIG(status);
    } else if (WEXITSTATUS(status) != 0) {
      ADD_FAILURE() << child.name << ": the process failed with " << WEXITSTATUS(status);
    } else if (read && child.then) {
      child.then(answer);
    }
  }

  const size_t most_;
  std::map<pid_t, Child> running_;
};

// One of them, to its end.
inline void run_in_child(const std::string& name, const std::function<void()>& body) {
  ChildProcesses(1).start(name, [&] {
    body();
    return std::string();
  });
}

}  // namespace sluice::test

#endif  // SLUICE_TESTS_SUPPORT_CHILD_PROCESS_H_
