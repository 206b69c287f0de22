// Graphs of products, pointwise functions and reductions, of the cuDNN that is not there.
#ifndef SLUICE_TESTS_EMULATED_CUDA_FAKE_CUDNN_GRAPH_H_
#define SLUICE_TESTS_EMULATED_CUDA_FAKE_CUDNN_GRAPH_H_

#include <string>
#include <vector>

#include "tests/emulated_cuda/fake_cudnn_descriptors.h"

namespace sluice::emulated {

// What is wrong with an operation; empty if nothing is. Gives it a graph of its own.
std::string check_graph_operation(Descriptor* of);

// Makes one graph of those of operations.
std::string join_operations(Descriptor* of, const std::vector<Descriptor*>& operations);

inline constexpr int kMostPointers = 8;

struct GraphParams {
  const FakeCudnn::Graph* graph;  // outlives the call
  int64_t ids[kMostPointers];     // 0: none
  void* pointers[kMostPointers];
  float values[kMostPointers];  // of those tensors that are values
  char* workspace;              // filled with what is nothing's result
  int64_t workspace_bytes;
};

// Computes operation by operation, in double, and rounds each result to its tensor's type.
const char* run_graph(const Geometry& geometry, const void* params);

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_FAKE_CUDNN_GRAPH_H_
