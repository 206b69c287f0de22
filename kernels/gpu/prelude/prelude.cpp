#include "kernels/gpu/prelude/prelude.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/gpu/emit/expression.h"

namespace sluice::kernels::cuda {
namespace {

constexpr const char* kTypes =
#include "kernels/gpu/prelude/prelude_types.inc"
    ;
constexpr const char* kDevice =
#include "kernels/gpu/prelude/prelude_device.inc"
    ;
constexpr const char* kFibers =
#include "kernels/gpu/prelude/prelude_fibers.inc"
    ;
constexpr const char* kHost =
#include "kernels/gpu/prelude/prelude_host.inc"
    ;
constexpr const char* kCommon =
#include "kernels/gpu/prelude/prelude_common.inc"
    ;

constexpr const char* kRows =
#include "kernels/gpu/prelude/prelude_rows.inc"
    ;

constexpr const char* kKept =
#include "kernels/gpu/prelude/prelude_kept.inc"
    ;

constexpr const char* kTensorDevice =
#include "kernels/gpu/prelude/prelude_tensor_device.inc"
    ;
constexpr const char* kTensorHost =
#include "kernels/gpu/prelude/prelude_tensor_host.inc"
    ;

bool uses(const std::string& text, const std::string& name) {
  return text.find(name) != std::string::npos;
}

// Declares the library functions that `text` or the prelude itself calls.
std::string library_functions(const std::string& text) {
  std::set<std::pair<std::string, int>> functions = {
      {"sqrt", 1}, {"floor", 1}, {"ceil", 1},     {"trunc", 1},
      {"rint", 1}, {"fmod", 2},  {"copysign", 2}, {"log1p", 1},
  };
#define SLUICE_DEVICE_FUNCTION(id, name, arity, types) \
  if (DeviceTypes::types != DeviceTypes::kIntegers) functions.insert({#name, arity});
#include "kernels/gpu/emit/device_functions.def"
  std::string result;
  for (const auto& [name, arity] : functions) {
    const std::string call = absl::StrCat("sl_", name, "(");
    if (!uses(text, call) && !uses(kCommon, call)) continue;
    absl::StrAppend(&result, "SL_MATH_", arity, "(", name, ")\n");
  }
  return result;
}

std::string source(const std::string& primitives, const char* tensor, const std::string& kernels) {
  const bool has_kept = uses(kernels, "sl_kept_team");
  const bool has_rows = has_kept || uses(kernels, "sl_row_team") ||
                        uses(kernels, "sl_across_team") || uses(kernels, "sl_chunk_team") ||
                        uses(kernels, "sl_column_team");
  const bool has_tensors = uses(kernels, "sl_multiply_add") || uses(kernels, "sl_fast_exp2");
  return absl::StrCat(kTypes, primitives, library_functions(kernels), kCommon,
                      has_tensors ? tensor : "", has_rows ? kRows : "", has_kept ? kKept : "",
                      kernels);
}

}  // namespace

std::string device_source(const std::string& kernels) {
  return source(kDevice, kTensorDevice, kernels);
}

std::string host_source(const std::string& kernels) {
  return source(absl::StrCat(kFibers, kHost), kTensorHost, kernels);
}

std::vector<std::string> device_options(bool contracts) {
  return {"--std=c++17", "--device-as-default-execution-space",
          contracts ? "--fmad=true" : "--fmad=false"};
}

std::vector<std::string> host_options() {
  return {"-std=c++17", "-ffp-contract=off", "-fno-math-errno",    "-fno-strict-aliasing",
          "-fPIC",      "-shared",           "-fvisibility=hidden"};
}

}  // namespace sluice::kernels::cuda
