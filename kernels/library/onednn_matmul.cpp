#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "sluice/kernels/library/matmul.h"
#include "sluice/runtime/cpu/parallel.h"

namespace sluice::kernels {
namespace {

constexpr size_t kMaxPrimitives = 1024;
// Below this many multiplications waking other threads costs more than they save. The choice is by
// shape alone, as bits may depend on the number of threads.
constexpr double kMinParallelProducts = 2e6;
constexpr auto kF32 = dnnl::memory::data_type::f32;

// One operand as oneDNN takes it: one of the last two strides is 1, none is 0 or negative.
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

// A primitive and what it is run with, made once a thread: making the memory objects and a
// scratchpad for each call would cost more than a small product.
struct Primitive {
  dnnl::matmul matmul;
  dnnl::memory a, b, c;
  std::unordered_map<int, dnnl::memory> arguments;

  Primitive(const dnnl::memory::desc& a_desc, const dnnl::memory::desc& b_desc,
            const dnnl::memory::desc& c_desc)
      : a(a_desc, cpu_engine(), nullptr),
        b(b_desc, cpu_engine(), nullptr),
        c(c_desc, cpu_engine(), nullptr) {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc descriptor(cpu_engine(), a_desc, b_desc, c_desc, attributes);
#else
    const dnnl::matmul::primitive_desc descriptor(dnnl::matmul::desc(a_desc, b_desc, c_desc),
                                                  attributes, cpu_engine());
#endif
    matmul = dnnl::matmul(descriptor);
    const dnnl::memory scratchpad(descriptor.scratchpad_desc(), cpu_engine());
    arguments = {{DNNL_ARG_SRC, a},
                 {DNNL_ARG_WEIGHTS, b},
                 {DNNL_ARG_DST, c},
                 {DNNL_ARG_SCRATCHPAD, scratchpad}};
  }
};

// Dims and strides of both operands: what a primitive is made for.
using Key = std::array<int64_t, 12>;

Primitive& find_primitive(const Operand& a, const Operand& b, int64_t batch) {
  thread_local absl::flat_hash_map<Key, std::unique_ptr<Primitive>> primitives;
  Key key;
  auto out = std::copy(a.dims.begin(), a.dims.end(), key.begin());
  out = std::copy(a.strides.begin(), a.strides.end(), out);
  out = std::copy(b.dims.begin(), b.dims.end(), out);
  std::copy(b.strides.begin(), b.strides.end(), out);
  if (primitives.size() >= kMaxPrimitives) primitives.clear();
  std::unique_ptr<Primitive>& primitive = primitives[key];
  if (primitive == nullptr) {
    const int64_t m = a.dims[1];
    const int64_t n = b.dims[2];
    const dnnl::memory::desc c({batch, m, n}, kF32, dnnl::memory::dims{m * n, n, 1});
    primitive = std::make_unique<Primitive>(a.desc(), b.desc(), c);
  }
  return *primitive;
}

}  // namespace

absl::Status matmul(const Matmul& x) {
  if (x.batch * x.m * x.n == 0) return absl::OkStatus();
  if (x.k == 0) {
    std::memset(x.c, 0, sizeof(float) * static_cast<size_t>(x.batch * x.m * x.n));
    return absl::OkStatus();
  }
  try {
    const Operand a(x.a, x.batch, x.m, x.k, x.a_strides);
    const Operand b(x.b, x.batch, x.k, x.n, x.b_strides);
    const double products = static_cast<double>(x.batch * x.m) * static_cast<double>(x.n * x.k);
    const ScopedThreads threads(products < kMinParallelProducts ? 1 : num_threads());
    Primitive& primitive = find_primitive(a, b, x.batch);
    primitive.a.set_data_handle(const_cast<float*>(a.data));
    primitive.b.set_data_handle(const_cast<float*>(b.data));
    primitive.c.set_data_handle(x.c);
    thread_local dnnl::stream stream(cpu_engine());
    primitive.matmul.execute(stream, primitive.arguments);
    stream.wait();
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
