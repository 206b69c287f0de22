// Traces that no engine has recorded: those of tests/trace/traces/, and helpers to change them.
#ifndef SLUICE_TESTS_TRACE_TRACE_SAMPLES_H_
#define SLUICE_TESTS_TRACE_TRACE_SAMPLES_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tools/trace/json_read.h"
#include "trace/trace.h"

namespace sluice::test {

// The text of tests/trace/traces/<name>.json.
//   fused         ten windows of one kernel, which leaves only a sum
//   held          the same program, but something in the middle is held, and there are two kernels
//   every_member  every member of the format is used; two devices and threads
inline std::string sample_text(const std::string& name) {
  const std::filesystem::path folder = SLUICE_TEST_TRACES;
  std::ifstream file(folder / (name + ".json"), std::ios::binary);
  EXPECT_TRUE(file.is_open()) << folder << " lacks " << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline trace::Trace sample(const std::string& name) {
  auto trace = trace::from_json(sample_text(name));
  EXPECT_TRUE(trace.ok()) << trace.status();
  return trace.ok() ? *std::move(trace) : trace::Trace();
}

inline trace::Op op(const std::string& name, std::vector<int32_t> operands) {
  trace::Op op;
  op.op = name;
  op.operands = std::move(operands);
  return op;
}

inline trace::Step step(const std::string& name, std::vector<int32_t> ops,
                        std::vector<int32_t> inputs, std::vector<int32_t> outputs) {
  trace::Step step;
  step.name = name;
  step.ops = std::move(ops);
  step.inputs = std::move(inputs);
  step.outputs = std::move(outputs);
  return step;
}

// Graphs of no ops, a letter each, and windows of them, in order.
inline trace::Trace trace_of_windows(const std::string& letters) {
  trace::Trace trace;
  trace.threads = {"main"};
  for (const char letter : letters) {
    const size_t graph = letter - 'A';
    if (trace.graphs.size() <= graph) trace.graphs.resize(graph + 1);
    trace::Window window;
    window.number = static_cast<int64_t>(trace.windows.size());
    window.graph = static_cast<int32_t>(graph);
    window.thread = 0;
    window.cause = "flush";
    trace.windows.push_back(window);
  }
  return trace;
}

}  // namespace sluice::test

#endif  // SLUICE_TESTS_TRACE_TRACE_SAMPLES_H_
