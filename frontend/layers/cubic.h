// Cubic convolution (Keys, Cubic Convolution Interpolation for Digital Image Processing, 1981); the
// frontend's own.
#ifndef SLUICE_FRONTEND_LAYERS_CUBIC_H_
#define SLUICE_FRONTEND_LAYERS_CUBIC_H_

#include <array>

namespace sluice::frontend {

// The derivative at distance 1: that of most interpolations, and that of Pillow's filters.
inline constexpr double kCubicSlope = -0.75, kPillowSlope = -0.5;

// The weight of an element at a distance of at most 1, and of one from 1 to 2. V: numbers or
// tensors.
template <typename V>
V near_weight(const V& distance, double a) {
  return ((a + 2) * distance - (a + 3)) * distance * distance + 1.0;
}
template <typename V>
V far_weight(const V& distance, double a) {
  return ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a;
}

// The weights of the two elements below a place and of the two above, of which the second is this
// share of the way behind.
template <typename V>
std::array<V, 4> cubic_weights(const V& share, double a) {
  return {far_weight<V>(1.0 + share, a), near_weight<V>(share, a), near_weight<V>(1.0 - share, a),
          far_weight<V>(2.0 - share, a)};
}

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_LAYERS_CUBIC_H_
