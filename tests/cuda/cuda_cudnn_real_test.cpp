// The real cuDNN, where there is one: its plans, for devices that are not there, and what it says
// of misuse; and where there are its headers, what of them is declared once more.
#include <glob.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/cuda/library/attention/dnn_attention.h"
#include "kernels/cuda/library/convolution/dnn_convolution.h"
#include "kernels/cuda/library_paths.h"
#include "runtime/shared_library.h"
#include "tests/cuda/cuda_convolutions.h"
#include "tests/cuda/cudnn_misuse.h"
#include "tests/emulated_cuda/fake_cudnn.h"

namespace sluice::kernels::cuda {
namespace {

using emulated::FakeCudnn;
using ::testing::HasSubstr;

// The real library; null where there is none.
const Cudnn* real_library() {
  const absl::StatusOr<const Cudnn*> found = find_cudnn(13000);
  return found.ok() ? *found : nullptr;
}

constexpr int category(DnnStatus status) { return static_cast<int>(status) / 1000; }

TEST(CudaRealCudnn, SaysTheSameOfMisuseAsTheOneThatIsNotThere) {
  if (real_library() == nullptr) GTEST_SKIP() << "there is no cuDNN";
  Rig rig;
  const FakeCudnn fake(&rig.emulator);
  const auto real = misuse_of(*real_library()), ours = misuse_of(*FakeCudnn::table());
  ASSERT_EQ(real.size(), ours.size());
  for (size_t i = 0; i < real.size(); ++i) {
    EXPECT_EQ(category(real[i].second), category(ours[i].second))
        << real[i].first << ": " << static_cast<int>(real[i].second) << " and "
        << static_cast<int>(ours[i].second);
  }
}

// ---- The real library's plans.

TEST(CudaRealCudnn, SaysThatThereIsNone) {
  EXPECT_THAT(message_of(load_cudnn("libno-such-library.so.1").status()),
              HasSubstr("libno-such-library.so.1"));
  EXPECT_EQ(message_of(load_cudnn("libm.so.6").status()), "libm.so.6 has no cudnnGetVersion");
  // No library is for a driver as old as this, unless one is named.
  const absl::Status none = find_cudnn(9000).status();
  if (environment_variable("SLUICE_CUDNN").empty()) {
    EXPECT_EQ(none.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(message_of(none), HasSubstr("libcudnn.so.9 was not found"));
  }
}

// A device by its properties alone, as the library writes them.
struct Device {
  const char* name;
  int architecture, multiprocessors, shared_bytes, l2_bytes, core_khz, memory_khz;
  int64_t memory_bytes;

  std::string json() const {
    return absl::StrCat(
        R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],)",
        R"("regsPerBlock":65536,"warpSize":32,"maxSharedMemoryPerBlock":49152,)",
        R"("reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,"maxCtasPerSM":32,)",
        R"("maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,)",
        R"("supportCoopLaunch":1,"cudaDeviceId":0,"driverVer":13000,"deviceName":")", name,
        R"(","deviceVer":)", 10 * architecture, R"(,"multiProcessorCount":)", multiprocessors,
        R"(,"maxSharedMemoryPerBlockOptin":)", shared_bytes, R"(,"l2CacheSize":)", l2_bytes,
        R"(,"smClockRateKHz":)", core_khz, R"(,"memClockRateKHz":)", memory_khz,
        R"(,"memoryBusWidth":5120,"totalGlobalMem":)", memory_bytes, "}");
  }
  DnnDescriptor properties(DnnDescriptors* made) const {
    const DnnDescriptor properties = made->make(DnnDescriptorType::kDeviceProperties);
    const std::string text = json();
    made->set(properties, DnnAttribute::kDevicePropertiesJson, DnnType::kChar,
              absl::MakeConstSpan(text.data(), text.size()));
    made->finalize(properties);
    return properties;
  }
};
constexpr Device kDevices[] = {
    {"NVIDIA A100-SXM4-40GB", 80, 108, 166912, 41943040, 1410000, 1215000, 42505273344},
    {"NVIDIA H100 80GB HBM3", 90, 132, 232448, 52428800, 1980000, 2619000, 85028765696},
    {"NVIDIA B200", 100, 148, 232448, 132644864, 1965000, 3996000, 191000000000},
};

