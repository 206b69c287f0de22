// What tests of matrix products on the emulated device are made of.
#ifndef SLUICE_TESTS_CUDA_CUDA_PRODUCTS_H_
#define SLUICE_TESTS_CUDA_CUDA_PRODUCTS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <sluice/half.h>
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/cuda/library/products/matmul.h"
#include "tests/emulated_cuda/runtime_rig.h"
#include "tests/emulated_cuda/test_compiler.h"

namespace sluice::kernels::cuda {

using fusion::Epilogue;
using fusion::Op;
using runtime::Event;
using runtime::cuda::CudaStream;
using test::Outcome;
using test::Rig;

inline std::string message_of(const absl::Status& status) { return std::string(status.message()); }

// ---- Products on the host.

// Elements at any strides.
struct Elements {
  std::vector<float> memory;
  int64_t origin = 0;  // where element 0 is
  int64_t strides[3] = {};

  Elements(const int64_t (&extents)[3], const int64_t (&given)[3], std::mt19937* random) {
    int64_t low = 0, high = 0;
    for (int d = 0; d < 3; ++d) {
      strides[d] = given[d];
      const int64_t span = given[d] * std::max<int64_t>(extents[d] - 1, 0);
      (span < 0 ? low : high) += span;
    }
    origin = -low;
    memory.resize(high - low + 1);
    std::uniform_real_distribution<float> distribution(-1, 1);
    for (float& x : memory) x = distribution(*random);
  }
  float at(int64_t i, int64_t row, int64_t column) const {
    return memory[origin + i * strides[0] + row * strides[1] + column * strides[2]];
  }
};

// To what `dtype`, a half type or float32, can hold.
inline float rounded(float x, DType dtype) {
  if (dtype == DType::kFloat16) return static_cast<float>(float16(x));
  if (dtype == DType::kBFloat16) return static_cast<float>(bfloat16(x));
  return x;
}
// As tensor cores read it.
inline float rounded_to_tf32(float x) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(x) + 0x1000u) & ~0x1fffu);
}

struct Link {
  Op op = Op::kAdd;
  bool one_row = false;
};

inline const std::vector<std::vector<Link>> kChains = {
    {{Op::kAdd, true}},
    {{Op::kAdd, false}},
    {{Op::kRelu}},
    {{Op::kGelu}},
    {{Op::kTanh}},
    {{Op::kSigmoid}},
    {{Op::kSilu}},
    {{Op::kAdd, true}, {Op::kRelu}},
    {{Op::kRelu}, {Op::kAdd, true}},
    {{Op::kAdd, true}, {Op::kGelu}, {Op::kAdd, false}, {Op::kTanh}},
};

class Product {
 public:
  // Rows and columns without gaps, unless strides are given.
  Product(int64_t batch, int64_t m, int64_t n, int64_t k, std::vector<Link> links = {})
      : Product(batch, m, n, k, {m * k, k, 1}, {k * n, n, 1}, std::move(links)) {}
  Product(int64_t batch, int64_t m, int64_t n, int64_t k, const int64_t (&a_strides)[3],
          const int64_t (&b_strides)[3], std::vector<Link> links = {})
      : batch(batch),
        m(m),
        n(n),
        k(k),
        random(static_cast<unsigned>(m * 31 + n * 7 + k)),
        a({batch, m, k}, a_strides, &random),
        b({batch, k, n}, b_strides, &random),
        links(std::move(links)) {
    for (const Link& link : this->links) {
      const int64_t count = link.op != Op::kAdd ? 0 : link.one_row ? n : batch * m * n;
      operands.push_back(Elements({1, 1, count}, {0, 0, 1}, &random).memory);
    }
  }

  // The same product of another type; what its operands cannot hold is rounded.
  Product& as(DType type, DType result) {
    operand_dtype = type;
    dtype = result;
    for (Elements* elements : {&a, &b}) {
      for (float& x : elements->memory) x = rounded(x, type);
    }
    return *this;
  }
  Product& as(DType type) { return as(type, type); }
  Product& as_tf32() {
    allow_tf32 = true;
    return *this;
  }

