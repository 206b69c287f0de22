#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "kernels/library/epilogue_loops.h"
#include "kernels/library/matmul.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/cpu/parallel.h"

// Of the OpenMP runtime that oneDNN brings, if it is built with one.
extern "C" [[gnu::weak]] void omp_set_num_threads(int count);

namespace sluice::kernels {
namespace {

using fusion::Epilogue;

constexpr size_t kMaxPrimitives = 1024;
// With fewer multiplications, waking other threads costs more than they save. The choice depends on
// the shape alone, as bits may depend on the number of threads.
constexpr double kMinParallelProducts = 2e6;
constexpr auto kF32 = dnnl::memory::data_type::f32;

// An operand as oneDNN requires: one of the last two strides is 1, none is 0 or negative.
struct Operand {
  const float* data;
  std::array<int64_t, 3> dims;
  std::array<int64_t, 3> strides;
  std::vector<float> packed;  // owns `data` if the strides had to be changed

  Operand(const float* source, int64_t batch, int64_t rows, int64_t columns, const int64_t* given)
      : data(source), dims{batch, rows, columns}, strides{given[0], given[1], given[2]} {
    if (strides[0] == 0) dims[0] = 1;  // oneDNN broadcasts a leading axis of 1
    if (dims[0] == 1) strides[0] = rows * columns;
    if (columns == 1) strides[2] = 1;
    if (rows == 1) strides[1] = strides[2] == 1 ? columns : 1;
    const bool row_major = strides[2] == 1 && strides[1] >= columns;
    const bool column_major = strides[1] == 1 && strides[2] >= rows;
    if ((!row_major && !column_major) || strides[0] < 0) pack(given);
  }

  void pack(const int64_t* given) {
    packed.resize(dims[0] * dims[1] * dims[2]);
    float* out = packed.data();
    for (int64_t i = 0; i < dims[0]; ++i) {
      for (int64_t r = 0; r < dims[1]; ++r) {
        const float* row = data + i * given[0] + r * given[1];
        for (int64_t c = 0; c < dims[2]; ++c) *out++ = row[c * given[2]];
      }
    }
    data = packed.data();
    strides = {dims[1] * dims[2], dims[2], 1};
  }

