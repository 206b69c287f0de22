// Convolutions by a vendor's library, each by one thread: what a whole one is cut into. A shared
// libsluice has them in a library of its own, as few programs convolve and oneDNN is large.
#ifndef SLUICE_KERNELS_LIBRARY_CONVOLUTION_BLOCK_CONVOLUTION_H_
#define SLUICE_KERNELS_LIBRARY_CONVOLUTION_BLOCK_CONVOLUTION_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fusion/library/convolution.h"

namespace sluice::kernels {

using enum fusion::ConvolutionRole;

using ConvolutionStrides = std::array<int64_t, 2 + fusion::kMaxWindowAxes>;

// As ConvolutionAttributes. No two elements of a tensor share memory.
struct BlockShape {
  fusion::ConvolutionRole result = kPlacesRole;
  int rank = 0;
  int64_t batch = 0, groups = 1, inputs = 0, outputs = 0;
  std::array<fusion::WindowAxis, fusion::kMaxWindowAxes> axes;
  std::array<ConvolutionStrides, kNumRoles> strides{};

  auto operator<=>(const BlockShape&) const = default;
};

// Immutable and thread-safe.
class BlockConvolution {
 public:
  virtual ~BlockConvolution() = default;

  // Of the filters as run() takes them, so that many blocks share them; 0: as they are.
  virtual size_t packed_bytes() const = 0;
  virtual size_t scratch_bytes() const = 0;

  // False if the library fails. Memory of packed filters and scratch is aligned to 64.
  virtual bool pack(float* filters, char* packed) const = 0;
  virtual bool run(const std::array<float*, kNumRoles>& tensors, char* scratch) const = 0;
};

struct Convolutions {
  // Null if the library refuses the shape.
  std::shared_ptr<const BlockConvolution> (*of)(const BlockShape& shape);
};

// Null where there is no oneDNN, and if SLUICE_ONEDNN is "off".
const Convolutions* find_convolutions();

}  // namespace sluice::kernels

// What the library with oneDNN exports.
extern "C" [[gnu::visibility("default")]] const sluice::kernels::Convolutions*
sluice_convolutions();

#endif  // SLUICE_KERNELS_LIBRARY_CONVOLUTION_BLOCK_CONVOLUTION_H_
