// Learning rates as functions of the step, which counts from 0.
//
//   const auto schedule = optim::warm_up(100, optim::cosine(1e-3, 10'000));
//   opt.set_lr(schedule(step));
#ifndef SLUICE_OPTIM_SCHEDULES_H_
#define SLUICE_OPTIM_SCHEDULES_H_

#include <cstdint>

#include <sluice/detail/export.h>
#include <sluice/detail/function.h>

namespace SLUICE_EXPORT sluice {
namespace optim {

using Schedule = std::function<double(int64_t step)>;

[[nodiscard]] Schedule constant(double lr);
// From one rate to the other in so many steps, then that.
[[nodiscard]] Schedule linear(double from, double to, int64_t steps);
// Half a cosine from lr to `least` in so many steps, then that (Loshchilov and Hutter, SGDR, 2017).
[[nodiscard]] Schedule cosine(double lr, int64_t steps, double least = 0);
// lr * factor^(step / every), rounded down.
[[nodiscard]] Schedule step_decay(double lr, int64_t every, double factor = 0.1);
// lr * factor^step.
[[nodiscard]] Schedule exponential(double lr, double factor);
// Half a cosine from greatest / 25 to `greatest` in `share` of the steps, another down to
// greatest / 250,000 in the rest (Smith and Topin, Super-Convergence, 2019).
[[nodiscard]] Schedule one_cycle(double greatest, int64_t steps, double share = 0.3);
// What `after` gives, from its step 0 on, after so many steps that rise to it evenly.
[[nodiscard]] Schedule warm_up(int64_t steps, Schedule after);

}  // namespace optim
}  // namespace sluice

#endif  // SLUICE_OPTIM_SCHEDULES_H_
