// Floats to run kernels on.
#ifndef SLUICE_TESTS_SUPPORT_STRANGE_FLOATS_H_
#define SLUICE_TESTS_SUPPORT_STRANGE_FLOATS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sluice::testing {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

// Values of every magnitude, the same for the same seed.
inline std::vector<float> floats(size_t n, uint32_t seed = 1) {
  std::vector<float> values(n);
  uint32_t state = seed * 2654435761u + 12345;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = (static_cast<int32_t>(state) >> 8) * 0x1p-20f;
  }
  return values;
}

// Likewise, with NaNs of both signs, infinities, zeros and a subnormal among them.
inline std::vector<float> strange_floats(size_t n, uint32_t seed = 1) {
  std::vector<float> values = floats(n, seed);
  const float special[] = {0.f, -0.f, kInf, -kInf, kNan, -kNan, 1e-40f, 3e38f, -1.f, 1.f};
  for (size_t i = 0; i < n; i += 3) values[i] = special[(i / 3) % 10];
  return values;
}

}  // namespace sluice::testing

#endif  // SLUICE_TESTS_SUPPORT_STRANGE_FLOATS_H_
