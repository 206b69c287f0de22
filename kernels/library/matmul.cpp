#include "kernels/library/matmul.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"
#include "kernels/host_isa.h"
#include "kernels/library/epilogue_loops.h"
#include "kernels/library/library.h"
#include "kernels/library/multiply/multiply.h"
#include "kernels/library/scratch.h"
#include "runtime/cpu/parallel.h"
#include "runtime/integers.h"

namespace sluice::kernels {
namespace {

// In multiplications. Of a batch, products below this run side by side; larger ones are divided
// themselves.
constexpr double kBatched = 4e6;

// A result of so few elements, from so many products, is summed in parts: it would be the work of
// one thread.
constexpr int64_t kMaxSplitResult = 16384, kMinSplitDepth = 16384, kMinPartDepth = 4096;
constexpr int64_t kMaxParts = 64;

char* element_at(const void* data, int64_t element, size_t size) {
  return static_cast<char*>(const_cast<void*>(data)) + element * static_cast<int64_t>(size);
}

// So is a vector by a matrix of long columns, which are read side by side: tasks that had a few of
// them each would read short pieces of memory all over it.
constexpr int64_t kMinPartOfColumns = 128, kMinPartsOfColumns = 4, kMaxPartsOfColumns = 32;

// How many lines, which lie side by side in memory, are multiplied with one vector; else 0.
int64_t lines_side_by_side(const Matmul& x) {
  if (x.m == 1 && x.n > 1 && x.b_strides[2] == 1) return x.n;
  if (x.n == 1 && x.m > 1 && x.a_strides[1] == 1) return x.m;
  return 0;
}

int64_t num_parts(const Matmul& x) {
  if (x.batch * x.m * x.n <= kMaxSplitResult && x.k >= kMinSplitDepth) {
    return std::min(kMaxParts, x.k / kMinPartDepth);
  }
  const int64_t parts = std::min({kMaxPartsOfColumns / x.batch, x.k / kMinPartOfColumns,
                                  lines_side_by_side(x) * x.k / kMinRead});
  return parts < kMinPartsOfColumns ? 1 : parts;
}

// `count` products of x from `batch` on, of the columns of a from `begin` to `end`.
MatrixProduct product_of(const Matmul& x, const ProductLoops& loops, int64_t batch, int64_t count,
                         int64_t begin, int64_t end) {
  const size_t size = loops.element_size;
  return {.loops = loops,
          .count = count,
          .m = x.m,
          .n = x.n,
          .k = end - begin,
          .a = {element_at(x.a, batch * x.a_strides[0] + begin * x.a_strides[2], size),
                x.a_strides[1], x.a_strides[2], x.a_strides[0]},
          .b = {element_at(x.b, batch * x.b_strides[0] + begin * x.b_strides[1], size),
                x.b_strides[2], x.b_strides[1], x.b_strides[0]},
          .c = element_at(x.c, batch * x.m * x.n, size_of(x.dtype)),
          .rounds = is_half(x.dtype)};
}

void multiply_in_parts(const Matmul& x, const ProductLoops& loops, int64_t parts) {
  const int64_t size = x.m * x.n;
  const int64_t depth = ceil_div(x.k, parts);
  const Scratch sums(static_cast<size_t>(x.batch * parts * size) * loops.result_size);
  parallel_for(x.batch * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % parts * depth;
      MatrixProduct product =
          product_of(x, loops, i / parts, 1, first, std::min(first + depth, x.k));
      product.c = element_at(sums.data(), i * size, loops.result_size);
      product.rounds = false;
      multiply(product);
    }
  });
  const Scratch folded(is_half(x.dtype) ? static_cast<size_t>(size) * loops.result_size : 0);
  for (int64_t i = 0; i < x.batch; ++i) {
    char* const c = element_at(x.c, i * size, size_of(x.dtype));
    char* const sum = is_half(x.dtype) ? folded.data() : c;
    loops.fold(element_at(sums.data(), i * parts * size, loops.result_size), parts, size, sum);
    if (is_half(x.dtype)) loops.round(sum, 0, 1, size, c, 0);
  }
}

