// NVIDIA's library for neural networks, cuDNN 9, by its graph (backend) API: its ABI as a table of
// functions. The library is loaded at run time: neither a toolkit nor a driver is needed to build
// or to start. Tests use tables of their own.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/cuda/driver/driver_types.h"

namespace sluice::kernels::cuda {

// cudnnStatus_t: thousands are a category.
enum class DnnStatus : int {
  kSuccess = 0,
  kNotInitialized = 1001,
  kBadParam = 2000,
  kBadParamNullPointer = 2002,
  kBadParamNotFinalized = 2004,
  kNotSupported = 3000,
  kInternalError = 4000,
  kHostAllocationFailed = 4003,
  kDeviceAllocationFailed = 4004,
  kExecutionFailed = 5000,
};

constexpr bool is_out_of_memory(DnnStatus status) {
  return status == DnnStatus::kHostAllocationFailed || status == DnnStatus::kDeviceAllocationFailed;
}

// cudnnDataType_t
enum class DnnDataType : int {
  kFloat32 = 0,
  kFloat16 = 2,
  kInt32 = 4,
  kBfloat16 = 9,
  kBoolean = 11,
};
// cudnnConvolutionMode_t
enum class DnnConvolutionMode : int { kCrossCorrelation = 1 };
// cudnnPointwiseMode_t
enum class DnnPointwise : int {
  kAdd = 0,
  kMultiply = 1,
  kDivide = 6,
  kSubtract = 9,
  kExp = 13,
  kLog = 15,
  kGreaterEqual = 303,
  kIndex = 501,   // along an axis
  kSelect = 601,  // of two by a boolean
};
// cudnnReduceTensorOp_t
enum class DnnReduction : int { kAdd = 0, kMaximum = 3 };
// cudnnBackendHeurMode_t
enum class DnnHeuristic : int { kFallback = 2, kA = 3 };

// cudnnBackendNumericalNote_t: what is to be known of an engine's results.
enum class DnnNote : int {
  kTensorCore = 0,
  kDownConvertInputs = 1,
  kReducedPrecisionReduction = 2,
  kFft = 3,
  kNondeterministic = 4,
  kWinograd = 5,
  kWinogradTile4x4 = 6,
  kWinogradTile6x6 = 7,
  kWinogradTile13x13 = 8,
};
inline constexpr int kMostDnnNotes = 32;  // more than there are
inline constexpr int kMostDnnKnobs = 32;  // more than an engine has

// cudnnBackendAttributeType_t
enum class DnnType : int {
  kHandle = 0,
  kDataType = 1,
  kBoolean = 2,
  kInt64 = 3,
  kFloat = 4,
  kVoidPtr = 6,
  kConvolutionMode = 7,
  kHeuristic = 8,
  kKnob = 9,
  kNote = 11,
  kPointwiseMode = 14,
  kDescriptor = 15,
  kReductionOperator = 18,
  kChar = 24,
};

// cudnnBackendDescriptorType_t
enum class DnnDescriptorType : int {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kEngineHeuristic = 4,
  kExecutionPlan = 5,
  kKnobChoice = 7,
  kOperationConvolutionForward = 10,
  kOperationConvolutionBackwardFilter = 11,
  kOperationConvolutionBackwardData = 12,
  kOperationPointwise = 13,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kMatmul = 18,
  kOperationMatmul = 19,
  kReduction = 21,
  kOperationReduction = 22,
  kDeviceProperties = 38,
};

// cudnnBackendAttributeName_t
enum class DnnAttribute : int {
  kPointwiseMode = 0,
  kPointwiseCompType = 1,
  kPointwiseAxis = 9,
  kConvolutionCompType = 100,
  kConvolutionMode = 101,
  kConvolutionDilations = 102,
  kConvolutionFilterStrides = 103,
  kConvolutionPostPaddings = 104,
  kConvolutionPrePaddings = 105,
  kConvolutionSpatialDims = 106,
  kHeuristicMode = 200,
  kHeuristicOperationGraph = 201,
  kHeuristicResults = 202,
  kHeuristicDeviceProperties = 204,
  kEngineConfigEngine = 300,
  kEngineConfigKnobs = 302,
  kPlanHandle = 400,
  kPlanEngineConfig = 401,
  kPlanWorkspaceSize = 402,
  kPlanDeviceProperties = 407,
  kKnobChoiceKnob = 600,
  kKnobChoiceValue = 601,
  // Of the three operations, in this order from each first one on: alpha, beta, the convolution.
  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kBackwardDataAlpha = 706,
  kBackwardDataBeta = 707,
  kBackwardDataConvolution = 708,
  kBackwardDataW = 709,
  kBackwardDataDx = 710,
  kBackwardDataDy = 711,
  kBackwardFilterAlpha = 712,
  kBackwardFilterBeta = 713,
  kBackwardFilterConvolution = 714,
  kBackwardFilterDw = 715,
  kBackwardFilterX = 716,
  kBackwardFilterDy = 717,
  kOperationPointwise = 750,
  kOperationPointwiseX = 751,
  kOperationPointwiseB = 752,
  kOperationPointwiseY = 753,
  kOperationPointwiseT = 758,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kTensorAlignment = 900,
  kTensorDataType = 901,
  kTensorDimensions = 902,
  kTensorStrides = 903,
  kTensorUniqueId = 906,
  kTensorIsVirtual = 907,
  kTensorIsByValue = 908,
  kVariantPackUniqueIds = 1000,
  kVariantPackPointers = 1001,
  kVariantPackWorkspace = 1003,
  kEngineIndex = 1301,
  kEngineNumericalNote = 1303,
  kMatmulCompType = 1500,
  kOperationMatmulA = 1520,
  kOperationMatmulB = 1521,
  kOperationMatmulC = 1522,
  kOperationMatmul = 1523,
  kReductionOperator = 1600,
  kReductionCompType = 1601,
  kOperationReductionX = 1610,
  kOperationReductionY = 1611,
  kOperationReduction = 1612,
  kDevicePropertiesJson = 2702,
};

// Opaque objects of the library.
using DnnHandle = struct DnnContextObject*;
using DnnDescriptor = void*;

struct Cudnn {
#define SLUICE_CUDNN_CALL(result, name, symbol, ...) result (*name)(__VA_ARGS__) = nullptr;
#include "kernels/cuda/library/cudnn/cudnn.def"
#undef SLUICE_CUDNN_CALL
};

// The library for a driver that supports this CUDA version (12010: 12.1), which rules out libraries
// for later major versions. $SLUICE_CUDNN names a library to use instead, for any version, or is
// "off". kFailedPrecondition with a message for the user if there is none. Thread-safe; searches
// once.
absl::StatusOr<const Cudnn*> find_cudnn(int driver_version);

// newest_cuda: libraries for later major versions are refused; 0: none is.
absl::StatusOr<Cudnn> load_cudnn(const std::string& name, int newest_cuda = 0);

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_CUDNN_H_
