#include "simulator/search/evaluation.hpp"

#include <algorithm>
#include <utility>

#include "models/sharding/pytorch_device.hpp"

namespace foreshard::simulator {
namespace {

bool may_describe_pytorch(const SearchRequest& request) {
  return request.base.plan.operators != OperatorSetName::foreshard ||
         std::any_of(request.space.begin(), request.space.end(),
                     [](const PlanAxis& axis) { return sets(axis, "operators"); });
}

std::int64_t memory_of(const SearchTarget& target) {
  return target.machine == nullptr ? 0 : target.machine->memory.count;
}

// XLA's programs and their memory are others than those of GPUs.
bool are_of_one_kind(const SearchTarget& a, const SearchTarget& b, bool devices_count) {
  if (a.gpus != b.gpus || a.nodes != b.nodes) return false;
  if (a.own_device != b.own_device) return false;
  if (a.machine == nullptr || b.machine == nullptr) return a.machine == b.machine;
  if (is_tpu(*a.machine) != is_tpu(*b.machine)) return false;
  if (a.nodes == 0 && a.machine->gpus_per_node != b.machine->gpus_per_node) return false;
  return !devices_count || (a.machine->compute_capability == b.machine->compute_capability &&
                            pytorch_device(*a.machine, {}) == pytorch_device(*b.machine, {}));
}

PredictionOptions options_of(const SearchRequest& request, const SearchTarget& target) {
  PredictionOptions options;
  options.costs = request.costs;
  options.machine = target.machine;
  options.device_memory = request.device_memory;
  options.wants_outside = options.wants_band = false;
  return options;
}

}  // namespace

std::vector<TargetKind> target_kinds(const SearchRequest& request) {
  const bool devices_count = may_describe_pytorch(request);
  std::vector<TargetKind> kinds;
  for (std::size_t t = 0; t < request.targets.size(); ++t) {
    const SearchTarget& target = request.targets[t];
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const TargetKind& kind) {
      return are_of_one_kind(request.targets[kind.targets.front()], target, devices_count);
    });
    TargetKind& kind = same == kinds.end() ? kinds.emplace_back() : *same;
    kind.targets.push_back(t);
    kind.gpus = target.gpus;
    kind.nodes = target.nodes;
  }
  for (TargetKind& kind : kinds) {
    std::stable_sort(kind.targets.begin(), kind.targets.end(), [&](std::size_t a, std::size_t b) {
      return memory_of(request.targets[a]) > memory_of(request.targets[b]);
    });
    kind.machine = request.targets[kind.targets.front()].machine;
  }
  return kinds;
}

Result<Job> KindJobs::job(const Plan& given) {
  Question question = question_on(request_, request_.targets[kind_.targets.front()], given);
  const Plan& plan = question.plan;
  for (const Job& seed : seeds_) {
    const bool wraps_alike =
        seed.plan.runtime == plan.runtime && seed.plan.wrap.policy == plan.wrap.policy;
    if (wraps_alike) return replan(seed, plan, request_.base_file);
  }
  auto made = make_job(std::move(question), request_.base_file);
  if (made) seeds_.push_back(*made);
  return made;
}

TargetCosts::TargetCosts(const SearchRequest& request)
    : request_(request), costs_(request.targets.size()) {}

const ChosenCosts& TargetCosts::of(std::size_t target, const Job& job) {
  const bool is_pytorch = job.plan.operators != OperatorSetName::foreshard;
  std::optional<ChosenCosts>& costs = costs_[target][is_pytorch ? 1 : 0];
  if (!costs) costs = chosen_costs(job, options_of(request_, request_.targets[target]));
  return *costs;
}

Evaluation::Evaluation(const SearchRequest& request, const std::vector<TargetKind>& kinds)
    : request_(request), costs_(request) {
  for (const TargetKind& kind : kinds) jobs_.emplace_back(request, kind);
}

