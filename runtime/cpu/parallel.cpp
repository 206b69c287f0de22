#include "runtime/cpu/parallel.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#if defined(SLUICE_HAVE_OPENMP) && SLUICE_HAVE_OPENMP
#include <omp.h>
#define SLUICE_USE_OPENMP 1
#else
#define SLUICE_USE_OPENMP 0
#endif

namespace sluice {
namespace {

int default_threads() {
#if SLUICE_USE_OPENMP
  if (const char* text = std::getenv("SLUICE_THREADS")) {
    const int given = std::atoi(text);
    if (given > 0) return given;
  }
  return std::max(1, omp_get_max_threads());
#else
  return 1;
#endif
}

#if SLUICE_USE_OPENMP
thread_local bool has_team = false;
#endif

}  // namespace

int num_threads() {
  static const int count = default_threads();
  return count;
}

void parallel_for(int64_t count, int64_t grain,
                  absl::FunctionRef<void(int64_t begin, int64_t end)> f) {
  if (count <= 0) return;
  auto run = [&f](int64_t begin, int64_t end) noexcept { f(begin, end); };
#if SLUICE_USE_OPENMP
  const int64_t ranges = std::min<int64_t>(num_threads(), count / std::max<int64_t>(1, grain));
  if (ranges > 1 && !omp_in_parallel()) {
    has_team = true;
    // OpenMP may grant a smaller team.
#pragma omp parallel num_threads(static_cast <int>(ranges))
    {
      const int64_t team = omp_get_num_threads();
      const int64_t rank = omp_get_thread_num();
      const int64_t begin = count / team * rank + std::min(rank, count % team);
      const int64_t size = count / team + (rank < count % team ? 1 : 0);
      if (size > 0) run(begin, begin + size);
    }
    return;
  }
#else
  static_cast<void>(grain);
#endif
  run(0, count);
}

void release_threads() {
#if SLUICE_USE_OPENMP
  if (!std::exchange(has_team, false)) return;
  omp_pause_resource(omp_pause_soft, omp_get_initial_device());
#endif
}

SharedCores::SharedCores() {
  parallel_for(2, 1, [](int64_t, int64_t) {});
}
SharedCores::~SharedCores() { release_threads(); }

ScopedThreads::ScopedThreads(int threads) : before_(threads) {
#if SLUICE_USE_OPENMP
  has_team = has_team || threads > 1;
  before_ = omp_get_max_threads();
  omp_set_num_threads(threads);
#endif
}

ScopedThreads::~ScopedThreads() {
#if SLUICE_USE_OPENMP
  omp_set_num_threads(before_);
#endif
}

}  // namespace sluice
