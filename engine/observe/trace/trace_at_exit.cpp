// $SLUICE_TRACE and $SLUICE_DEBUG: recording from the start of the process, and a file at its end,
// however it ends.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <sluice/error.h>
#include "engine/observe/debug.h"
#include "engine/observe/recorder.h"
#include "engine/observe/trace/at_signal.h"
#include "engine/observe/trace/trace_file.h"
#include "engine/record/queue.h"
#include "kernels/executor.h"

namespace sluice::engine {
namespace {

// $SLUICE_TRACE, or empty.
const std::string& trace_path() {
  static const std::string* const path = [] {
    const char* text = std::getenv("SLUICE_TRACE");
    return new std::string(text == nullptr ? "" : text);
  }();
  return *path;
}

void write_at_exit(bool may_make_code) {
  try {
    write_trace(trace_path(), may_make_code);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
}

// To show the code of kernels takes compilers, whose static objects exit() destroys; objects of the
// main thread it destroys before. If another thread calls exit(), or main() ends by pthread_exit(),
// the file is written, or written again, when static objects go: without the code, unless an
// earlier trace has shown it.
struct MainThread {
  const bool is_main = gettid() == getpid();  // another one, if it has loaded this library

  ~MainThread() {
    if (!is_main) return;
    kernels::stop_compilers();
    for (Queue* queue : Queue::all()) {
      queue->stream().wait(queue->stream().next_ticket() - 1);
    }
    write_at_exit(/*may_make_code=*/true);
    wrote_windows() = Recorder::get().windows_recorded();
  }

  // How many windows there were when the file was last written; -1: it was not.
  static int64_t& wrote_windows() {
    static int64_t windows = -1;
    return windows;
  }
};

}  // namespace

bool start_by_environment() {
  if (!trace_path().empty()) {
    std::atexit([] {
      if (MainThread::wrote_windows() != Recorder::get().windows_recorded()) {
        write_at_exit(/*may_make_code=*/false);
      }
    });
    thread_local const MainThread main_thread;
    // Compilers may be in the middle of something.
    call_at_signals([] { write_at_exit(/*may_make_code=*/false); });
  }
  if (trace_path().empty() && debug_level() == 0) return false;
  Recorder::get().start();
  return true;
}

}  // namespace sluice::engine
