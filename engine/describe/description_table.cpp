#include "engine/describe/description_table.h"

#include <algorithm>

#include "engine/observe/names.h"

namespace sluice::engine {
namespace {

// Keys of graphs that nobody holds any more are dropped whenever so many have come together.
constexpr size_t kManyKeys = 32768;

uint64_t word_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

std::shared_ptr<GraphDescription> DescriptionTable::find(const Window& window,
                                                         std::shared_ptr<const ReadyPlan> plan,
                                                         std::vector<Provenance> provenance) {
  make_key(window, plan.get(), provenance);
  if (key_ == last_key_) return last_;
  std::weak_ptr<GraphDescription>& known = descriptions_[key_];
  std::shared_ptr<GraphDescription> description = known.lock();
  if (description == nullptr) {
    std::vector<int32_t> sites;
    for (size_t i = 0; i < window.size(); ++i) {
      sites.push_back(site_number(window.origin(i).where));
    }
    description = std::make_shared<GraphDescription>(
        take_notes(window, std::move(sites), std::move(provenance)), std::move(plan));
    known = description;
    if (descriptions_.size() > kManyKeys) {
      absl::erase_if(descriptions_, [](const auto& entry) { return entry.second.expired(); });
    }
  }
  last_ = description;
  last_key_.swap(key_);
  return description;
}

void DescriptionTable::clear() {
  descriptions_.clear();
  last_.reset();
  last_key_.clear();
}

std::vector<trace::Site> DescriptionTable::sites() const {
  std::vector<trace::Site> sites;
  for (const Site& site : sites_) sites.push_back({site.file, site.line, site.function});
  return sites;
}

void DescriptionTable::make_key(const Window& window, const ReadyPlan* plan,
                                const std::vector<Provenance>& provenance) {
  const NodeNames& names = NodeNames::get();
  key_.clear();
  key_.push_back(word_of(plan));
  for (size_t i = 0; i < window.size(); ++i) {
    const Origin origin = window.origin(i);
    key_.push_back(word_of(origin.where.file_name()));
    key_.push_back(uint64_t{window.node(i)->has_handles()} << 63 |
                   uint64_t{origin.where.line()} << 32 | uint64_t{origin.scope} << 16 |
                   names.number(window.node(i)));
  }
  for (size_t i = 0; i < provenance.size(); ++i) {
    key_.push_back(uint64_t{provenance[i].sentence} << 32 |
                   static_cast<uint64_t>(provenance[i].kind) << 16 |
                   names.number(window.inputs()[i]));
  }
}

int32_t DescriptionTable::site_number(const std::source_location& where) {
  if (where.line() == 0) return -1;
  const auto next = static_cast<int32_t>(sites_.size());
  const auto [it, is_new] = site_numbers_.try_emplace(
      {static_cast<const void*>(where.file_name()), static_cast<int>(where.line())}, next);
  if (is_new) {
    sites_.push_back({where.file_name(), where.function_name(), static_cast<int>(where.line())});
  }
  return it->second;
}

}  // namespace sluice::engine
