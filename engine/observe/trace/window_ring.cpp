#include "engine/observe/trace/window_ring.h"

#include <utility>

namespace sluice::engine {
namespace {

constexpr size_t kMaxWindows = 16384;
constexpr int64_t kMaxOps = 500'000;
constexpr int64_t kMaxSteps = 1'000'000;

}  // namespace

void WindowRing::add(std::shared_ptr<FlushRecord> record) {
  record->window.number = recorded_++;
  GraphDescription& graph = *record->description;
  if (graph.windows_kept++ == 0) ops_ += graph.num_ops();
  steps_ += static_cast<int64_t>(graph.steps().size());
  windows_.push_back(std::move(record));
  while (windows_.size() > kMaxWindows ||
         (windows_.size() > 1 && (ops_ > kMaxOps || steps_ > kMaxSteps))) {
    drop_oldest();
  }
}

void WindowRing::clear() {
  while (!windows_.empty()) drop_oldest();
  recorded_ = 0;
}

void WindowRing::drop_oldest() {
  GraphDescription& graph = *windows_.front()->description;
  steps_ -= static_cast<int64_t>(graph.steps().size());
  if (--graph.windows_kept == 0) ops_ -= graph.num_ops();
  windows_.pop_front();
}

}  // namespace sluice::engine
