// cuBLASLt without a GPU: a table that records its calls, looks for misuse, and has products
// computed by a kernel of the emulated device.
#ifndef SLUICE_TESTS_CUDA_FAKE_CUBLASLT_H_
#define SLUICE_TESTS_CUDA_FAKE_CUBLASLT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <sluice/half.h>
#include "kernels/cuda/library/products/cublaslt.h"
#include "tests/emulated_cuda/runtime_rig.h"

namespace sluice::test {

namespace lt = kernels::cuda;

// One at a time.
class FakeCublasLt {
 public:
  using Status = lt::LtStatus;
  using Transpose = lt::LtTranspose;
  using Epilogue = lt::LtEpilogue;

  struct Layout {
    int64_t rows, columns, leading_dimension;
    lt::LtDataType type = lt::LtDataType::kFloat32;
    int32_t batch = 1;
    int32_t padding = 0;  // what is left in memory might look like a device's address
    int64_t batch_stride = 0;
  };
  struct Operation {
    lt::LtCompute compute;
    Transpose transpose_a = Transpose::kNo, transpose_b = Transpose::kNo;
    Epilogue epilogue = Epilogue::kNone;
    const float* bias = nullptr;
  };
  struct Preference {
    uint64_t max_workspace_bytes = 0;
    lt::LtReduction reductions{7};
    uint32_t alignments[4] = {256, 256, 256, 256};  // of a, b, c, d
  };
  // A question for an algorithm, or a product.
  struct Call {
    Layout a, b, c;
    Operation operation;
    Preference preference;  // of questions
  };

  explicit FakeCublasLt(Rig* rig) : rig_(*rig) {
    current() = this;
    rig->emulator.add_kernel("library_product", run_product);
  }
  ~FakeCublasLt() {
    EXPECT_EQ(objects, 0) << "handles and descriptors that were not given back";
    module_.reset();
    current() = nullptr;
  }
  FakeCublasLt(const FakeCublasLt&) = delete;
  FakeCublasLt& operator=(const FakeCublasLt&) = delete;

  static const lt::CublasLt* table() {
    static const lt::CublasLt kTable = make_table();
    return &kTable;
  }

  // What it answers.
  Status create_status = Status::kSuccess, matmul_status = Status::kSuccess;
  std::function<bool(const Call&)> has_algorithm = [](const Call&) { return true; };
  size_t workspace_bytes = 0;
  // What it was asked.
  std::vector<Call> questions, products;
  std::atomic<int> objects{0};

 private:
  static constexpr uint64_t kAlgorithm = 0x5afea190;

  struct Product {
    void* d;
    const void* a;
    const void* b;
    const float* bias;
    char* workspace;
    size_t workspace_bytes;
    Call call;
  };

  static FakeCublasLt*& current() {
    static FakeCublasLt* fake = nullptr;
    return fake;
  }

  // Column by column, summed in double.
  static const char* run_product(const emulated::Geometry&, const void* params) {
    const Product& p = *static_cast<const Product*>(params);
    const Call& call = p.call;
    if (p.workspace != nullptr) std::memset(p.workspace, 0x5a, p.workspace_bytes);
    const auto at = [](const void* data, const Layout& layout, Transpose transpose, int64_t batch,
                       int64_t row, int64_t column) {
      if (transpose == Transpose::kYes) std::swap(row, column);
      const int64_t place = batch * layout.batch_stride + row + column * layout.leading_dimension;
      switch (layout.type) {
        case lt::LtDataType::kFloat16:
          return double{static_cast<float>(static_cast<const float16*>(data)[place])};
        case lt::LtDataType::kBFloat16:
          return double{static_cast<float>(static_cast<const bfloat16*>(data)[place])};
        default: return double{static_cast<const float*>(data)[place]};
      }
    };
    const int64_t depth =
        call.operation.transpose_a == Transpose::kYes ? call.a.rows : call.a.columns;
    const auto has = [&](Epilogue part) {
      return (static_cast<uint32_t>(call.operation.epilogue) & static_cast<uint32_t>(part)) != 0;
    };
    for (int64_t i = 0; i < call.c.batch; ++i) {
      for (int64_t column = 0; column < call.c.columns; ++column) {
        for (int64_t row = 0; row < call.c.rows; ++row) {
          double sum = 0;
          for (int64_t k = 0; k < depth; ++k) {
            sum += at(p.a, call.a, call.operation.transpose_a, i, row, k) *
                   at(p.b, call.b, call.operation.transpose_b, i, k, column);
          }
          if (has(Epilogue::kBias)) sum += double{p.bias[row]};
          if (has(Epilogue::kRelu)) sum = std::max(sum, 0.0);
          const int64_t place = i * call.c.batch_stride + row + column * call.c.leading_dimension;
          const auto result = static_cast<float>(sum);
          switch (call.c.type) {
            case lt::LtDataType::kFloat16:
              static_cast<float16*>(p.d)[place] = float16(result);
              break;
            case lt::LtDataType::kBFloat16:
              static_cast<bfloat16*>(p.d)[place] = bfloat16(result);
              break;
            default: static_cast<float*>(p.d)[place] = result;
          }
        }
      }
    }
    return nullptr;
  }

