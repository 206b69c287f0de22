#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/cuda/compile/compiler.h"
#include "kernels/cuda/compile/nvrtc.h"
#include "kernels/gpu/prelude/prelude.h"

namespace sluice::kernels::cuda {
namespace {

class NvrtcCompiler : public Compiler {
 public:
  NvrtcCompiler(int compute_capability, int driver_version)
      : compute_capability_(compute_capability), driver_version_(driver_version) {}

  absl::StatusOr<CompiledCode> compile(const std::string& text, bool contracts) override {
    const absl::StatusOr<const Nvrtc*> nvrtc = Nvrtc::get(driver_version_);
    if (!nvrtc.ok()) return nvrtc.status();
    const absl::StatusOr<Nvrtc::Target> target = (*nvrtc)->target_for(compute_capability_);
    if (!target.ok()) return target.status();
    return (*nvrtc)->compile(device_source(text), *target, device_options(contracts));
  }

  std::string identity() const override {
    const absl::StatusOr<const Nvrtc*> nvrtc = Nvrtc::get(driver_version_);
    if (!nvrtc.ok()) return "no NVRTC";
    const absl::StatusOr<Nvrtc::Target> target = (*nvrtc)->target_for(compute_capability_);
    return absl::StrCat("NVRTC ", (*nvrtc)->version_text(), " ",
                        target.ok() ? target->name() : "for no device");
  }

  std::string disk_key(const std::string& text, bool contracts) const override {
    if (!Nvrtc::get(driver_version_).ok()) return {};
    return absl::StrCat(identity(), "\n", absl::StrJoin(device_options(contracts), " "), "\n",
                        device_source(text));
  }

 private:
  const int compute_capability_;
  const int driver_version_;
};

}  // namespace

std::unique_ptr<Compiler> make_nvrtc_compiler(int compute_capability, int driver_version) {
  return std::make_unique<NvrtcCompiler>(compute_capability, driver_version);
}

}  // namespace sluice::kernels::cuda
