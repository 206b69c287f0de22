// Compactions on a GPU: a block for each block of elements.
#include "fusion/library/compaction.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/library/order_text.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

constexpr const char* kCompactionText = R"sluice(
// ---- Compactions. kernels/cuda/library/compaction.cpp fills in sl_compaction.

struct sl_compaction {
  const sl_u8* x;
  const sl_i64* counts;
  sl_i64* y;
  sl_i64 length, stride, counts_stride, elements;  // `elements`: of a block
  sl_i64 first_block;
};

SL_KERNEL(compaction, sl_compaction) {
  SL_SHARED sl_sums sums;
  const sl_i64 block = p.first_block + sl_block();
  sl_i64 next = 0;
  if (block > 0) next = p.counts[(block - 1) * p.counts_stride];
  const sl_i64 end =
      p.length < (block + 1) * p.elements ? p.length : (block + 1) * p.elements;
  SL_UNROLL_BY(1)
  for (sl_i64 begin = block * p.elements; begin < end; begin += SL_THREADS) {
    const sl_i64 i = begin + sl_thread();
    const bool is_true = i < end && p.x[i * p.stride] != 0;
    int all;
    const int rank = sl_rank(sums, is_true, &all);
    if (is_true) p.y[next + rank] = i;
    next += all;
  }
}
)sluice";

// sl_compaction of the text.
struct CompactionArguments {
  const uint8_t* x;
  const int64_t* counts;
  int64_t* y;
  int64_t length, stride, counts_stride, elements;
  int64_t first_block = 0;
};

class CompactionRunner : public LibraryRunner {
 public:
  explicit CompactionRunner(const LibraryDevice& device)
      : kernels_(device.context, device.compiler) {}

  absl::Status prepare(const fusion::LibraryCall&) override { return kernel().compile(); }

  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label) override {
    const fusion::CompactionAttributes& a = fusion::compaction_of(call);
    CompactionArguments arguments = {static_cast<const uint8_t*>(buffers[0]) + a.offset,
                                     static_cast<const int64_t*>(buffers[1]) + a.counts_offset,
                                     static_cast<int64_t*>(buffers[2]),
                                     a.length,
                                     a.stride,
                                     a.counts_stride,
                                     fusion::kCompactionBlock};
    return kernel().launch(stream, &arguments, ceil_div(a.length, fusion::kCompactionBlock), label);
  }

 private:
  SourceKernel& kernel() {
    return kernels_.get("compaction", [&] { return absl::StrCat(kOrderText, kCompactionText); });
  }

  SourceKernels kernels_;
};

}  // namespace

std::unique_ptr<LibraryRunner> make_compaction_runner(const LibraryDevice& device) {
  return std::make_unique<CompactionRunner>(device);
}

}  // namespace sluice::kernels::cuda