  template <typename T, typename Opaque>
  static T& real(Opaque* opaque) {
    return *reinterpret_cast<T*>(opaque);
  }
  template <typename Opaque, typename T>
  static Status make(Opaque** opaque, const T& value) {
    ++current()->objects;
    *opaque = reinterpret_cast<Opaque*>(new T(value));
    return Status::kSuccess;
  }
  template <typename T, typename Opaque>
  static Status destroy(Opaque* opaque) {
    --current()->objects;
    delete reinterpret_cast<T*>(opaque);
    return Status::kSuccess;
  }
  template <typename T>
  static Status set(T* target, const void* value, size_t bytes) {
    if (bytes != sizeof(T)) return Status::kInvalidValue;
    std::memcpy(static_cast<void*>(target), value, bytes);
    return Status::kSuccess;
  }

  static Status set_layout(lt::LtLayout opaque, lt::LtLayoutAttribute attribute, const void* value,
                           size_t bytes) {
    Layout& layout = real<Layout>(opaque);
    return attribute == lt::LtLayoutAttribute::kBatchCount
               ? set(&layout.batch, value, bytes)
               : set(&layout.batch_stride, value, bytes);
  }
  static Status set_operation(lt::LtOperation opaque, lt::LtOperationAttribute attribute,
                              const void* value, size_t bytes) {
    using Attribute = lt::LtOperationAttribute;
    Operation& operation = real<Operation>(opaque);
    switch (attribute) {
      case Attribute::kTransposeA: return set(&operation.transpose_a, value, bytes);
      case Attribute::kTransposeB: return set(&operation.transpose_b, value, bytes);
      case Attribute::kEpilogue: return set(&operation.epilogue, value, bytes);
      case Attribute::kBiasPointer: return set(&operation.bias, value, bytes);
    }
    return Status::kInvalidValue;
  }
  static Status set_preference(lt::LtPreference opaque, lt::LtPreferenceAttribute attribute,
                               const void* value, size_t bytes) {
    using Attribute = lt::LtPreferenceAttribute;
    Preference& preference = real<Preference>(opaque);
    if (attribute == Attribute::kMaxWorkspaceBytes) {
      return set(&preference.max_workspace_bytes, value, bytes);
    }
    if (attribute == Attribute::kReductionSchemes) {
      return set(&preference.reductions, value, bytes);
    }
    const int which = static_cast<int>(attribute) - static_cast<int>(Attribute::kMinAlignmentA);
    return set(&preference.alignments[which], value, bytes);
  }

  // What the real library demands of layouts.
  static bool agree(const Call& call) {
    const auto rows = [](const Layout& layout, Transpose transpose) {
      return transpose == Transpose::kYes ? layout.columns : layout.rows;
    };
    const auto columns = [](const Layout& layout, Transpose transpose) {
      return transpose == Transpose::kYes ? layout.rows : layout.columns;
    };
    const Operation& op = call.operation;
    bool agree = columns(call.a, op.transpose_a) == rows(call.b, op.transpose_b) &&
                 rows(call.a, op.transpose_a) == call.c.rows &&
                 columns(call.b, op.transpose_b) == call.c.columns;
    for (const Layout& layout : {call.a, call.b, call.c}) {
      agree = agree && layout.leading_dimension >= layout.rows && layout.batch == call.c.batch &&
              layout.rows > 0 && layout.columns > 0 && layout.batch_stride >= 0;
    }
    return agree;
  }

