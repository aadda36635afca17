// Random small models and plans, valid for a number of ranks: the keys of the plan file that memory
// or numbers of Foreshard's operators depend on (but the optimizer's and the schedule's numbers), and
// awkward sizes on purpose.
#pragma once

#include <random>

#include "models/program/step_program.hpp"
#include "models/sharding/job.hpp"
#include "tests/draws.hpp"

namespace foreshard::tests {

class JobDrawer {
 public:
  explicit JobDrawer(std::uint64_t seed) : random_(seed) {}

  Job draw();
  // Uniform in [least, most].
  std::int64_t integer(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  bool chance(double p) { return std::bernoulli_distribution(p)(random_); }
  template <typename T>
  T one_of(std::initializer_list<T> choices) {
    return *(choices.begin() + integer(0, static_cast<std::int64_t>(choices.size()) - 1));
  }

 private:
  LlamaConfig model();
  Plan plan(const LlamaConfig& model, int ranks);
  void draw_wrap(Plan& plan, const LlamaConfig& model);
  void draw_sharding(Plan& plan, int ranks);

  std::mt19937_64 random_;
};

}  // namespace foreshard::tests
