// The members of a trace's structs, listed once for readers and writers.
//
// Members<T>::visit(f) calls f(name, &T::member) or f(name, &T::member, range) for each, in the
// order in which files have them.
#ifndef SLUICE_TRACE_MEMBERS_H_
#define SLUICE_TRACE_MEMBERS_H_

#include <cstdint>

#include "trace/trace.h"

namespace sluice::trace {

// The allowed values of a number, or of each element of a list.
enum class Range : uint8_t {
  kAny,
  kCount,           // 0 and more
  kCountOrUnknown,  // or -1
  // Indices.
  kOp,
  kEarlierOp,  // of the graph's ops before this one
  kGraph,
  kKernel,
  // Indices, or -1.
  kOpOrNone,
  kKernelOrNone,
  kSiteOrNone,
  kScopeOrNone,
  kThreadOrNone,
};
inline constexpr int kNumRanges = static_cast<int>(Range::kThreadOrNone) + 1;

template <typename T>
struct Members;

template <>
struct Members<Site> {
  template <typename F>
  static void visit(F f) {
    f("file", &Site::file);
    f("line", &Site::line, Range::kCount);
    f("function", &Site::function);
  }
};

template <>
struct Members<Op> {
  template <typename F>
  static void visit(F f) {
    f("op", &Op::op);
    f("dtype", &Op::dtype);
    f("shape", &Op::shape, Range::kCount);
    f("operands", &Op::operands, Range::kEarlierOp);
    f("live", &Op::live);
    f("removed", &Op::removed);
    f("name", &Op::name);
    f("site", &Op::site, Range::kSiteOrNone);
    f("scope", &Op::scope, Range::kScopeOrNone);
  }
};

template <>
struct Members<Step> {
  template <typename F>
  static void visit(F f) {
    f("kind", &Step::kind);
    f("name", &Step::name);
    f("ops", &Step::ops, Range::kOp);
    f("inputs", &Step::inputs, Range::kOp);
    f("outputs", &Step::outputs, Range::kOp);
    f("kernels", &Step::kernels, Range::kKernel);
    f("bytes_read", &Step::bytes_read, Range::kCount);
    f("bytes_written", &Step::bytes_written, Range::kCount);
    f("flops", &Step::flops, Range::kCount);
  }
};

template <>
struct Members<Cut> {
  template <typename F>
  static void visit(F f) {
    f("producer", &Cut::producer, Range::kOp);
    f("consumer", &Cut::consumer, Range::kOpOrNone);
    f("reason", &Cut::reason);
    f("text", &Cut::text);
    f("bytes", &Cut::bytes, Range::kCount);
  }
};

template <>
struct Members<Graph> {
  template <typename F>
  static void visit(F f) {
    f("device", &Graph::device);
    f("ops", &Graph::ops);
    f("steps", &Graph::steps);
    f("cuts", &Graph::cuts);
    f("temporaries_elided", &Graph::temporaries_elided, Range::kCount);
    f("bytes_elided", &Graph::bytes_elided, Range::kCount);
  }
};

template <>
struct Members<StepRun> {
  template <typename F>
  static void visit(F f) {
    f("begin", &StepRun::begin);
    f("duration", &StepRun::duration, Range::kCount);
    f("generic", &StepRun::generic);
  }
};

template <>
struct Members<Window> {
  template <typename F>
  static void visit(F f) {
    f("number", &Window::number, Range::kCount);
    f("graph", &Window::graph, Range::kGraph);
    f("thread", &Window::thread, Range::kThreadOrNone);
    f("cause", &Window::cause);
    f("cause_text", &Window::cause_text);
    f("plan_hit", &Window::plan_hit);
    f("begin", &Window::begin);
    f("flushed", &Window::flushed);
    f("plan_duration", &Window::plan_duration, Range::kCount);
    f("compile_duration", &Window::compile_duration, Range::kCount);
    f("bind_duration", &Window::bind_duration, Range::kCount);
    f("submit_duration", &Window::submit_duration, Range::kCount);
    f("values_evicted", &Window::values_evicted, Range::kCount);
    f("bytes_evicted", &Window::bytes_evicted, Range::kCount);
    f("values_recomputed", &Window::values_recomputed, Range::kCount);
    f("steps", &Window::steps);
  }
};

template <>
struct Members<Kernel> {
  template <typename F>
  static void visit(F f) {
    f("name", &Kernel::name);
    f("key", &Kernel::key);
    f("program", &Kernel::program);
    f("language", &Kernel::language);
    f("source", &Kernel::source);
    f("assembly", &Kernel::assembly);
    f("origin", &Kernel::origin);
    f("compile_duration", &Kernel::compile_duration, Range::kCount);
    f("registers", &Kernel::registers, Range::kCountOrUnknown);
    f("spilled_bytes", &Kernel::spilled_bytes, Range::kCountOrUnknown);
    f("shared_bytes", &Kernel::shared_bytes, Range::kCountOrUnknown);
  }
};

template <>
struct Members<Event> {
  template <typename F>
  static void visit(F f) {
    f("lane", &Event::lane);
    f("name", &Event::name);
    f("begin", &Event::begin);
    f("duration", &Event::duration, Range::kCount);
    f("kernel", &Event::kernel, Range::kKernelOrNone);
  }
};

// Graphs come before the windows, which are checked against them.
template <>
struct Members<Trace> {
  template <typename F>
  static void visit(F f) {
    f("program", &Trace::program);
    f("build", &Trace::build);
    f("deterministic", &Trace::deterministic);
    f("threads", &Trace::threads);
    f("scopes", &Trace::scopes);
    f("sites", &Trace::sites);
    f("kernels", &Trace::kernels);
    f("graphs", &Trace::graphs);
    f("windows", &Trace::windows);
    f("events", &Trace::events);
    f("windows_recorded", &Trace::windows_recorded, Range::kCount);
    f("events_recorded", &Trace::events_recorded, Range::kCount);
  }
};

}  // namespace sluice::trace

#endif  // SLUICE_TRACE_MEMBERS_H_
