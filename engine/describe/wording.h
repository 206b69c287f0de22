// What traces and messages say of places and flushes.
#ifndef SLUICE_ENGINE_DESCRIBE_WORDING_H_
#define SLUICE_ENGINE_DESCRIBE_WORDING_H_

#include <string>

#include "engine/observe/call_site.h"
#include "engine/record/flush_cause.h"
#include "engine/record/node.h"

namespace sluice::engine {

// "train.cpp:31", or empty.
std::string place_of(const std::source_location& where);
inline std::string place_of(const Origin& origin) { return place_of(origin.where); }

// " at train.cpp:31", or empty.
std::string at_place(const Origin& origin);

// "read", "op budget", ...
const char* name_of(FlushCause cause);

// A sentence without a subject: "sync() was called at train.cpp:31". `target`: the node that the
// flush is for; null if it is not for one.
std::string explain(FlushCause cause, const Node* target, const Origin& origin);

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_DESCRIBE_WORDING_H_
