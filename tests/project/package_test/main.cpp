#include <sluice/sluice.h>

#include <cstdio>
#include <string>

namespace sl = sluice;

int main() {
  const sl::Tensor x = sl::Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2});
  const float total = sl::sum(x * x + 1.f).item<float>();
  if (total != 34.f) {
    std::fprintf(stderr, "sum(x * x + 1) is %g, not 34\n", total);
    return 1;
  }
  const float by_name = sl::call("max", {x}, {{"keepdims", true}})[0].item<float>();
  if (by_name != 4.f) {
    std::fprintf(stderr, "max by name is %g, not 4\n", by_name);
    return 1;
  }
  // What compiles kernels is found wherever the library lies.
  if (const std::string info = sl::build_info(); info.find("sluice_llvm") != std::string::npos) {
    std::fprintf(stderr, "%s\n", info.c_str());
    return 1;
  }
  try {
    sl::Tensor bad = sl::add(x, sl::ones({3}));
    std::fprintf(stderr, "adding shapes (2, 2) and (3,) did not throw\n");
    return 1;
  } catch (const sl::Error& error) {
    std::printf("as expected: %s\n", error.what());
  }
  return 0;
}
