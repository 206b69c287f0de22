// Learning rates as functions of the step, which counts from 0.
//
//   const auto schedule = optim::warm_up(100, optim::cosine(1e-3, 10'000));
//   opt.set_lr(schedule(step));
#ifndef SLUICE_OPTIM_SCHEDULES_H_
#define SLUICE_OPTIM_SCHEDULES_H_

#include <cstdint>
#include <map>
#include <string>

#include <sluice/detail/function.h>
#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {
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

struct PlateauOptions {
  double factor = 0.1;
  int64_t patience = 10;    // values in a row that may be no better than the best
  double threshold = 1e-4;  // better is so, by this share of the best
  double least = 0;
  bool greater_is_better = false;  // an accuracy, say
};
// A learning rate that becomes smaller when what is measured, the loss of an evaluation, gets no
// better:
//
//   optim::Plateau plateau(1e-3);
//   opt.set_lr(plateau.next(evaluation_loss));
class Plateau {
 public:
  explicit Plateau(double lr, const PlateauOptions& options = {}) : options_(options), lr_(lr) {}

  // The rate to go on with after another value. NaN is no better than any.
  double next(double value);
  [[nodiscard]] double lr() const { return lr_; }

  // For data::Checkpoint::more: "lr", "best", "waited", float64.
  [[nodiscard]] std::map<std::string, Tensor> state_dict() const;
  // Throws Error (kInvalidArgument) if one of them is missing.
  void load_state_dict(const std::map<std::string, Tensor>& state);

 private:
  PlateauOptions options_;
  double lr_;
  double best_ = 0;
  int64_t waited_ = -1;  // values since the best; -1: there was none yet
};

}  // namespace optim
}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_OPTIM_SCHEDULES_H_
