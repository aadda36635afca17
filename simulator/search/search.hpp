// The search for the best plan: of a space of plans, on one machine or several, at one size or several.
//
// A candidate is a plan on a target: so many GPUs of a machine. Every candidate is answered as `predict`
// answers it; programs, and memory walks, are shared by the targets for which they are the same. Where
// there are many candidates, those that bounds prove to be no answer are not predicted (bounds.hpp): they
// run out of memory, or another plan is faster, takes no more memory and costs no more. What keeps a
// training's limits even at the long end of its band is an answer too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/units.hpp"
#include "models/hardware/hardware.hpp"
#include "models/plan/plan_space.hpp"
#include "models/sharding/question.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/search/prices.hpp"
#include "simulator/search/training.hpp"

namespace foreshard::simulator {

// Machines that a plan may run on.
struct SearchTarget {
  const Machine* machine = nullptr;  // null: that of the costs, or this one
  int gpus = 1;
  int nodes = 0;                 // as of a question: over which they are spread evenly
  Rent rent = {};                // what its GPUs cost
  std::string machine_id = {};   // as it was named
  DeviceTraits own_device = {};  // what Foreshard's operators run on
};

// How many nodes its GPUs are on; 0: not known.
int node_count(const SearchTarget& target);

enum class Objective : std::uint8_t { tokens_per_s, time, cost };
enum class Bounding : std::uint8_t { where_many, always, never };

// What one of several processes does of a search that they share, all with the same request: of what is to be
// predicted each predicts its part and tells the others, so that all come to the same answer.
struct SearchShare {
  int process = 0, processes = 1;
  // Every process' text, by process; all of them call it together, each as often.
  std::function<std::vector<std::string>(const std::string& mine)> exchange;
};

struct SearchRequest {
  Question base;  // the plan that the space varies; ranks and machine are the targets'
  bool names_operators = true;  // else TPUs run XLA's, whatever the base has
  std::string base_file;        // used in messages only
  std::vector<PlanAxis> space;  // what varies over `base`
  std::vector<SearchTarget> targets;
  std::vector<std::string> assumed, warnings;  // of what was asked, for the answer
  const CostTable* costs = nullptr;
  std::optional<std::int64_t> device_memory;    // bytes per GPU; nothing: the machine's
  std::optional<std::int64_t> tokens_per_step;  // accumulation is what makes it so
  Objective objective = Objective::tokens_per_s;
  std::optional<TrainingGoal> training;  // of which a plan is a part, and what it may take
  std::size_t top = 5;
  Bounding bounding = Bounding::where_many;  // whether bounds cut
  int threads = 1;                           // of this process
  SearchShare share;
  // Of finding the candidates and of predicting them; never called twice at a time.
  std::function<void(std::string_view what, std::size_t done, std::size_t all)> progress;
};

// A candidate as `predict` is asked it.
Question question_on(const SearchRequest& request, const SearchTarget& target, const Plan& plan);

// All of them, as JSON: what varies is a list.
std::string question_json(const SearchRequest& request);

// A candidate and what is predicted of it.
struct FoundPlan {
  Plan plan;
  std::map<std::string, std::string> values;  // of the keys that vary, as a plan file spells them
  SearchTarget target;
  Nanoseconds step_time{0}, step_time_low{0}, step_time_high{0};
  double tokens_per_s = 0;
  std::int64_t peak_reserved = 0;                // bytes, of the rank that reserves most
  std::optional<double> usd_per_million_tokens;  // that are kept, where the price is known
  // Of the training, where there is one and the storage is known; else nothing is lost.
  std::optional<Reliability> reliability;

  // That of a step that takes so long instead.
  std::optional<double> usd_per_million_tokens_at(Nanoseconds step) const {
    if (!usd_per_million_tokens) return {};
    return *usd_per_million_tokens * static_cast<double>(step.count()) /
           static_cast<double>(step_time.count());
  }
  // Tokens that are kept, of steps that take so long instead.
  double kept_tokens_per_s_at(Nanoseconds step) const {
    return tokens_per_s * (reliability ? goodput(*reliability) : 1) *
           static_cast<double>(step_time.count()) / static_cast<double>(step.count());
  }
  TrainingCost training_cost_at(const TrainingGoal& goal, Nanoseconds step) const {
    return training_cost(goal, kept_tokens_per_s_at(step), target.rent.usd_per_hour);
  }
};

struct SearchAnswer {
  // Of candidates: considered = fitting + out of memory + cut by a bound, or by the step's time alone.
  std::size_t considered = 0, fitting = 0, out_of_memory = 0, cut_by_bound = 0;
  std::size_t over_budget = 0, too_late = 0;  // of those that fit
  std::size_t predicted = 0;                  // whose step was simulated, or whose memory was
  double seconds = 0;                         // of the whole search
  double processor_seconds = 0;               // that its threads worked, of all processes
  int threads = 1, processes = 1;             // of all together
  std::vector<FoundPlan> top;                 // best first
  // The best of those that keep budget and deadline even at the long end of their band.
  std::optional<FoundPlan> best_sure;
  std::vector<FoundPlan> pareto;       // most tokens/s against least reserved memory, fastest first
  std::vector<FoundPlan> pareto_cost;  // most tokens/s against least cost, of those with a price
  std::vector<std::string> warnings;   // the request's, and targets without a plan, and why

  double plans_per_s_per_core() const {
    return processor_seconds > 0 ? static_cast<double>(predicted) / processor_seconds : 0;
  }
};

// An error where the space has too many combinations, or where none of them is a plan for any target: why the first is
// none.
// The answer does not depend on the number of threads and processes, but for seconds.
Result<SearchAnswer> search(const SearchRequest& request);

}  // namespace foreshard::simulator
