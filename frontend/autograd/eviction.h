// What gradients need and can be computed again is given up when memory is short: under a
// Config::memory_limit, once an allocation has failed. Which values: those that cost the least work
// for their bytes, counting what has been given up before and would have to be computed with them.
#ifndef SLUICE_FRONTEND_AUTOGRAD_EVICTION_H_
#define SLUICE_FRONTEND_AUTOGRAD_EVICTION_H_

#include <cstddef>

#include <sluice/config.h>
#include "frontend/autograd/tape.h"

namespace sluice::frontend {

// Entries keep all operands then, or recipes of them, so that every value can be computed again.
inline bool may_evict() {
  static const Config& settings = config();
  return settings.memory_limit != 0;
}

// Entries may be of use for what depends on no leaf.
inline bool may_be_constant() { return may_have_entries() && may_evict(); }

// There may be values to give up: windows are short from now on. Called by whoever makes a leaf.
void offer_values();

// The operands' values of an entry may be given up from now on, until it dies, by any thread.
void list_values(Tape* tape);
void unlist_values(Tape* tape);

// The value of operand k; null if it is not kept, or has been given up.
engine::NodeRef value_of(const Tape& tape, size_t k);
bool keeps_value(const Tape& tape, size_t k);
void keep_value(Tape* tape, size_t k, engine::NodeRef value);

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_AUTOGRAD_EVICTION_H_