void multiply_all(const Matmul& x) {
  if (x.k == 0) {
    std::memset(x.c, 0, static_cast<size_t>(x.batch * x.m * x.n) * size_of(x.dtype));
    return;
  }
  const ProductLoops& loops = product_loops(x.operand_dtype);
  const double work =
      static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.k);
  const int64_t grain = 1 + kMinProductTask / product_cost(x.m, x.n, x.k);
  if (const int64_t parts = num_parts(x); parts > 1) {
    multiply_in_parts(x, loops, parts);
  } else if (x.batch > 1 && work < kBatched) {
    parallel_for(x.batch, grain, [&](int64_t begin, int64_t end) {
      multiply(product_of(x, loops, begin, end - begin, 0, x.k));
    });
  } else {
    multiply(product_of(x, loops, 0, x.batch, 0, x.k));
  }
}

// Of rows [begin, end) of the batch * m, whose products are at `sums`.
void finish_rows(const Matmul& x, int64_t begin, int64_t end, float* sums) {
  parallel_for(end - begin, 1 + 16384 / x.n, [&](int64_t first, int64_t last) {
    apply_epilogues(x, begin + first, begin + last, sums + first * x.n);
  });
}

// Whether the result takes the memory of what an epilogue reads.
bool overwrites_operand(const Matmul& x) {
  return std::any_of(x.epilogues.begin(), x.epilogues.end(),
                     [&](const fusion::Epilogue& epilogue) { return x.operand(epilogue) == x.c; });
}

// So many parts, at most, as more threads find work in.
constexpr int64_t kPartsElsewhere = 16;

// Computes the product elsewhere, some rows at a time: as many as it takes for the bits that they
// have in the whole.
void multiply_elsewhere(const Matmul& x) {
  const ProductLoops& loops = product_loops(x.operand_dtype);
  const int64_t rows = x.batch * x.m;
  const int64_t least = std::max(fusion::kLeastRowsElsewhere, kFewRowPanels * loops.rows + 1);
  const bool is_divided = x.k > 0 && fusion::has_parts_of_rows(x) && num_parts(x) == 1;
  const int64_t parts = is_divided ? std::clamp<int64_t>(rows / least, 1, kPartsElsewhere) : 1;
  const Scratch sums(static_cast<size_t>(ceil_div(rows, parts) * x.n) * sizeof(float));
  auto* const values = reinterpret_cast<float*>(sums.data());
  MatrixProduct product = product_of(x, loops, 0, 1, 0, x.k);
  product.c = values;
  const size_t packed_bytes = parts > 1 ? packed_bytes_of_b(product) : 0;
  const Scratch packed(packed_bytes);
  if (packed_bytes > 0) {
    pack_b(product, packed.data());
    product.packed_b = packed.data();
  }
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t begin = rows * i / parts, end = rows * (i + 1) / parts;
    if (parts == 1) {
      Matmul whole = x;
      whole.c = values;
      multiply_all(whole);
    } else {
      product.m = end - begin;
      product.a.data = element_at(x.a, begin * x.a_strides[1], loops.element_size);
      multiply(product);
    }
    finish_rows(x, begin, end, values);
  }
}

}  // namespace

Matmul bind_matmul(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  const fusion::MatmulAttributes& attributes = fusion::matmul_of(call);
  Matmul result{attributes.shape, attributes.operand_dtype,
                attributes.dtype, call.allow_tf32,
                nullptr,          nullptr,
                nullptr,          call.epilogues,
                buffers};
  if (buffers.empty()) return result;
  const size_t size = size_of(attributes.operand_dtype);
  result.a = element_at(buffers[0], attributes.a_offset, size);
  result.b = element_at(buffers[1], attributes.b_offset, size);
  result.c = buffers[2];
  return result;
}

absl::Status matmul(const Matmul& x) {
  const int64_t rows = x.batch * x.m;
  if (rows * x.n == 0) return absl::OkStatus();
  try {
    if (overwrites_operand(x)) {
      multiply_elsewhere(x);
      return absl::OkStatus();
    }
    multiply_all(x);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("no memory to arrange the operands of a product");
  }
  if (!x.epilogues.empty()) {
    finish_rows(x, 0, rows, static_cast<float*>(x.c));
  }
  return absl::OkStatus();
}

absl::Status run_matmul(const fusion::LibraryCall& call, absl::Span<void* const> buffers) {
  return matmul(bind_matmul(call, buffers));
}

std::string matmul_library() { return absl::StrCat("Sluice's kernels, ", name_of(host_isa())); }

}  // namespace sluice::kernels
