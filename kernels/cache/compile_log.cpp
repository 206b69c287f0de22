#include "kernels/cache/compile_log.h"

#include <deque>
#include <mutex>
#include <utility>

namespace sluice::kernels {
namespace {

struct Log {
  std::mutex mutex;
  std::deque<Compilation> entries;
};

Log& log() {
  static Log* log = new Log;
  return *log;
}

}  // namespace

void log_compilation(Compilation compilation) {
  std::lock_guard lock(log().mutex);
  log().entries.push_back(std::move(compilation));
  if (log().entries.size() > kMaxCompilations) log().entries.pop_front();
}

std::vector<Compilation> logged_compilations() {
  std::lock_guard lock(log().mutex);
  return {log().entries.begin(), log().entries.end()};
}

}  // namespace sluice::kernels
