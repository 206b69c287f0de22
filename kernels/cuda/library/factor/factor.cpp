// Library calls of kind kFactor on a GPU: by kernels of our own where matrices are small or many,
// by cuSOLVER where it is present and takes less time than the host does, else there: what is to be
// taken apart is copied to it, in stream order, and the result back.
#include "fusion/library/factor.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/cuda/library/factor/cusolver_factor.h"
#include "kernels/cuda/library/factor/matrix_failures.h"
#include "kernels/cuda/library/factor/own_factor.h"
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

absl::Status run_on_host(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                         absl::Span<void* const> buffers) {
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

std::unique_ptr<CusolverFactor> open_library(const LibraryDevice& device) {
  const Cusolver* table = device.cusolver;
  if (table == nullptr && device.driver_version != 0) {
    table = find_cusolver(device.driver_version).value_or(nullptr);
  }
  if (table == nullptr) return nullptr;
  auto made = CusolverFactor::make(device.context, device.compiler, table);
  return made.ok() ? *std::move(made) : nullptr;
}

class FactorCalls : public LibraryRunner {
 public:
  explicit FactorCalls(const LibraryDevice& device)
      : device_(device), own_(device.context, device.compiler) {}

  absl::Status prepare(const fusion::LibraryCall& call) override {
    const fusion::FactorAttributes& of = fusion::factor_of(call);
    if (OwnFactor::suits(of)) return own_.prepare(of);
    CusolverFactor* const library = library_for(of);
    return library == nullptr ? absl::OkStatus() : library->prepare(of);
  }

  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label) override {
    const fusion::FactorAttributes& of = fusion::factor_of(call);
    if (OwnFactor::suits(of)) return run_own(stream, of, buffers, label);
    if (CusolverFactor* const library = library_for(of); library != nullptr) {
      const absl::StatusOr<bool> done = library->run(stream, of, buffers, label);
      if (!done.ok()) return done.status();
      if (*done) return absl::OkStatus();
    }
    return run_on_host(stream, call, buffers);
  }

 private:
  // Null if the host is to take them apart. The library is loaded when it is first needed.
  CusolverFactor* library_for(const fusion::FactorAttributes& of) {
    if (!CusolverFactor::suits(of)) return nullptr;
    std::call_once(once_, [this] { library_ = open_library(device_); });
    return library_.get();
  }

  absl::Status run_own(runtime::cuda::CudaStream* stream, const fusion::FactorAttributes& of,
                       absl::Span<void* const> buffers, absl::string_view label) {
    MatrixFailures failures(stream, &of, label);
    absl::Status status = failures.allocate();
    if (status.ok()) status = own_.enqueue(stream, of, buffers, &failures, label);
    return status.ok() ? failures.wait() : status;
  }

  const LibraryDevice device_;
  OwnFactor own_;
  std::once_flag once_;
  std::unique_ptr<CusolverFactor> library_;  // made under `once_`; null if there is none
};

}  // namespace

std::unique_ptr<LibraryRunner> make_factor_runner(const LibraryDevice& device) {
  return std::make_unique<FactorCalls>(device);
}

}  // namespace sluice::kernels::cuda