  std::string name() const {
    return absl::StrCat("matmul ", name_of(operand_dtype), allow_tf32 ? " tf32" : "", "[", batch,
                        ", ", m, ", ", k, ", ", n, "]");
  }
  int64_t size() const { return batch * m * n; }
  // Without addresses. The operand of epilogue i is buffer i.
  Matmul shape(std::vector<Epilogue>* epilogues) const {
    Matmul x;
    x.batch = batch;
    x.m = m;
    x.n = n;
    x.k = k;
    x.operand_dtype = operand_dtype;
    x.dtype = dtype;
    x.allow_tf32 = allow_tf32;
    std::copy_n(a.strides, 3, x.a_strides);
    std::copy_n(b.strides, 3, x.b_strides);
    for (const Link& link : links) {
      const auto number = static_cast<int32_t>(epilogues->size());
      epilogues->push_back(
          {.op = link.op, .operand = link.op == Op::kAdd ? number : -1, .one_row = link.one_row});
    }
    x.epilogues = *epilogues;
    return x;
  }

  // In the order of k, by fma, part by part; NaN is the canonical one.
  std::vector<float> in_order() const {
    std::vector<Epilogue> epilogues;
    const int64_t depth = split_depth(shape(&epilogues));
    const auto read = [&](float x) { return allow_tf32 ? rounded_to_tf32(x) : x; };
    std::vector<float> c;
    for_each([&](int64_t i, int64_t row, int64_t column) {
      float total = 0;
      for (int64_t first = 0; first < k; first += depth) {
        float sum = 0;
        for (int64_t j = first; j < std::min(k, first + depth); ++j) {
          sum = std::fma(read(a.at(i, row, j)), read(b.at(i, j, column)), sum);
        }
        total = first == 0 ? sum : total + sum;
      }
      c.push_back(total == total ? rounded(total, dtype) : std::bit_cast<float>(0x7fc00000u));
    });
    return c;
  }
  std::vector<double> exact() const {
    std::vector<double> c;
    for_each([&](int64_t i, int64_t row, int64_t column) {
      double x = 0;
      for (int64_t j = 0; j < k; ++j) x += double{a.at(i, row, j)} * double{b.at(i, j, column)};
      for (size_t e = 0; e < links.size(); ++e) {
        const double sigmoid = 1 / (1 + std::exp(-x));
        switch (links[e].op) {
          case Op::kRelu: x = std::max(x, 0.0); break;
          case Op::kGelu: x *= std::erfc(-x / std::sqrt(2.0)) / 2; break;
          case Op::kTanh: x = std::tanh(x); break;
          case Op::kSigmoid: x = sigmoid; break;
          case Op::kSilu: x *= sigmoid; break;
          default: x += double{operands[e][links[e].one_row ? column : c.size()]};
        }
      }
      c.push_back(x);
    });
    return c;
  }

  const int64_t batch, m, n, k;
  DType operand_dtype = DType::kFloat32, dtype = DType::kFloat32;
  bool allow_tf32 = false;
  std::mt19937 random;
  Elements a, b;
  const std::vector<Link> links;
  std::vector<std::vector<float>> operands;  // of links

 private:
  template <typename F>
  void for_each(const F& f) const {
    for (int64_t i = 0; i < batch; ++i) {
      for (int64_t row = 0; row < m; ++row) {
        for (int64_t column = 0; column < n; ++column) f(i, row, column);
      }
    }
  }
};

inline void expect_exact(const std::vector<float>& actual, const std::vector<float>& expected,
                         const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(actual[i]), std::bit_cast<uint32_t>(expected[i]))
        << what << " at " << i << ": " << actual[i] << " for " << expected[i];
  }
}

inline void expect_near(const std::vector<float>& actual, const Product& product) {
  const std::vector<double> expected = product.exact();
  ASSERT_EQ(actual.size(), expected.size());
  const double tolerance = (product.allow_tf32 ? 1e-3 : 1e-6) * static_cast<double>(product.k + 4);
  const double unit = product.dtype == DType::kFloat32   ? 0
                      : product.dtype == DType::kFloat16 ? 1e-3
                                                         : 8e-3;
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_LE(std::abs(double{actual[i]} - expected[i]), tolerance + unit * std::abs(expected[i]))
        << product.name() << " at " << i;
  }
}

// ---- Products on the device.

