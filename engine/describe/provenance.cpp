#include "engine/describe/provenance.h"

namespace sluice::engine {
namespace {

constexpr size_t kMaxWindows = 16384;
constexpr size_t kMaxCopies = 1024;

}  // namespace

void ProvenanceTable::add_window(const runtime::Event& written, std::string_view why) {
  const EventKey key{written.stream, written.ticket};
  const bool is_new = windows_.insert_or_assign(key, Names::of_sentences().number_of(why)).second;
  if (!is_new) return;
  order_.push_back(key);
  if (order_.size() > kMaxWindows) {
    windows_.erase(order_.front());
    order_.pop_front();
  }
}

void ProvenanceTable::add_copy(const Node& copy, std::string_view how) {
  if (copies_.size() >= kMaxCopies) copies_.clear();
  copies_[{&copy, copy.buffer.get()}] = Names::of_sentences().number_of(how);
}

void ProvenanceTable::clear() {
  windows_.clear();
  order_.clear();
  copies_.clear();
}

std::vector<Provenance> ProvenanceTable::of(const Window& window) const {
  std::vector<Provenance> result;
  for (const Node* input : window.inputs()) {
    Provenance& provenance = result.emplace_back();
    const runtime::Buffer* buffer = input->buffer.get();
    if (const auto copy = copies_.find({input, buffer}); copy != copies_.end()) {
      provenance = {Provenance::Kind::kOtherDevice, copy->second};
      continue;
    }
    const auto earlier = windows_.find({buffer->written.stream, buffer->written.ticket});
    if (earlier == windows_.end()) continue;
    provenance = {Provenance::Kind::kEarlierWindow, earlier->second};
  }
  return result;
}

}  // namespace sluice::engine
