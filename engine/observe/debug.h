// $SLUICE_DEBUG: what the engine does, on stderr, as it does it.
//
//   1  a line for each window       3  also each program before and after each pass of a new plan
//   2  also its kernels and cuts    4  also the source of each new kernel
#ifndef SLUICE_ENGINE_OBSERVE_DEBUG_H_
#define SLUICE_ENGINE_OBSERVE_DEBUG_H_

#include <functional>
#include <string>

#include "trace/trace.h"

namespace sluice::engine {

int debug_level();  // 0: none

// Of a trace of one window.
void print_window(const trace::Trace& trace);

// For PlanOptions::observer; empty below level 3.
std::function<void(const std::string& pass, const std::string& before, const std::string& after)>
pass_printer();

}  // namespace sluice::engine

#endif  // SLUICE_ENGINE_OBSERVE_DEBUG_H_
