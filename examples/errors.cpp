// Errors: what is wrong with a call is thrown at the call; what only the run can know, at the read.
#include <cstdio>

#include <sluice/sluice.h>

namespace sl = sluice;

int main() {
  const sl::Tensor x = sl::Tensor::from({1.f, 2.f, 3.f});
  int caught = 0;
  try {
    static_cast<void>(x + sl::ones({4}));
  } catch (const sl::Error& error) {
    std::printf("at the call: %s\n", error.what());
    ++caught;
  }

  const sl::Tensor picked = sl::take(x, sl::Tensor::from<int64_t>({0, 7}), 0);  // not known yet
  const sl::Tensor doubled = picked * 2.f;
  try {
    std::printf("%g\n", doubled.to_vector<float>()[0]);
  } catch (const sl::Error& error) {
    std::printf("at the read: %s\n", error.what());  // names take(), and the line above
    ++caught;
  }

  // What does not depend on a failure is as good as ever.
  std::printf("sum %g\n", sl::sum(x).item<float>());
  return caught == 2 ? 0 : 1;
}
