// Computes a sum on the device of a program that asks for none, and says which it is.
#include <sluice/sluice.h>

#include <cstdio>

int main() {
  try {
    const sluice::Tensor x = sluice::ones({1000}) * 2.f;
    const float total = sluice::sum(x).item<float>();
    std::printf("%s %g\n", sluice::to_string(x.device()).c_str(), total);
  } catch (const sluice::Error& error) {
    std::fprintf(stderr, "%d: %s\n", static_cast<int>(error.code()), error.what());
    return 1;
  }
}
