#include "kernels/cuda/library/library.h"

namespace sluice::kernels::cuda {
namespace {

using MakeRunner = std::unique_ptr<LibraryRunner> (*)(const LibraryDevice&);
constexpr MakeRunner kMakeRunner[] = {
#define SLUICE_LIBRARY_KIND(id, name) &make_##name##_runner,
#include "fusion/ir/library.def"
};

}  // namespace

LibraryRunner& LibraryRunners::of(fusion::LibraryKind kind) {
  const int number = static_cast<int>(kind);
  Slot& slot = slots_[number];
  std::call_once(slot.once, [&] { slot.runner = kMakeRunner[number](device_); });
  return *slot.runner;
}

}  // namespace sluice::kernels::cuda
