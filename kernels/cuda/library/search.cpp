// Binary searches on a GPU: a thread for each value.
#include "fusion/library/search.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/compile/source_kernels.h"
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/library/order_text.h"
#include "kernels/gpu/run/call.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

constexpr const char* kSearchText = R"sluice(
// ---- Searches. kernels/cuda/library/search.cpp fills in sl_search.

struct sl_search {
  const void* line;
  const void* values;
  sl_i64* y;
  sl_i64 length, stride, count, values_stride, right;
  sl_i64 first_block;
};

template <typename Order>
SL_INLINE void sl_search_values(const sl_search& p) {
  typedef typename Order::Bits Bits;
  const sl_i64 i = (p.first_block + sl_block()) * SL_THREADS + sl_thread();
  if (i >= p.count) return;
  const Bits wanted = Order::joined_key(((const Bits*)p.values)[i * p.values_stride], 0);
  sl_i64 low = 0, high = p.length;
  while (low < high) {
    const sl_i64 middle = (low + high) / 2;
    const Bits key = Order::joined_key(((const Bits*)p.line)[middle * p.stride], 0);
    if (p.right ? key <= wanted : key < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  p.y[i] = low;
}
)sluice";

// sl_search of the text.
struct SearchArguments {
  const void* line;
  const void* values;
  int64_t* y;
  int64_t length, stride, count, values_stride, right;
  int64_t first_block = 0;
};

class SearchRunner : public LibraryRunner {
 public:
  explicit SearchRunner(const LibraryDevice& device) : kernels_(device.context, device.compiler) {}

  absl::Status prepare(const fusion::LibraryCall& call) override {
    return kernel(fusion::search_of(call).dtype).compile();
  }

  absl::Status enqueue(runtime::cuda::CudaStream* stream, const fusion::LibraryCall& call,
                       absl::Span<void* const> buffers, absl::string_view label) override {
    const fusion::SearchAttributes& a = fusion::search_of(call);
    const auto bytes = static_cast<int64_t>(size_of(a.dtype));
    SearchArguments arguments = {static_cast<const char*>(buffers[0]) + a.offset * bytes,
                                 static_cast<const char*>(buffers[1]) + a.values_offset * bytes,
                                 static_cast<int64_t*>(buffers[2]),
                                 a.length,
                                 a.stride,
                                 a.count,
                                 a.values_stride,
                                 a.right};
    return kernel(a.dtype).launch(stream, &arguments, ceil_div(a.count, kThreads), label);
  }

 private:
  SourceKernel& kernel(DType dtype) {
    const std::string name = absl::StrCat("search_", sluice::name_of(dtype));
    return kernels_.get(name, [&] {
      return absl::StrCat(kOrderText, kSearchText, "SL_KERNEL(", name,
                          ", sl_search) { sl_search_values<", order_type(dtype), ">(p); }\n");
    });
  }

  SourceKernels kernels_;
};

}  // namespace

std::unique_ptr<LibraryRunner> make_search_runner(const LibraryDevice& device) {
  return std::make_unique<SearchRunner>(device);
}

}  // namespace sluice::kernels::cuda
