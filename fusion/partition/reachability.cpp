#include "fusion/partition/reachability.h"

#include <cstddef>

namespace sluice::fusion {

bool Reachability::contains(const Set& set, int v) {
  const size_t word = static_cast<size_t>(v) / 64;
  return word < set.size() && (set[word] >> (v % 64) & 1) != 0;
}

void Reachability::insert(Set& set, int v) {
  const size_t word = static_cast<size_t>(v) / 64;
  if (set.size() <= word) set.resize(word + 1);
  set[word] |= uint64_t{1} << (v % 64);
}

void Reachability::unite(Set& into, const Set& other) {
  if (into.size() < other.size()) into.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i) into[i] |= other[i];
}

void Reachability::add() {
  behind_.emplace_back();
  has_past_.push_back(false);
}

void Reachability::add_edge(int from, int to) {
  if (from == to || reaches(from, to)) return;
  unite(behind_[from], behind_[to]);
  insert(behind_[from], to);
  has_past_[to] = true;
  if (!has_past_[from]) return;
  for (Set& set : behind_) {
    if (contains(set, from)) unite(set, behind_[from]);
  }
}

void Reachability::merge(int into, int from) {
  unite(behind_[into], behind_[from]);
  if (!has_past_[into] && !has_past_[from]) return;
  has_past_[into] = true;
  for (Set& set : behind_) {
    if (!contains(set, into) && !contains(set, from)) continue;
    unite(set, behind_[into]);
    insert(set, into);
  }
}

}  // namespace sluice::fusion
