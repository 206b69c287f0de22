// Cubic convolution (Keys, Cubic Convolution Interpolation for Digital Image Processing, 1981); the
// frontend's own.
#ifndef SLUICE_FRONTEND_LAYERS_CUBIC_H_
#define SLUICE_FRONTEND_LAYERS_CUBIC_H_

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

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_LAYERS_CUBIC_H_