TEST(CudaRealCudnn, HasPlansForEveryDevice) {
  const Cudnn* const library = real_library();
  if (library == nullptr) GTEST_SKIP() << "there is no cuDNN";
  if (library->get_version() < 90800) GTEST_SKIP() << "it plans for devices that are there only";
  std::vector<std::string> refused;
  int plans = 0;
  for (const Device& device : kDevices) {
    DnnDescriptors made(*library);
    const DnnDescriptor properties = device.properties(&made);
    ASSERT_EQ(made.status(), DnnStatus::kSuccess);
    for (const ConvolutionRole result : {kPlacesRole, kImagesRole, kFiltersRole}) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
        std::vector<ConvolutionCase> cases = convolution_cases(result, dtype);
        cases.emplace_back(
            "a block of ResNet", result, dtype, 8, 64, 64, 1,
            std::vector<std::array<int64_t, 6>>{{56, 3, 1, 1, 1, 1}, {56, 3, 1, 1, 1, 1}});
        for (const ConvolutionCase& c : cases) {
          const absl::StatusOr<std::unique_ptr<DnnPlan>> plan =
              DnnPlan::make(*library, {.properties = properties}, DnnConvolution(c.of).work());
          ASSERT_TRUE(plan.ok()) << plan.status();
          ++plans;
          if (*plan == nullptr) refused.push_back(absl::StrCat(device.name, ": ", c.name));
        }
      }
    }
  }
  // Other versions than those that were seen may have other engines.
  const size_t allowed = library->get_version() / 100 == 919 ? 0 : static_cast<size_t>(plans) / 10;
  EXPECT_LE(refused.size(), allowed) << absl::StrJoin(refused, "\n");
}

// Engines of attention ask for the driver's library; a toolkit's stub of it has the same name.
bool has_driver_library() {
  std::vector<std::string> names = {"libcuda.so.1"};
  for (const char* const pattern : {"/usr/local/cuda*/lib{,64}/stubs/libcuda.so",
                                    "/usr/local/cuda*/targets/*/lib/stubs/libcuda.so"}) {
    glob_t matches{};
    if (glob(pattern, GLOB_BRACE, nullptr, &matches) == 0) {
      names.insert(names.end(), matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    }
    globfree(&matches);
  }
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    absl::StatusOr<runtime::SharedLibrary> library = runtime::SharedLibrary::open(name);
    if (library.ok()) library->keep();
    return library.ok();
  });
}

// Plans of attention load code onto the device, and so cannot be made without one.
TEST(CudaRealCudnn, HasEnginesForAttention) {
  const Cudnn* const library = real_library();
  if (library == nullptr) GTEST_SKIP() << "there is no cuDNN";
  const auto version = static_cast<int64_t>(library->get_version());
  if (version < 91002) GTEST_SKIP() << "it is not used for attention";
  if (!has_driver_library()) GTEST_SKIP() << "there is no driver's library, nor a stub of it";
  struct Shape {
    int64_t batch, heads, key_heads, length, key_length, depth, value_depth;
  };
  const Shape shapes[] = {
      {1, 64, 64, 1024, 1024, 64, 64},  {1, 16, 16, 4096, 4096, 128, 128},
      {2, 16, 4, 1000, 1001, 128, 128}, {1, 16, 4, 1024, 777, 64, 64},
      {1, 32, 32, 1, 4096, 128, 128},   {4, 32, 8, 1, 4096, 128, 128},
      {1, 32, 8, 37, 43, 72, 40},       {1, 8, 8, 35, 7, 8, 8},
      {1, 8, 8, 512, 512, 256, 256},    {1, 8, 8, 512, 512, 192, 128},
  };
  for (const Device& device : kDevices) {
    DnnDescriptors made(*library);
    const DnnDescriptor properties = device.properties(&made);
    ASSERT_EQ(made.status(), DnnStatus::kSuccess);
    for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
      for (const Shape& shape : shapes) {
        for (const bool is_causal : {false, true}) {
          fusion::AttentionAttributes of;
          of.dtype = dtype;
          of.flags.causal = is_causal;
          of.batch = shape.batch, of.heads = shape.heads, of.key_heads = shape.key_heads;
          of.length = shape.length, of.key_length = shape.key_length;
          of.depth = shape.depth, of.value_depth = shape.value_depth;
          ASSERT_TRUE(DnnAttention::can_be(of, device.architecture, version));
          DnnAttention attention(of);
          const std::vector<DnnEngine> engines =
              engines_for(*library, {.properties = properties}, attention.work());
          EXPECT_FALSE(engines.empty()) << device.name << ": " << of.text();
          // As a model's projections lie in memory: a row has the heads one after another.
          const auto place = [&](DnnAttention::Id id) {
            const DnnAttention::Extents extents = attention.extents_of(id);
            const int64_t row = 3 * extents[1] * extents[3];
            return attention.place(id, {extents[2] * row, extents[3], row, 1});
          };
          EXPECT_TRUE(place(DnnAttention::kQueries) && place(DnnAttention::kKeys) &&
                      place(DnnAttention::kValues));
          EXPECT_EQ(engines_for(*library, {.properties = properties}, attention.work()), engines)
              << device.name << ": " << of.text();
        }
      }
    }
  }
}

