// Functions that the program has registered, on the CPU.
#include "fusion/library/external.h"

#include <cstring>
#include <deque>
#include <exception>
#include <new>
#include <vector>

#include <sluice/error.h>
#include "absl/strings/str_cat.h"
#include "kernels/library/library.h"
#include "kernels/library/scratch.h"

namespace sluice::kernels {
namespace {

using fusion::ExternalArray;

// Elements of `size` bytes from a layout to row-major order, from axis `axis` on.
char* gather(const ExternalArray& array, int axis, const char* from, size_t size, char* to) {
  const auto at = static_cast<size_t>(axis);
  if (axis == array.rank) {
    std::memcpy(to, from, size);
    return to + size;
  }
  const int64_t stride = array.strides[at] * static_cast<int64_t>(size);
  for (int64_t i = 0; i < array.extents[at]; ++i) {
    to = gather(array, axis + 1, from + i * stride, size, to);
  }
  return to;
}

absl::Status failure_of(const std::exception& error) {
  const auto* const own = dynamic_cast<const Error*>(&error);
  if (own != nullptr) return {static_cast<absl::StatusCode>(own->code()), own->what()};
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return absl::ResourceExhaustedError("its function ran out of memory");
  }
  return absl::UnknownError(absl::StrCat("its function threw: ", error.what()));
}

void run(const fusion::ExternalAttributes& of, absl::Span<void* const> buffers) {
  std::vector<const void*> data;
  std::deque<Scratch> copies;
  for (size_t k = 0; k < of.inputs.size(); ++k) {
    const ExternalArray& array = of.inputs[k];
    const size_t size = size_of(array.dtype);
    const char* const first =
        static_cast<const char*>(buffers[k]) + array.offset * static_cast<int64_t>(size);
    if (is_contiguous(array.layout())) {
      data.push_back(first);
    } else {
      char* const copy =
          copies.emplace_back(static_cast<size_t>(array.shape().numel()) * size).data();
      gather(array, 0, first, size, copy);
      data.push_back(copy);
    }
  }
  const size_t bytes = of.function->workspace_bytes(of.inputs);
  const Scratch workspace(bytes);
  of.function->run(of.inputs, data, of.output, buffers[of.inputs.size()],
                   {reinterpret_cast<std::byte*>(workspace.data()), bytes});
}

}  // namespace

absl::Status run_external(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  const fusion::ExternalAttributes& of = fusion::external_of(call);
  if (of.function == nullptr) {
    return absl::FailedPreconditionError("the op was unregistered before it was computed");
  }
  try {
    run(of, buffers);
    return absl::OkStatus();
  } catch (const std::exception& error) {
    return failure_of(error);
  } catch (...) {
    return absl::UnknownError("its function threw what is no std::exception");
  }
}

}  // namespace sluice::kernels
