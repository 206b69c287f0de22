#include "kernels/cuda/library/cudnn/dense_copies.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/library/cudnn/descriptors.h"
#include "kernels/gpu/run/call.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

constexpr const char* kCopyText = R"sluice(
// ---- A copy without gaps. kernels/cuda/library/cudnn/dense_copies.cpp fills in sl_copy.

struct sl_copy {
  const void* from;
  void* to;
  sl_i64 extents[5], strides[5], elements;
  sl_i64 first_block;  // of this launch
};

// The bits, whatever they mean.
template <typename M>
SL_INLINE void sl_copy_elements(const sl_copy& p) {
  const sl_i64 place = (p.first_block + sl_block()) * SL_THREADS + sl_thread();
  if (place >= p.elements) return;
  const M* from = (const M*)p.from;
  sl_i64 rest = place;
  SL_UNROLL
  for (int i = 4; i > 0; --i) {
    const sl_i64 next = rest / p.extents[i];
    from += (rest - next * p.extents[i]) * p.strides[i];
    rest = next;
  }
  ((M*)p.to)[place] = from[rest * p.strides[0]];
}
)sluice";

// sl_copy of the text.
struct CopyArguments {
  const void* from;
  void* to = nullptr;
  int64_t extents[5], strides[5], elements = 1;
  int64_t first_block = 0;

  CopyArguments(const PlacedOperand& of, const void* from) : from(from) {
    for (size_t i = 0; i < 5; ++i) {
      extents[i] = i < of.extents.size() ? of.extents[i] : 1;
      strides[i] = i < of.extents.size() ? of.strides[i] : 0;
      elements *= extents[i];
    }
  }
};

}  // namespace

bool PlacedOperand::is_dense() const {
  int64_t stride = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    if (extents[i] > 1 && strides[i] != stride) return false;
    stride *= extents[i];
  }
  return true;
}

bool is_aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % kDnnAlignment == 0;
}

SourceKernel& DenseCopies::copying(DType dtype) {
  const size_t bits = 8 * size_of(dtype);
  const std::string name = absl::StrCat("dense_copy_", bits, "_bits");
  return kernels_.get(name, [&] {
    return absl::StrCat(kCopyText, "SL_KERNEL(", name, ", sl_copy) { sl_copy_elements<sl_u", bits,
                        ">(p); }\n");
  });
}

absl::Status DenseCopies::prepare(const PlacedOperand& operand) {
  return operand.is_dense() ? absl::OkStatus() : copying(operand.dtype).compile();
}

DenseCopies::OfCall::~OfCall() {
  for (void* const memory : made_) stream_.device().allocator().free(memory);
}

absl::StatusOr<void*> DenseCopies::OfCall::place(const PlacedOperand& operand, void* buffer) {
  const auto size = static_cast<int64_t>(size_of(operand.dtype));
  void* const data = static_cast<char*>(buffer) + operand.offset * size;
  if (operand.is_dense() && is_aligned(data)) return data;
  CopyArguments arguments(operand, data);
  const absl::StatusOr<void*> memory = stream_.device().allocator().allocate(
      static_cast<size_t>(arguments.elements * size), &stream_);
  if (!memory.ok()) return memory.status();
  arguments.to = made_.emplace_back(*memory);
  absl::Status status =
      copies_.copying(operand.dtype)
          .launch(&stream_, &arguments, ceil_div(arguments.elements, int64_t{kThreads}), label_);
  if (!status.ok()) return status;
  return arguments.to;
}

}  // namespace sluice::kernels::cuda