// ---- The published headers.

std::string text_of_header() {
  std::vector<std::string> patterns;
  for (const char* const name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string root = environment_variable(name); !root.empty()) {
      patterns.push_back(root + "/include/cudnn_graph_v9.h");
    }
  }
  for (const char* const folder :
       {"/usr/include", "/usr/include/x86_64-linux-gnu", "/usr/local/include",
        "/usr/local/cuda*/include",
        "/usr/local/lib/python3*/{dist,site}-packages/nvidia/cudnn/include"}) {
    patterns.push_back(absl::StrCat(folder, "/cudnn_graph{,_v9}.h"));
  }
  for (const std::string& pattern : patterns) {
    glob_t matches{};
    std::string text;
    if (glob(pattern.c_str(), GLOB_BRACE, nullptr, &matches) == 0) {
      std::ifstream file(matches.gl_pathv[0]);
      text.assign(std::istreambuf_iterator<char>(file), {});
    }
    globfree(&matches);
    if (absl::StrContains(text, "CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR")) return text;
  }
  return "";
}

TEST(CudaRealCudnn, HasTheseEnumerators) {
  const std::string header = text_of_header();
  if (header.empty()) GTEST_SKIP() << "there are no headers of cuDNN";
  const auto expect_value = [&](const char* name, auto value) {
    std::smatch match;
    ASSERT_TRUE(std::regex_search(header, match,
                                  std::regex(absl::StrCat("\\b", name, "\\b[ A-Z_]*= *([0-9]+)"))))
        << name;
    EXPECT_EQ(std::stoi(match[1]), static_cast<int>(value)) << name;
  };
  using A = DnnAttribute;
  using D = DnnDescriptorType;
  expect_value("CUDNN_STATUS_SUCCESS", DnnStatus::kSuccess);
  expect_value("CUDNN_STATUS_NOT_INITIALIZED", DnnStatus::kNotInitialized);
  expect_value("CUDNN_STATUS_BAD_PARAM", DnnStatus::kBadParam);
  expect_value("CUDNN_STATUS_BAD_PARAM_NULL_POINTER", DnnStatus::kBadParamNullPointer);
  expect_value("CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED", DnnStatus::kBadParamNotFinalized);
  expect_value("CUDNN_STATUS_NOT_SUPPORTED", DnnStatus::kNotSupported);
  expect_value("CUDNN_STATUS_INTERNAL_ERROR", DnnStatus::kInternalError);
  expect_value("CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED",
               DnnStatus::kHostAllocationFailed);
  expect_value("CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
               DnnStatus::kDeviceAllocationFailed);
  expect_value("CUDNN_STATUS_EXECUTION_FAILED", DnnStatus::kExecutionFailed);
  expect_value("CUDNN_DATA_FLOAT", DnnDataType::kFloat32);
  expect_value("CUDNN_DATA_HALF", DnnDataType::kFloat16);
  expect_value("CUDNN_DATA_BFLOAT16", DnnDataType::kBfloat16);
  expect_value("CUDNN_DATA_INT32", DnnDataType::kInt32);
  expect_value("CUDNN_DATA_BOOLEAN", DnnDataType::kBoolean);
  expect_value("CUDNN_POINTWISE_ADD", DnnPointwise::kAdd);
  expect_value("CUDNN_POINTWISE_MUL", DnnPointwise::kMultiply);
  expect_value("CUDNN_POINTWISE_DIV", DnnPointwise::kDivide);
  expect_value("CUDNN_POINTWISE_SUB", DnnPointwise::kSubtract);
  expect_value("CUDNN_POINTWISE_EXP", DnnPointwise::kExp);
  expect_value("CUDNN_POINTWISE_LOG", DnnPointwise::kLog);
  expect_value("CUDNN_POINTWISE_CMP_GE", DnnPointwise::kGreaterEqual);
  expect_value("CUDNN_POINTWISE_GEN_INDEX", DnnPointwise::kIndex);
  expect_value("CUDNN_POINTWISE_BINARY_SELECT", DnnPointwise::kSelect);
  expect_value("CUDNN_REDUCE_TENSOR_ADD", DnnReduction::kAdd);
  expect_value("CUDNN_REDUCE_TENSOR_MAX", DnnReduction::kMaximum);
  expect_value("CUDNN_CROSS_CORRELATION", DnnConvolutionMode::kCrossCorrelation);
  expect_value("CUDNN_HEUR_MODE_A", DnnHeuristic::kA);
  expect_value("CUDNN_HEUR_MODE_FALLBACK", DnnHeuristic::kFallback);
  expect_value("CUDNN_NUMERICAL_NOTE_TENSOR_CORE", DnnNote::kTensorCore);
  expect_value("CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS", DnnNote::kDownConvertInputs);
  expect_value("CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION",
               DnnNote::kReducedPrecisionReduction);
  expect_value("CUDNN_NUMERICAL_NOTE_FFT", DnnNote::kFft);
  expect_value("CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC", DnnNote::kNondeterministic);
  expect_value("CUDNN_NUMERICAL_NOTE_WINOGRAD", DnnNote::kWinograd);
  expect_value("CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4", DnnNote::kWinogradTile4x4);
  expect_value("CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6", DnnNote::kWinogradTile6x6);
  expect_value("CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13", DnnNote::kWinogradTile13x13);
  expect_value("CUDNN_TYPE_HANDLE", DnnType::kHandle);
  expect_value("CUDNN_TYPE_DATA_TYPE", DnnType::kDataType);
  expect_value("CUDNN_TYPE_BOOLEAN", DnnType::kBoolean);
  expect_value("CUDNN_TYPE_INT64", DnnType::kInt64);
  expect_value("CUDNN_TYPE_FLOAT", DnnType::kFloat);
  expect_value("CUDNN_TYPE_VOID_PTR", DnnType::kVoidPtr);
  expect_value("CUDNN_TYPE_CONVOLUTION_MODE", DnnType::kConvolutionMode);
  expect_value("CUDNN_TYPE_HEUR_MODE", DnnType::kHeuristic);
  expect_value("CUDNN_TYPE_KNOB_TYPE", DnnType::kKnob);
  expect_value("CUDNN_TYPE_NUMERICAL_NOTE", DnnType::kNote);
  expect_value("CUDNN_TYPE_BACKEND_DESCRIPTOR", DnnType::kDescriptor);
  expect_value("CUDNN_TYPE_POINTWISE_MODE", DnnType::kPointwiseMode);
  expect_value("CUDNN_TYPE_REDUCTION_OPERATOR_TYPE", DnnType::kReductionOperator);
  expect_value("CUDNN_TYPE_CHAR", DnnType::kChar);
  expect_value("CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR", D::kConvolution);
  expect_value("CUDNN_BACKEND_ENGINE_DESCRIPTOR", D::kEngine);
  expect_value("CUDNN_BACKEND_ENGINECFG_DESCRIPTOR", D::kEngineConfig);
  expect_value("CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR", D::kEngineHeuristic);
  expect_value("CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR", D::kExecutionPlan);
  expect_value("CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR", D::kKnobChoice);
  expect_value("CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR",
               D::kOperationConvolutionForward);
  expect_value("CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR",
               D::kOperationConvolutionBackwardFilter);
  expect_value("CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR",
               D::kOperationConvolutionBackwardData);
  expect_value("CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR", D::kOperationGraph);
  expect_value("CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR", D::kVariantPack);
  expect_value("CUDNN_BACKEND_TENSOR_DESCRIPTOR", D::kTensor);
  expect_value("CUDNN_BACKEND_POINTWISE_DESCRIPTOR", D::kPointwise);
  expect_value("CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR", D::kOperationPointwise);
  expect_value("CUDNN_BACKEND_MATMUL_DESCRIPTOR", D::kMatmul);
  expect_value("CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR", D::kOperationMatmul);
  expect_value("CUDNN_BACKEND_REDUCTION_DESCRIPTOR", D::kReduction);
  expect_value("CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR", D::kOperationReduction);
  expect_value("CUDNN_ATTR_POINTWISE_MODE", A::kPointwiseMode);
  expect_value("CUDNN_ATTR_POINTWISE_MATH_PREC", A::kPointwiseCompType);
  expect_value("CUDNN_ATTR_POINTWISE_AXIS", A::kPointwiseAxis);
  expect_value("CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR", A::kOperationPointwise);
  expect_value("CUDNN_ATTR_OPERATION_POINTWISE_XDESC", A::kOperationPointwiseX);
  expect_value("CUDNN_ATTR_OPERATION_POINTWISE_BDESC", A::kOperationPointwiseB);
  expect_value("CUDNN_ATTR_OPERATION_POINTWISE_YDESC", A::kOperationPointwiseY);
  expect_value("CUDNN_ATTR_OPERATION_POINTWISE_TDESC", A::kOperationPointwiseT);
  expect_value("CUDNN_ATTR_MATMUL_COMP_TYPE", A::kMatmulCompType);
  expect_value("CUDNN_ATTR_OPERATION_MATMUL_ADESC", A::kOperationMatmulA);
  expect_value("CUDNN_ATTR_OPERATION_MATMUL_BDESC", A::kOperationMatmulB);
  expect_value("CUDNN_ATTR_OPERATION_MATMUL_CDESC", A::kOperationMatmulC);
  expect_value("CUDNN_ATTR_OPERATION_MATMUL_DESC", A::kOperationMatmul);
  expect_value("CUDNN_ATTR_REDUCTION_OPERATOR", A::kReductionOperator);
  expect_value("CUDNN_ATTR_REDUCTION_COMP_TYPE", A::kReductionCompType);
  expect_value("CUDNN_ATTR_OPERATION_REDUCTION_XDESC", A::kOperationReductionX);
  expect_value("CUDNN_ATTR_OPERATION_REDUCTION_YDESC", A::kOperationReductionY);
  expect_value("CUDNN_ATTR_OPERATION_REDUCTION_DESC", A::kOperationReduction);
  expect_value("CUDNN_ATTR_CONVOLUTION_COMP_TYPE", A::kConvolutionCompType);
  expect_value("CUDNN_ATTR_CONVOLUTION_CONV_MODE", A::kConvolutionMode);
  expect_value("CUDNN_ATTR_CONVOLUTION_DILATIONS", A::kConvolutionDilations);
  expect_value("CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES", A::kConvolutionFilterStrides);
  expect_value("CUDNN_ATTR_CONVOLUTION_POST_PADDINGS", A::kConvolutionPostPaddings);
  expect_value("CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS", A::kConvolutionPrePaddings);
  expect_value("CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS", A::kConvolutionSpatialDims);
  expect_value("CUDNN_ATTR_ENGINEHEUR_MODE", A::kHeuristicMode);
  expect_value("CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH", A::kHeuristicOperationGraph);
  expect_value("CUDNN_ATTR_ENGINEHEUR_RESULTS", A::kHeuristicResults);
  expect_value("CUDNN_ATTR_ENGINECFG_ENGINE", A::kEngineConfigEngine);
  expect_value("CUDNN_ATTR_ENGINECFG_KNOB_CHOICES", A::kEngineConfigKnobs);
  expect_value("CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE", A::kKnobChoiceKnob);
  expect_value("CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE", A::kKnobChoiceValue);
  expect_value("CUDNN_ATTR_ENGINE_GLOBAL_INDEX", A::kEngineIndex);
  expect_value("CUDNN_ATTR_EXECUTION_PLAN_HANDLE", A::kPlanHandle);
  expect_value("CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG", A::kPlanEngineConfig);
  expect_value("CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE", A::kPlanWorkspaceSize);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA", A::kForwardAlpha);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA", A::kForwardBeta);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC", A::kForwardConvolution);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W", A::kForwardW);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X", A::kForwardX);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y", A::kForwardY);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA", A::kBackwardDataAlpha);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA", A::kBackwardDataBeta);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC", A::kBackwardDataConvolution);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W", A::kBackwardDataW);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX", A::kBackwardDataDx);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY", A::kBackwardDataDy);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA", A::kBackwardFilterAlpha);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA", A::kBackwardFilterBeta);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC",
               A::kBackwardFilterConvolution);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW", A::kBackwardFilterDw);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X", A::kBackwardFilterX);
  expect_value("CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY", A::kBackwardFilterDy);
  expect_value("CUDNN_ATTR_OPERATIONGRAPH_HANDLE", A::kGraphHandle);
  expect_value("CUDNN_ATTR_OPERATIONGRAPH_OPS", A::kGraphOperations);
  expect_value("CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT", A::kTensorAlignment);
  expect_value("CUDNN_ATTR_TENSOR_DATA_TYPE", A::kTensorDataType);
  expect_value("CUDNN_ATTR_TENSOR_DIMENSIONS", A::kTensorDimensions);
  expect_value("CUDNN_ATTR_TENSOR_STRIDES", A::kTensorStrides);
  expect_value("CUDNN_ATTR_TENSOR_UNIQUE_ID", A::kTensorUniqueId);
  expect_value("CUDNN_ATTR_TENSOR_IS_VIRTUAL", A::kTensorIsVirtual);
  expect_value("CUDNN_ATTR_TENSOR_IS_BY_VALUE", A::kTensorIsByValue);
  expect_value("CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS", A::kVariantPackUniqueIds);
  expect_value("CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS", A::kVariantPackPointers);
  expect_value("CUDNN_ATTR_VARIANT_PACK_WORKSPACE", A::kVariantPackWorkspace);
  expect_value("CUDNN_ATTR_ENGINE_NUMERICAL_NOTE", A::kEngineNumericalNote);
  if (absl::StrContains(header, "CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR")) {
    expect_value("CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR", D::kDeviceProperties);
    expect_value("CUDNN_ATTR_ENGINEHEUR_DEVICEPROP", A::kHeuristicDeviceProperties);
    expect_value("CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP", A::kPlanDeviceProperties);
    expect_value("CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION", A::kDevicePropertiesJson);
  }
}

// As many parameters as are declared here.
TEST(CudaRealCudnn, HasTheseFunctions) {
  const std::string header = text_of_header();
  if (header.empty()) GTEST_SKIP() << "there are no headers of cuDNN";
  const auto expect_parameters = [&](const char* name, size_t count) {
    std::smatch match;
    ASSERT_TRUE(
        std::regex_search(header, match, std::regex(absl::StrCat("\\b", name, "\\(([^)]*)\\);"))))
        << name;
    const std::string list = match[1];
    const size_t declared =
        list == "void" ? 0 : 1 + static_cast<size_t>(std::count(list.begin(), list.end(), ','));
    EXPECT_EQ(declared, count) << name;
  };
  const auto count = []<typename Result, typename... Parameters>(Result (*)(Parameters...)) {
    return sizeof...(Parameters);
  };
#define SLUICE_CUDNN_CALL(result, name, symbol, ...) \
  expect_parameters(#symbol, count(Cudnn().name));
#include "kernels/cuda/library/cudnn/cudnn.def"
#undef SLUICE_CUDNN_CALL
}

}  // namespace
}  // namespace sluice::kernels::cuda