// The memory of a product there.
class Placed {
 public:
  Placed(Rig* rig, CudaStream* stream, const Product& product) : rig_(*rig), product_(product) {
    x_ = product.shape(&epilogues_);
    const auto operand = [&](const Elements& elements) {
      char* const data = reinterpret_cast<char*>(upload(packed(elements.memory)));
      return data + elements.origin * static_cast<int64_t>(size_of(product.operand_dtype));
    };
    x_.a = operand(product.a);
    x_.b = operand(product.b);
    for (size_t e = 0; e < epilogues_.size(); ++e) {
      const bool adds = epilogues_[e].op == Op::kAdd;
      buffers_.push_back(adds ? upload(product.operands[e]) : nullptr);
    }
    x_.epilogues = epilogues_;
    x_.buffers = buffers_;
    c_ = rig_.allocate(stream, product.size());
    x_.c = c_;
  }
  ~Placed() {
    rig_.device().wait_for_all();
    for (float* data : uploaded_) rig_.device().allocator().free(data);
    rig_.device().allocator().free(c_);
  }
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;

  const Matmul& matmul() const { return x_; }
  const std::vector<Event>& written() const { return written_; }

  Event submit(CudaStream* stream, MatmulRunner* runner, std::shared_ptr<Outcome> outcome,
               std::vector<Event> after = {}) {
    after.insert(after.end(), written_.begin(), written_.end());
    return test::submit(
        stream, [=, this] { return runner->enqueue(stream, x_, product_.name()); }, outcome, after);
  }
  std::vector<float> result(const Event& made) {
    if (!is_half(product_.dtype)) return rig_.download(c_, product_.size(), made);
    const std::vector<float> words = rig_.download(c_, (product_.size() + 1) / 2, made);
    std::vector<float> values;
    for (int64_t i = 0; i < product_.size(); ++i) {
      uint16_t bits = 0;
      std::memcpy(&bits, reinterpret_cast<const char*>(words.data()) + 2 * i, sizeof(bits));
      const float x = product_.dtype == DType::kFloat16
                          ? static_cast<float>(std::bit_cast<float16>(bits))
                          : static_cast<float>(std::bit_cast<bfloat16>(bits));
      values.push_back(x == x ? x : std::bit_cast<float>(0x7fc00000u));
    }
    return values;
  }

 private:
  // In the operands' type, two half elements a word.
  std::vector<float> packed(const std::vector<float>& values) const {
    if (!is_half(product_.operand_dtype)) return values;
    std::vector<float> words((values.size() + 1) / 2);
    for (size_t i = 0; i < values.size(); ++i) {
      const uint16_t bits = product_.operand_dtype == DType::kFloat16 ? float16(values[i]).bits
                                                                      : bfloat16(values[i]).bits;
      std::memcpy(reinterpret_cast<char*>(words.data()) + 2 * i, &bits, sizeof(bits));
    }
    return words;
  }
  float* upload(const std::vector<float>& values) {
    float* const data =
        rig_.allocate(rig_.device().copies().upload_stream(), static_cast<int64_t>(values.size()));
    written_.push_back(rig_.upload(data, values));
    uploaded_.push_back(data);
    return data;
  }

  Rig& rig_;
  const Product& product_;
  Matmul x_;
  std::vector<Epilogue> epilogues_;
  std::vector<void*> buffers_;
  std::vector<float*> uploaded_;
  float* c_ = nullptr;
  std::vector<Event> written_;
};

inline std::vector<float> run(Rig* rig, MatmulRunner* runner, const Product& product) {
  const auto stream = rig->stream();
  Placed placed(rig, stream.get(), product);
  auto outcome = std::make_shared<Outcome>();
  std::vector<float> result = placed.result(placed.submit(stream.get(), runner, outcome));
  EXPECT_TRUE(outcome->run.ok()) << outcome->run;
  EXPECT_EQ(outcome->finished, 1);
  return result;
}

// Counts what it compiles and refuses what it is told to.
class TestCompiler : public Compiler {
 public:
  absl::StatusOr<CompiledCode> compile(const std::string& text, bool contracts) override {
    EXPECT_FALSE(contracts);
    ++calls;
    if (!refuses.empty() && absl::StrContains(text, refuses)) {
      return absl::InternalError("the text is not to its taste");
    }
    return compiler_->compile(text, contracts);
  }
  std::string identity() const override { return "test"; }

  std::atomic<int> calls{0};
  std::string refuses;

 private:
  const std::unique_ptr<Compiler> compiler_ = emulated::make_test_compiler();
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_TESTS_CUDA_CUDA_PRODUCTS_H_
