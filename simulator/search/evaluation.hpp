// Predictions of families of plans on the targets that share their programs.
//
// Targets are of one kind where the programs of a plan are the same on them: as many GPUs, spread over
// nodes alike, whose devices need the same workspaces. A family is lowered once for a kind; memory is
// walked on the target with most of it first, and again only where another one has less than that walk
// took.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "models/sharding/job.hpp"
#include "simulator/predict/chosen_costs.hpp"
#include "simulator/predict/prediction.hpp"
#include "simulator/search/held_bytes.hpp"
#include "simulator/search/outcome.hpp"
#include "simulator/search/search.hpp"

namespace foreshard::simulator {

struct TargetKind {
  std::vector<std::size_t> targets;  // index into the request's, those with most memory first
  int gpus = 1, nodes = 0;
  const Machine* machine = nullptr;  // of the first
};

std::vector<TargetKind> target_kinds(const SearchRequest& request);

// The jobs of plans on targets of a kind, each made from an earlier one that wraps the model alike.
class KindJobs {
 public:
  KindJobs(const SearchRequest& request, const TargetKind& kind) : request_(request), kind_(kind) {}
  const TargetKind& kind() const { return kind_; }
  Result<Job> job(const Plan& plan);

 private:
  const SearchRequest& request_;
  const TargetKind& kind_;
  std::vector<Job> seeds_;
};

// Costs of the targets, made when they are first wanted.
class TargetCosts {
 public:
  explicit TargetCosts(const SearchRequest& request);
  const ChosenCosts& of(std::size_t target, const Job& job);

 private:
  const SearchRequest& request_;
  std::vector<std::array<std::optional<ChosenCosts>, 2>>
      costs_;  // of Foreshard's operators, PyTorch's
};

// Predicts one family after another, each in the memory of the one before. Time is simulated once for all
// plans of the family that it is the same for: those whose allocators, in the last step, ask the device's
// driver for the same.
class Evaluation {
 public:
  Evaluation(const SearchRequest& request, const std::vector<TargetKind>& kinds);

  // What the following predictions are of: a candidate, on the targets of a kind.
  void lower(const Plan& plan, std::size_t kind);
  // The time alone, of a step that the allocator does not keep waiting; nothing where it has none or it
  // depends on what came before. Before any other prediction of the family on that target.
  std::optional<Nanoseconds> time_on(std::size_t target);
  // Bytes that some rank reserves at least, with this plan's settings of the allocator; after time_on.
  std::int64_t least_reserved_on(std::size_t target, const Plan& plan) const;
  // With this plan's settings of the allocator. `number`: of the plan.
  Outcome predict_on(std::size_t target, const Plan& plan, std::size_t number);

 private:
  // A step's time on a target, and what it waited for on behalf of the allocator.
  struct TimedStep {
    std::vector<HostDelay> delays;
    Outcome outcome;
  };

  void predict_next(const ChosenCosts& costs);
  void predict_memory(const ChosenCosts& costs);
  void take_time(Outcome& outcome);
  void remember(const Outcome& outcome, std::vector<HostDelay> delays);
  std::vector<HostDelay> last_delays() const;

  const SearchRequest& request_;
  PredictionOptions options_;
  TargetCosts costs_;
  std::vector<KindJobs> jobs_;  // by kind
  std::optional<Job> job_;
  ProgramSet set_;
  std::vector<HeldBytes> held_;   // by class, of what is lowered where time alone was asked for
  bool is_predicted_ = false;     // what is lowered: its programs are in `prediction_`
  std::vector<TimedStep> timed_;  // of the family
  std::vector<std::optional<std::int64_t>> capacities_;  // by target: of its ranks' allocators
  Prediction prediction_;
};

}  // namespace foreshard::simulator
