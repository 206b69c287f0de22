// Matrices taken apart for a GPU, on the host: what is to be taken apart is copied there, in stream
// order, and the result back.
#include "fusion/library/factor.h"

#include <memory>
#include <utility>
#include <vector>

#include "kernels/cuda/library/library.h"
#include "kernels/library/library.h"
#include "kernels/library/scratch.h"
#include "runtime/cuda/copies.h"

namespace sluice::kernels::cuda {
namespace {

// The matrices of a call from the lowest address to the highest, in elements from the block's base.
std::pair<int64_t, int64_t> range_of(const fusion::StridedMatrices& matrices, int64_t count,
                                     int64_t rows, int64_t columns) {
  std::pair<int64_t, int64_t> range(matrices.offset, matrices.offset);
  const std::pair<int64_t, int64_t> axes[] = {
      {count, matrices.batch}, {rows, matrices.row}, {columns, matrices.column}};
  for (const auto& [extent, stride] : axes) {
    (stride < 0 ? range.first : range.second) += (extent - 1) * stride;
  }
  return range;
}

class FactorRunner : public LibraryRunner {
 public:
  absl::Status prepare(const fusion::LibraryCall&) override { return absl::OkStatus(); }

  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view) override {
    const fusion::FactorAttributes& a = fusion::factor_of(call);
    const auto size = static_cast<int64_t>(size_of(a.dtype));
    std::vector<std::unique_ptr<Scratch>> memory;
    std::vector<void*> on_host;
    auto add = [&](int64_t first, int64_t last) {
      const auto bytes = static_cast<size_t>((last + 1 - first) * size);
      memory.push_back(std::make_unique<Scratch>(bytes));
      on_host.push_back(memory.back()->data() - first * size);
      return bytes;
    };
    runtime::cuda::Staging staging(stream);
    for (size_t k = 0; k + 1 < buffers.size(); ++k) {
      const auto [first, last] = k == 0 ? range_of(a.x, a.count, a.rows, a.columns)
                                        : range_of(a.y, a.count, a.rows, a.sides);
      const size_t bytes = add(first, last);
      const absl::Status copied = staging.to_host(
          memory.back()->data(), static_cast<const char*>(buffers[k]) + first * size, bytes);
      if (!copied.ok()) return copied;
    }
    const size_t bytes = add(0, a.result_numel() - 1);
    if (const absl::Status done = run_factor(call, on_host); !done.ok()) return done;
    return staging.to_device(buffers.back(), memory.back()->data(), bytes);
  }
};

}  // namespace

std::unique_ptr<LibraryRunner> make_factor_runner(const LibraryDevice&) {
  return std::make_unique<FactorRunner>();
}

}  // namespace sluice::kernels::cuda