void Evaluation::lower(const Plan& plan, std::size_t kind) {
  job_ = *jobs_[kind].job(plan);
  const ChosenCosts& costs = costs_.of(jobs_[kind].kind().targets.front(), *job_);
  set_ = lower_all(*job_, costs.model->platform.ranks_per_node, take_programs(prediction_.run));
  is_predicted_ = false;
  timed_.clear();
  capacities_.assign(request_.targets.size(), {});
}

std::optional<Nanoseconds> Evaluation::time_on(std::size_t target) {
  options_ = options_of(request_, request_.targets[target]);
  options_.wants_memory = false;
  if (!is_predicted_) {
    held_.clear();
    for (const RankProgram& program : set_.programs) held_.push_back(held_bytes(program));
  }
  predict_next(costs_.of(target, *job_));
  capacities_[target] = prediction_.capacity;
  if (prediction_.step_time.count() <= 0) return {};
  Outcome outcome{0, target};
  take_time(outcome);
  remember(outcome, {});
  return outcome.step_time;
}

std::int64_t Evaluation::least_reserved_on(std::size_t target, const Plan& plan) const {
  const AllocatorRules rules = allocator_rules_on(job_->machine, plan);
  std::int64_t least = 0;
  for (const HeldBytes& held : held_) {
    least = std::max(least, least_reserved(held, rules, capacities_[target]));
  }
  return least;
}

Outcome Evaluation::predict_on(std::size_t target, const Plan& plan, std::size_t number) {
  set_.allocator = allocator_rules_on(job_->machine, plan);
  options_ = options_of(request_, request_.targets[target]);
  if (capacities_[target]) options_.device_memory = capacities_[target];
  const ChosenCosts& costs = costs_.of(target, *job_);
  predict_memory(costs);
  capacities_[target] = prediction_.capacity;
  Outcome outcome{number, target};
  outcome.fits = prediction_.fits;
  for (const RankPeaks& rank : prediction_.ranks_memory) {
    outcome.peak_reserved = std::max(outcome.peak_reserved, rank.peaks.reserved);
  }
  if (!outcome.fits) return outcome;
  const std::vector<HostDelay> delays = last_delays();
  const auto known = std::find_if(timed_.begin(), timed_.end(), [&](const TimedStep& timed) {
    return timed.outcome.target == target && timed.delays == delays;
  });
  if (known != timed_.end()) {
    outcome.take_time_of(known->outcome);
    return outcome;
  }
  predict_next(costs);
  take_time(outcome);
  remember(outcome, delays);
  return outcome;
}

// Of the last prediction.
void Evaluation::take_time(Outcome& outcome) {
  outcome.step_time = prediction_.step_time;
  outcome.tokens_per_s = prediction_.tokens_per_s;
  if (!request_.training) return;
  const auto run = reliability(*job_, request_.targets[outcome.target].machine, *request_.training);
  if (run) outcome.goodput = goodput(*run);
}

// Where nothing but the last step counts.
void Evaluation::remember(const Outcome& outcome, std::vector<HostDelay> delays) {
  if (prediction_.run.engine.first_step != options_.steps) return;
  timed_.push_back({std::move(delays), outcome});
}

// Keeps what only times use, for the next prediction that has one.
void Evaluation::predict_memory(const ChosenCosts& costs) {
  std::vector<RankTimeline> timelines = std::move(prediction_.run.timelines);
  options_.wants_time = false;
  predict_next(costs);
  options_.wants_time = true;
  prediction_.run.timelines = std::move(timelines);
}

void Evaluation::predict_next(const ChosenCosts& costs) {
  prediction_ = is_predicted_ ? predict_again(set_, costs, options_, std::move(prediction_.run))
                              : predict(set_, std::move(set_.programs), costs, options_,
                                        std::move(prediction_.run));
  is_predicted_ = true;
}

std::vector<HostDelay> Evaluation::last_delays() const {
  std::vector<HostDelay> delays;
  for (const RankClass& of : prediction_.run.classes) {
    for (const HostDelay& delay : of.memory.delays) {
      if (delay.step == options_.steps) delays.push_back(delay);
    }
  }
  return delays;
}

}  // namespace foreshard::simulator
