// What the fake cuDNN's descriptors are made of, and what is wrong with one.
#ifndef SLUICE_TESTS_EMULATED_CUDA_FAKE_CUDNN_DESCRIPTORS_H_
#define SLUICE_TESTS_EMULATED_CUDA_FAKE_CUDNN_DESCRIPTORS_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/library/cudnn/cudnn.h"
#include "tests/emulated_cuda/fake_cudnn.h"

namespace sluice::emulated {

// One of any type.
struct Descriptor {
  kernels::cuda::DnnDescriptorType type{};
  bool is_final = false;
  std::map<kernels::cuda::DnnAttribute, std::vector<char>> values;
  // Of operations, and of what is made of them.
  std::shared_ptr<const FakeCudnn::Graph> graph;
  std::array<int64_t, fusion::kNumRoles> ids{};  // of a convolution
  FakeCudnn::Engine engine;                      // of engine configurations and of plans

  template <typename T>
  std::vector<T> get(kernels::cuda::DnnAttribute attribute) const {
    const auto it = values.find(attribute);
    if (it == values.end()) return {};
    std::vector<T> elements(it->second.size() / sizeof(T));
    std::memcpy(static_cast<void*>(elements.data()), it->second.data(), it->second.size());
    return elements;
  }
  template <typename T>
  T one(kernels::cuda::DnnAttribute attribute) const {
    const std::vector<T> elements = get<T>(attribute);
    return elements.empty() ? T{} : elements[0];
  }
};

// An attribute that descriptors of a type have.
struct AttributeRule {
  kernels::cuda::DnnDescriptorType of;
  kernels::cuda::DnnAttribute attribute;
  kernels::cuda::DnnType type;
  int64_t least, most;  // elements
  bool is_needed = true;
};

std::span<const AttributeRule> attribute_rules();
size_t bytes_of(kernels::cuda::DnnType type);

// What is wrong with a descriptor that has all of its attributes; empty if nothing is. Gives an
// operation, and a graph of some, its graph.
std::string check_descriptor(Descriptor* of);

}  // namespace sluice::emulated

#endif  // SLUICE_TESTS_EMULATED_CUDA_FAKE_CUDNN_DESCRIPTORS_H_
