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
#include "simulator/search/outcome.hpp"
#include "simulator/search/search.hpp"

namespace foreshard::simulator {

struct TargetKind {
  std::vector<std::size_t> targets;  // index into the request's, those with most memory first
  int gpus = 1, nodes = 0;
  const Machine* machine = nullptr;  // of the first
};

std::vector<TargetKind> target_kinds(const SearchRequest& request);

// The jobs of plans on targets of a kind, each made from the one before.
class KindJobs {
 public:
  KindJobs(const SearchRequest& request, const TargetKind& kind) : request_(request), kind_(kind) {}
  Result<Job> job(const Plan& plan);

 private:
  const SearchRequest& request_;
  const TargetKind& kind_;
  std::optional<Job> seed_;
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

// Predicts one family after another, each in the memory of the one before.
class Evaluation {
 public:
  explicit Evaluation(const SearchRequest& request);

  // What the following predictions are of. `target`: one of the kind.
  void lower(const Job& job, std::size_t target);
  // With this plan's settings of the allocator. `number`: of the plan.
  Outcome predict_on(std::size_t target, const Plan& plan, std::size_t number);

 private:
  const SearchRequest& request_;
  PredictionOptions options_;
  TargetCosts costs_;
  const Job* job_ = nullptr;
  ProgramSet set_;
  bool is_predicted_ = false;  // what is lowered: its programs are in `prediction_`
  Prediction prediction_;
};

}  // namespace foreshard::simulator
