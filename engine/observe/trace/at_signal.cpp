#include "engine/observe/trace/at_signal.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <iterator>
#include <thread>

namespace sluice::engine {
namespace {

constexpr int kSignals[] = {SIGABRT, SIGINT, SIGTERM};
constexpr int kPatience = 5000;  // ms

// A handler may call few functions: it wakes a thread, which may call all, through a pipe.
struct Pipe {
  int read = -1, write = -1;

  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
};

Pipe begin, end;
pid_t process;  // a forked child has no such thread
std::atomic<bool> is_taken{false};
struct sigaction before[std::size(kSignals)];

void wait_for_action() {
  if (getpid() != process || is_taken.exchange(true)) return;
  const char byte = 0;
  if (write(begin.write, &byte, 1) != 1) return;
  pollfd done{end.read, POLLIN, 0};
  while (poll(&done, 1, kPatience) < 0 && errno == EINTR) {
  }
}

void on_signal(int signal) {
  const int saved = errno;
  wait_for_action();
  for (size_t k = 0; k < std::size(kSignals); ++k) {
    if (kSignals[k] == signal) sigaction(signal, &before[k], nullptr);
  }
  raise(signal);  // comes when this handler returns
  errno = saved;
}

void serve(void (*action)()) {
  char byte = 0;
  while (read(begin.read, &byte, 1) < 0 && errno == EINTR) {
  }
  action();
  if (write(end.write, &byte, 1) != 1) return;
}

}  // namespace

void call_at_signals(void (*action)()) {
  if (!begin.open() || !end.open()) return;
  process = getpid();
  // The thread must not be the one that gets them.
  sigset_t all, mask;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  std::thread(serve, action).detach();
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  for (size_t k = 0; k < std::size(kSignals); ++k) {
    if (sigaction(kSignals[k], nullptr, &before[k]) != 0) continue;
    if ((before[k].sa_flags & SA_SIGINFO) == 0 && before[k].sa_handler == SIG_IGN) continue;
    struct sigaction ours {};
    ours.sa_handler = on_signal;
    ours.sa_flags = SA_ONSTACK | (before[k].sa_flags & SA_RESTART);
    sigaction(kSignals[k], &ours, nullptr);
  }
}

}  // namespace sluice::engine
