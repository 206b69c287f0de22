#include "kernels/cuda/library/matmul.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "fusion/ir/activations.h"
#include "kernels/gpu/emit/functions.h"
#include "kernels/gpu/emit/writer.h"
#include "runtime/integers.h"

namespace sluice::kernels::cuda {
namespace {

using fusion::Op;
using runtime::cuda::CudaStream;

constexpr const char* kMatmulText =
#include "kernels/cuda/library/fragment.inc"
#include "kernels/cuda/library/matmul_kernel.inc"
    ;

constexpr const char* kEpiloguesName = "matmul_epilogues";
constexpr int64_t kElementsOfBlock = 1024;

std::string name_of(const MatmulTile& tile, bool has_activations) {
  return absl::StrCat("matmul_", tile.rows, "x", tile.columns,
                      has_activations ? "_activations" : "");
}

// The source of a kernel that calls `body`.
std::string text_of(const std::string& name, const std::string& body, bool has_activations) {
  Functions functions;
  Writer text;
  text.open("SL_INLINE float sl_activation(sl_i64 op, float x)");
  if (has_activations) {
    text.open("switch (op)");
    for (const Op op : fusion::kActivations) {
      text.line("case ", static_cast<int>(op), ": return ",
                functions.pointwise(op, DType::kFloat32, {"x"}), ";");
    }
    text.close();
  }
  text.line("return x;");
  text.close();
  text.raw(kMatmulText);
  text.line("SL_KERNEL(", name, ", sl_matmul) { ", body, "(p); }");
  return absl::StrCat(functions.text(), text.text());
}

bool has_activations(const Matmul& x) {
  return std::any_of(x.epilogues.begin(), x.epilogues.end(),
                     [](const fusion::Epilogue& epilogue) { return epilogue.op != Op::kAdd; });
}

int64_t num_blocks(const Matmul& x, const MatmulTile& tile) {
  return x.batch * ceil_div(x.m, tile.rows) * ceil_div(x.n, tile.columns);
}

// Several batches of a that multiply one b are one batch of more rows.
Matmul with_fewer_batches(Matmul x) {
  if (x.batch == 1 || x.b_strides[0] != 0) return x;
  if (x.m == 1) x.a_strides[1] = x.a_strides[0];
  if (x.a_strides[0] != x.m * x.a_strides[1]) return x;
  x.m *= x.batch;
  x.batch = 1;
  return x;
}

}  // namespace

// ---- Our kernels.

size_t choose_tile(const Matmul& matmul, int multiprocessors) {
  const auto fits = [](int64_t extent, int side) { return side == 16 || extent > side / 2; };
  for (size_t i = 0; i < kMatmulTiles.size(); ++i) {
    const MatmulTile& tile = kMatmulTiles[i];
    if (fits(matmul.m, tile.rows) && fits(matmul.n, tile.columns) &&
        num_blocks(matmul, tile) >= multiprocessors) {
      return i;
    }
  }
  return kMatmulTiles.size() - 1;
}

std::string matmul_text(const MatmulTile& tile, bool has_activations) {
  return text_of(name_of(tile, has_activations),
                 absl::StrCat("sl_multiply<", tile.rows, ", ", tile.columns, ", ", tile.depth, ">"),
                 has_activations);
}

std::string matmul_epilogues_text() {
  return text_of(kEpiloguesName, absl::StrCat("sl_finish<", kElementsOfBlock, ">"),
                 /*has_activations=*/true);
}

// As sl_matmul of the source.
struct MatmulRunner::Arguments {
  struct Operand {
    const float* data;
    int64_t batch_stride, line_stride, depth_stride;
    int64_t along_depth;

    Operand(const void* data, int64_t batch_stride, int64_t line_stride, int64_t depth_stride,
            int64_t lines, int64_t depth)
        : data(static_cast<const float*>(data)),
          batch_stride(batch_stride),
          line_stride(line_stride),
          depth_stride(depth_stride),
          along_depth(lines == 1 || (depth > 1 && std::abs(depth_stride) < std::abs(line_stride))) {
    }
  };
  struct Epilogue {
    int64_t activation;
    const float* operand;
    int64_t one_row;
  };
  float* c;
  Operand a, b;
  int64_t m, n, k;
  int64_t row_tiles = 0, column_tiles = 0;
  int64_t first_block = 0;
  int64_t elements;
  int64_t num_epilogues = 0;
  Epilogue epilogues[kMaxEpilogues] = {};