  static Status ask(lt::LtHandle, lt::LtOperation operation, lt::LtLayout a, lt::LtLayout b,
                    lt::LtLayout c, lt::LtLayout d, lt::LtPreference preference, int max_results,
                    lt::LtHeuristicResult* results, int* num_results) {
    const Call call = {real<Layout>(a), real<Layout>(b), real<Layout>(c),
                       real<Operation>(operation), real<Preference>(preference)};
    EXPECT_EQ(c, d);
    EXPECT_GE(max_results, 1);
    EXPECT_TRUE(agree(call));
    current()->questions.push_back(call);
    *num_results = 0;
    if (!current()->has_algorithm(call)) return Status::kNotSupported;
    *num_results = 1;
    results[0] = {};
    results[0].algorithm.data[0] = kAlgorithm;
    results[0].workspace_bytes = current()->workspace_bytes;
    EXPECT_LE(results[0].workspace_bytes, call.preference.max_workspace_bytes);
    return Status::kSuccess;
  }

  static Status multiply(lt::LtHandle, lt::LtOperation operation, const void* alpha, const void* a,
                         lt::LtLayout a_layout, const void* b, lt::LtLayout b_layout,
                         const void* beta, const void* c, lt::LtLayout c_layout, void* d,
                         lt::LtLayout d_layout, const lt::LtAlgorithm* algorithm, void* workspace,
                         size_t workspace_bytes, cuda::StreamHandle stream) {
    FakeCublasLt* const fake = current();
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    EXPECT_EQ(*static_cast<const float*>(alpha), 1);
    EXPECT_EQ(*static_cast<const float*>(beta), 0);
    EXPECT_EQ(c, d);
    EXPECT_EQ(c_layout, d_layout);
    EXPECT_EQ(algorithm->data[0], kAlgorithm);
    const Call call = {real<Layout>(a_layout),
                       real<Layout>(b_layout),
                       real<Layout>(c_layout),
                       real<Operation>(operation),
                       {}};
    if (fake->matmul_status != Status::kSuccess) return fake->matmul_status;
    fake->products.push_back(call);
    Product product = {
        d, a, b, call.operation.bias, static_cast<char*>(workspace), workspace_bytes, call};
    return fake->launch(&product, stream) ? Status::kSuccess : Status::kInvalidValue;
  }

  bool launch(Product* product, cuda::StreamHandle stream) {
    if (module_ == nullptr) {
      auto module =
          cuda::Module::load(&rig_.device().context(), emulated::EmulatedCuda::registered_image());
      if (!module.ok()) return false;
      module_ = *std::move(module);
      const auto function = module_->function("library_product");
      if (!function.ok()) return false;
      function_ = *function;
    }
    cuda::LaunchConfig config = {};
    std::fill_n(config.grid, 3, 1u);
    std::fill_n(config.block, 3, 1u);
    config.stream = stream;
    cuda::ParamList params({reinterpret_cast<const std::byte*>(product), sizeof(*product)});
    return rig_.emulator.driver().launch_kernel_ex(&config, function_.handle, nullptr,
                                                   params.extra()) == cuda::Result::kSuccess;
  }

  static lt::CublasLt make_table() {
    lt::CublasLt table;
    table.get_version = [] { return size_t{130100}; };
    table.create = [](lt::LtHandle* handle) {
      const Status status = current()->create_status;
      return status == Status::kSuccess ? make(handle, 0) : status;
    };
    table.destroy = destroy<int>;
    table.layout_create = [](lt::LtLayout* layout, lt::LtDataType type, uint64_t rows,
                             uint64_t columns, int64_t leading_dimension) {
      return make(layout, Layout{static_cast<int64_t>(rows), static_cast<int64_t>(columns),
                                 leading_dimension, type});
    };
    table.layout_destroy = destroy<Layout>;
    table.layout_set = set_layout;
    table.operation_create = [](lt::LtOperation* operation, lt::LtCompute compute,
                                lt::LtDataType scale) {
      EXPECT_EQ(scale, lt::LtDataType::kFloat32);
      return make(operation, Operation{compute});
    };
    table.operation_destroy = destroy<Operation>;
    table.operation_set = set_operation;
    table.preference_create = [](lt::LtPreference* preference) {
      return make(preference, Preference{});
    };
    table.preference_destroy = destroy<Preference>;
    table.preference_set = set_preference;
    table.heuristic = ask;
    table.matmul = multiply;
    return table;
  }

  Rig& rig_;
  std::unique_ptr<cuda::Module> module_;
  cuda::Function function_;
};

}  // namespace sluice::test

#endif  // SLUICE_TESTS_CUDA_FAKE_CUBLASLT_H_
