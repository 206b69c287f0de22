#include "engine/observe/names.h"

namespace sluice::engine {

Names& Names::of_scopes() {
  static Names* names = new Names;
  return *names;
}

Names& Names::of_sentences() {
  static Names* names = new Names;
  return *names;
}

uint16_t Names::number_of(std::string_view text) {
  if (text.empty()) return 0;
  std::lock_guard lock(mutex_);
  if (const auto it = numbers_.find(std::string(text)); it != numbers_.end()) return it->second;
  if (texts_.size() == kMaxNames) texts_.push_back("...");
  if (texts_.size() > kMaxNames) return kMaxNames;
  const auto number = static_cast<uint16_t>(texts_.size());
  texts_.emplace_back(text);
  numbers_.emplace(text, number);
  return number;
}

std::string_view Names::text(uint16_t number) const {
  std::lock_guard lock(mutex_);
  return texts_[number];
}

NodeNames& NodeNames::get() {
  static NodeNames* names = new NodeNames;
  return *names;
}

void NodeNames::set(const Node* node, std::string_view name) {
  const uint16_t number = texts_.number_of(name);
  std::lock_guard lock(mutex_);
  names_[node] = number;
  has_names_.store(true, std::memory_order_relaxed);
}

void NodeNames::forget(const Node* node) {
  if (!has_names_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(mutex_);
  names_.erase(node);
}

void NodeNames::forget_all() {
  std::lock_guard lock(mutex_);
  names_.clear();
  has_names_.store(false, std::memory_order_relaxed);
}

uint16_t NodeNames::number(const Node* node) const {
  if (!has_names_.load(std::memory_order_relaxed)) return 0;
  std::lock_guard lock(mutex_);
  const auto it = names_.find(node);
  return it == names_.end() ? 0 : it->second;
}

}  // namespace sluice::engine
