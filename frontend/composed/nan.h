// What a function gives where there is no result.
#ifndef SLUICE_FRONTEND_COMPOSED_NAN_H_
#define SLUICE_FRONTEND_COMPOSED_NAN_H_

#include <limits>

namespace sluice::frontend {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace sluice::frontend

#endif  // SLUICE_FRONTEND_COMPOSED_NAN_H_