  explicit Arguments(const Matmul& x)
      : c(static_cast<float*>(x.c)),
        a(x.a, x.a_strides[0], x.a_strides[1], x.a_strides[2], x.m, x.k),
        b(x.b, x.b_strides[0], x.b_strides[2], x.b_strides[1], x.n, x.k),
        m(x.m),
        n(x.n),
        k(x.k),
        elements(x.batch * x.m * x.n) {
    for (const fusion::Epilogue& epilogue : x.epilogues) {
      epilogues[num_epilogues++] = {
          epilogue.op == Op::kAdd ? -1 : static_cast<int64_t>(epilogue.op), x.operand(epilogue),
          epilogue.one_row};
    }
  }
};

SourceKernel& MatmulRunner::tile_kernel(const Matmul& matmul) {
  return tiles_[has_activations(matmul)][choose_tile(matmul, context_->info().multiprocessors)];
}

absl::Status MatmulRunner::enqueue_own(CudaStream* stream, const Matmul& matmul,
                                       absl::string_view label) {
  const MatmulTile& tile = kMatmulTiles[choose_tile(matmul, context_->info().multiprocessors)];
  Arguments arguments(matmul);
  arguments.row_tiles = ceil_div(matmul.m, tile.rows);
  arguments.column_tiles = ceil_div(matmul.n, tile.columns);
  return tile_kernel(matmul).launch(stream, &arguments, num_blocks(matmul, tile), label);
}

absl::Status MatmulRunner::enqueue_epilogues(CudaStream* stream, const Matmul& matmul,
                                             absl::string_view label) {
  Arguments arguments(matmul);
  return epilogues_.launch(stream, &arguments, ceil_div(arguments.elements, kElementsOfBlock),
                           label);
}

// ---- The choice between cuBLASLt and our kernels.

MatmulRunner::MatmulRunner(runtime::cuda::Context* context, Compiler* compiler,
                           const CublasLt* library)
    : context_(context),
      table_(library),
      epilogues_(context, compiler, kEpiloguesName, &matmul_epilogues_text) {
  for (const bool activations : {false, true}) {
    for (const MatmulTile& tile : kMatmulTiles) {
      tiles_[activations].emplace_back(context, compiler, name_of(tile, activations),
                                       [=] { return matmul_text(tile, activations); });
    }
  }
}

MatmulRunner::~MatmulRunner() = default;

CublasLtMatmul* MatmulRunner::library() {
  std::call_once(opened_, [this] {
    if (table_ == nullptr) return;
    absl::StatusOr<std::unique_ptr<CublasLtMatmul>> made = CublasLtMatmul::make(context_, table_);
    if (made.ok()) library_ = *std::move(made);
  });
  return library_.get();
}

std::string MatmulRunner::library_name() {
  return library() == nullptr ? "Sluice's kernels" : library()->name();
}

SourceKernel* MatmulRunner::kernel_for(const Matmul& matmul) {
  if (matmul.batch * matmul.m * matmul.n == 0) return nullptr;
  const Matmul x = with_fewer_batches(matmul);
  if (library() == nullptr || !library()->supports(x)) return &tile_kernel(x);
  return CublasLtMatmul::num_folded(x.epilogues) < x.epilogues.size() ? &epilogues_ : nullptr;
}

absl::Status MatmulRunner::prepare(const Matmul& matmul) {
  SourceKernel* const kernel = kernel_for(matmul);
  return kernel == nullptr ? absl::OkStatus() : kernel->compile();
}

bool MatmulRunner::is_ready(const Matmul& matmul) {
  const SourceKernel* const kernel = kernel_for(matmul);
  return kernel == nullptr || kernel->is_ready();
}

absl::Status MatmulRunner::enqueue(CudaStream* stream, const Matmul& matmul,
                                   absl::string_view label) {
  if (matmul.batch * matmul.m * matmul.n == 0) return absl::OkStatus();
  if (matmul.epilogues.size() > kMaxEpilogues) {
    return absl::InternalError(absl::StrCat(std::string(label), ": a product with ",
                                            matmul.epilogues.size(), " epilogues"));
  }
  Matmul x = with_fewer_batches(matmul);
  if (library() == nullptr) return enqueue_own(stream, x, label);
  const absl::StatusOr<bool> done = library()->enqueue(stream, x, label);
  if (!done.ok()) return done.status();
  if (!*done) return enqueue_own(stream, x, label);
  x.epilogues.remove_prefix(CublasLtMatmul::num_folded(x.epilogues));
  return x.epilogues.empty() ? absl::OkStatus() : enqueue_epilogues(stream, x, label);
}

}  // namespace sluice::kernels::cuda
