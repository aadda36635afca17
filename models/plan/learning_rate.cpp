#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/plan/plan.hpp"

namespace foreshard {

// Linear from warmup_start_factor x lr to lr over the warm-up; then lr (constant), or, at x = the part of the
// decay that is behind us, min_lr + (lr - min_lr) f, where f is 1 - x (linear) or (1 + cos(pi x)) / 2 (cosine), as
// torchtitan and transformers' get_cosine_with_min_lr_schedule_with_warmup have it. With decay_steps = 0 the rate
// would reach min_lr one step after the last.
double learning_rate(const OptimizerPlan& optimizer, std::int64_t step, std::int64_t total_steps) {
  const std::int64_t done = step - 1, warmup = optimizer.warmup_steps;
  if (done < warmup) {
    const double start = optimizer.warmup_start_factor;
    const double part = static_cast<double>(done) / static_cast<double>(warmup);
    return optimizer.lr * (start + (1 - start) * part);
  }
  if (optimizer.schedule == Schedule::constant) return optimizer.lr;

  const std::int64_t length =
      optimizer.decay_steps > 0 ? optimizer.decay_steps : total_steps - warmup;
  const double part =
      length > 0 ? std::min(1.0, static_cast<double>(done - warmup) / static_cast<double>(length))
                 : 1.0;
  const double left = optimizer.schedule == Schedule::linear
                          ? 1 - part
                          : 0.5 * (1 + std::cos(std::numbers::pi * part));
  return optimizer.min_lr + (optimizer.lr - optimizer.min_lr) * left;
}

}  // namespace foreshard