  dnnl::memory::desc desc() const {
    return {{dims[0], dims[1], dims[2]}, kF32, {strides[0], strides[1], strides[2]}};
  }
};

dnnl::engine& cpu_engine() {
  static auto* engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::memory::desc row_major(int64_t batch, int64_t rows, int64_t columns) {
  return {{batch, rows, columns}, kF32, dnnl::memory::dims{rows * columns, columns, 1}};
}

dnnl::memory::desc desc_of(const Epilogue& epilogue, const Matmul& x) {
  return epilogue.one_row ? row_major(1, 1, x.n) : row_major(x.batch, x.m, x.n);
}

void append(const Epilogue& epilogue, const Matmul& x, dnnl::post_ops* ops) {
  const auto append_activation = [&](dnnl::algorithm algorithm, float alpha) {
#if DNNL_VERSION_MAJOR >= 3
    ops->append_eltwise(algorithm, alpha, 0.f);
#else
    ops->append_eltwise(1.f, algorithm, alpha, 0.f);
#endif
  };
  switch (epilogue.op) {
#define SLUICE_ACTIVATION(id, onednn, alpha, ...) \
  case fusion::Op::k##id:                         \
    return append_activation(dnnl::algorithm::onednn, alpha);
#include "fusion/ir/activations.def"
    default: return ops->append_binary(dnnl::algorithm::binary_add, desc_of(epilogue, x));
  }
}

void apply_loops(const Matmul& x) {
  if (x.epilogues.empty()) return;
  parallel_for(x.batch * x.m, 1 + 4096 / x.n,
               [&](int64_t begin, int64_t end) { apply_epilogues(x, begin, end); });
}

// A primitive and its arguments, one of each per thread: making the memory objects and a scratchpad
// for each call would cost more than a small product.
struct Primitive {
  dnnl::matmul matmul;
  dnnl::memory a, b, c;
  bool has_epilogues = false;
  std::vector<dnnl::memory> operands;  // of those epilogues that have one, in order
  std::unordered_map<int, dnnl::memory> arguments;

  Primitive(const Operand& left, const Operand& right, const Matmul& x)
      : a(left.desc(), cpu_engine(), nullptr),
        b(right.desc(), cpu_engine(), nullptr),
        c(row_major(x.batch, x.m, x.n), cpu_engine(), nullptr) {
    dnnl::matmul::primitive_desc descriptor;
    if (!x.epilogues.empty()) {
      descriptor = describe(x);
      // Our own loops are faster than oneDNN's reference implementation.
      has_epilogues =
          descriptor && std::string_view(descriptor.impl_info_str()).substr(0, 3) != "ref";
    }
    if (!has_epilogues) {
      Matmul plain = x;
      plain.epilogues = {};
      descriptor = describe(plain);
    }
    matmul = dnnl::matmul(descriptor);
    const dnnl::memory scratchpad(descriptor.scratchpad_desc(), cpu_engine());
    arguments = {{DNNL_ARG_SRC, a},
                 {DNNL_ARG_WEIGHTS, b},
                 {DNNL_ARG_DST, c},
                 {DNNL_ARG_SCRATCHPAD, scratchpad}};
    if (!has_epilogues) return;
    for (size_t i = 0; i < x.epilogues.size(); ++i) {
      if (x.epilogues[i].op != fusion::Op::kAdd) continue;
      operands.emplace_back(desc_of(x.epilogues[i], x), cpu_engine(), nullptr);
      arguments[argument_of(static_cast<int>(i), x)] = operands.back();
    }
  }

  // A bias is cheaper than a sum as a post-op.
  static bool has_bias(const Matmul& x) {
    return !x.epilogues.empty() && x.epilogues[0].op == fusion::Op::kAdd && x.epilogues[0].one_row;
  }

  static int argument_of(int epilogue, const Matmul& x) {
    if (!has_bias(x)) return DNNL_ARG_ATTR_MULTIPLE_POST_OP(epilogue) | DNNL_ARG_SRC_1;
    if (epilogue == 0) return DNNL_ARG_BIAS;
    return DNNL_ARG_ATTR_MULTIPLE_POST_OP(epilogue - 1) | DNNL_ARG_SRC_1;
  }

  // Empty if there is no implementation.
  dnnl::matmul::primitive_desc describe(const Matmul& x) const {
    dnnl::post_ops ops;
    for (const Epilogue& epilogue : x.epilogues.subspan(has_bias(x) ? 1 : 0)) {
      append(epilogue, x, &ops);
    }
    // No bias if it is empty.
    const dnnl::memory::desc bias = has_bias(x) ? desc_of(x.epilogues[0], x) : dnnl::memory::desc();
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attributes.set_post_ops(ops);
#if DNNL_VERSION_MAJOR >= 3
    return {cpu_engine(), a.get_desc(), b.get_desc(), bias, c.get_desc(), attributes, true};
#else
    return {dnnl::matmul::desc(a.get_desc(), b.get_desc(), bias, c.get_desc()), attributes,
            cpu_engine(), true};
#endif
  }

  void run(const Operand& left, const Operand& right, const Matmul& x) {
    a.set_data_handle(const_cast<float*>(left.data));
    b.set_data_handle(const_cast<float*>(right.data));
    c.set_data_handle(x.c);
    if (has_epilogues) {
      auto operand = operands.begin();
      for (const Epilogue& epilogue : x.epilogues) {
        if (epilogue.op != fusion::Op::kAdd) continue;
        (operand++)->set_data_handle(const_cast<float*>(x.operand(epilogue)));
      }
    }
    thread_local dnnl::stream stream(cpu_engine());
    matmul.execute(stream, arguments);
    stream.wait();
    if (!has_epilogues) apply_loops(x);
  }
};

// Identifies a primitive: dims and strides of both operands, and the kinds of the epilogues.
using Key = std::array<int64_t, 13>;

Primitive& find_primitive(const Operand& a, const Operand& b, const Matmul& x) {
  thread_local absl::flat_hash_map<Key, std::unique_ptr<Primitive>> primitives;
  Key key;
  auto out = std::copy(a.dims.begin(), a.dims.end(), key.begin());
  out = std::copy(a.strides.begin(), a.strides.end(), out);
  out = std::copy(b.dims.begin(), b.dims.end(), out);
  out = std::copy(b.strides.begin(), b.strides.end(), out);
  *out = 0;
  for (const Epilogue& epilogue : x.epilogues) {
    *out = *out << 16 | static_cast<int64_t>(epilogue.op) << 1 | (epilogue.one_row ? 1 : 0);
  }
  if (primitives.size() >= kMaxPrimitives) primitives.clear();
  std::unique_ptr<Primitive>& primitive = primitives[key];
  if (primitive == nullptr) primitive = std::make_unique<Primitive>(a, b, x);
  return *primitive;
}

}  // namespace

absl::Status matmul(const Matmul& x) {
  if (x.batch * x.m * x.n == 0) return absl::OkStatus();
  if (x.k == 0) {
    std::memset(x.c, 0, sizeof(float) * static_cast<size_t>(x.batch * x.m * x.n));
    apply_loops(x);
    return absl::OkStatus();
  }
  try {
    const Operand a(x.a, x.batch, x.m, x.k, x.a_strides);
    const Operand b(x.b, x.batch, x.k, x.n, x.b_strides);
    const double products = static_cast<double>(x.batch * x.m) * static_cast<double>(x.n * x.k);
    if (omp_set_num_threads != nullptr) {
      omp_set_num_threads(products < kMinParallelProducts ? 1 : num_threads());
    }
    find_primitive(a, b, x).run(a, b, x);
  } catch (const dnnl::error& error) {
    return absl::InternalError(absl::StrCat("oneDNN: ", error.what()));
  }
  return absl::OkStatus();
}

std::string matmul_library() {
  const dnnl_version_t* version = dnnl_version();
  return absl::StrCat("oneDNN ", version->major, ".", version->minor, ".", version->patch);
}

}  // namespace sluice::kernels
