#include "tests/ptx_device/race_watch.h"

#include <algorithm>

namespace sluice::ptx {
namespace {

bool is_atomic(const Instruction& insn) {
  return insn.op == kAtom || insn.op == kRed || insn.strong;
}

}  // namespace

void RaceWatch::begin_block(int shared_bytes) {
  shared_.assign(static_cast<size_t>(shared_bytes), Place{});
}

void RaceWatch::set_pending(uint64_t at, int bytes, bool pending) {
  for (int i = 0; i < bytes; ++i) shared_[at + i].pending = pending;
}

bool RaceWatch::shared(const Instruction& insn, const Access& me, uint64_t at, int bytes,
                       uint64_t value, std::string* wrong) {
  for (int i = 0; i < bytes; ++i) {
    Place& place = shared_[at + i];
    if (place.pending) {
      *wrong = "touches what " + who(place.writer) + " has a copy under way to";
      return false;
    }
    if (insn.op == kLd && place.writer.thread == 0) {
      *wrong = "reads what nobody has written";
      return false;
    }
    if (!watch(insn, me, true, value >> (8 * i) & 0xff, &place, wrong)) return false;
  }
  return true;
}

bool RaceWatch::global(const Instruction& insn, const Access& me, uint64_t at, int bytes,
                       uint64_t value, std::string* wrong) {
  // Small elements that share a place would be taken for one another.
  if (bytes < 4 && at % 4 != 0) return true;
  for (int i = 0; i < bytes; i += 4) {
    if (!watch(insn, me, false, value >> (8 * i) & 0xffffffffu, &global_place(at + i), wrong)) {
      return false;
    }
  }
  return true;
}

RaceWatch::Place& RaceWatch::global_place(uint64_t address) {
  const uint64_t number = address >> 12;
  if (last_page_ == nullptr || number != last_page_number_) {
    std::unique_ptr<Page>& page = pages_[number];
    if (page == nullptr) page = std::make_unique<Page>();
    last_page_ = page.get();
    last_page_number_ = number;
  }
  return last_page_->places[(address & 4095) >> 2];
}

bool RaceWatch::is_ordered_with(const Access& before, const Access& me, bool is_shared) const {
  const uint32_t other = before.thread - 1, mine = me.thread - 1;
  const bool is_later = before.block_epoch != me.block_epoch;
  if (other / kWarp == mine / kWarp) return is_later || before.warp_epoch != me.warp_epoch;
  return is_later && (is_shared || other / threads_ == mine / threads_);
}

std::string RaceWatch::who(const Access& access) const {
  const uint32_t thread = access.thread - 1;
  return "thread " + std::to_string(thread % threads_) + " of block " +
         std::to_string(thread / threads_) + " (PTX line " + std::to_string(access.line) + ")";
}

std::string RaceWatch::race(const char* does, bool is_shared, const Access& other,
                            const char* did) const {
  std::string text = "a race: ";
  text.append(does).append(is_shared ? " shared" : " global").append(" memory that ");
  return text.append(who(other)).append(did);
}

// This runs for every access: nothing is allocated unless something is wrong.
bool RaceWatch::watch(const Instruction& insn, const Access& me, bool is_shared, uint64_t value,
                      Place* place, std::string* wrong) const {
  const bool writes = insn.op != kLd;
  // Several threads may write one value to one place: an error slot, a padded row.
  if (!is_atomic(insn) && !is_ordered(place->writer, me, is_shared) &&
      (!writes || place->value != value)) {
    *wrong = race(writes ? "writes" : "reads", is_shared, place->writer, " writes");
    return false;
  }
  if (insn.strong && !writes) return true;
  if (writes) {
    for (const Access* reader : {&place->reader, &place->last_reader}) {
      if (is_ordered(*reader, me, is_shared)) continue;
      *wrong = race("writes", is_shared, *reader, " reads");
      return false;
    }
    if (place->non_coherent) {
      *wrong = "writes memory that is read by ld.global.nc";
      return false;
    }
    place->writer = me;
    place->value = value;
    return true;
  }
  if (insn.nc) {
    place->non_coherent = true;
    if (place->writer.thread != 0) {
      *wrong = "reads by ld.global.nc what is written";
      return false;
    }
  }
  const Access& first = place->reader;
  const bool is_replaced =
      first.thread == 0 || first.thread == me.thread ||
      ((is_shared || (first.thread - 1) / threads_ == (me.thread - 1) / threads_) &&
       is_ordered(first, me, is_shared));
  (is_replaced ? place->reader : place->last_reader) = me;
  return true;
}

}  // namespace sluice::ptx
