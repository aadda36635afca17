#include "simulator/predict/prediction.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <tuple>

#include "models/base/figures.hpp"
#include "models/program/oom_report.hpp"
#include "models/program/unrolled.hpp"
#include "simulator/engine/idle_steps.hpp"
#include "simulator/predict/chosen_costs.hpp"
#include "simulator/predict/exercised.hpp"
#include "simulator/predict/unknown_costs.hpp"

namespace foreshard::simulator {
namespace {

bool precedes(const MemoryFailure& a, const MemoryFailure& b) {
  return std::tie(a.step, a.instruction) < std::tie(b.step, b.instruction);
}

class Predictor {
 public:
  Predictor(const ProgramSet& set, std::vector<RankProgram> programs, const ChosenCosts& costs,
            const PredictionOptions& options, SimulatedRun scratch)
      : set_(set),
        programs_(std::move(programs)),
        options_(options),
        costs_(costs.model.get()),
        limits_memory_(costs.limits_memory),
        before_(std::move(scratch)) {}

  // Of the programs of the run `before`, which are the set's.
  Predictor(const ProgramSet& set, const ChosenCosts& costs, const PredictionOptions& options,
            SimulatedRun before)
      : Predictor(set, {}, costs, options, std::move(before)) {
    is_again_ = true;
    programs_ = take_programs(before_);
  }

  Prediction run() {
    const std::size_t classes = programs_.size();
    run_.class_of_rank = set_.class_of_rank;
    result_.warnings = set_.warnings;
    run_.allocator = set_.allocator;
    run_.engine.steps = options_.steps;
    if (is_again_) run_.begins_idle = before_.begins_idle;
    run_.classes.resize(classes);
    before_.classes.resize(classes);
    lowest_.assign(classes, -1);
    outside_.resize(classes);
    for (std::size_t r = 0; r < set_.class_of_rank.size(); ++r) {
      int& lowest = lowest_[static_cast<std::size_t>(set_.class_of_rank[r])];
      if (lowest < 0) lowest = static_cast<int>(r);
    }
    for (std::size_t c = 0; c < classes; ++c) {
      RankProgram& program = programs_[c];
      RankClass& of = run_.classes[c];
      of.program = wants_every_instruction() ? unrolled(program) : std::move(program);
      of.costs = std::move(before_.classes[c].costs);
      if (!is_again_) of.costs = counted_costs(of.program, std::move(of.costs));
    }
    run_.has_memory = options_.wants_memory;
    result_.capacity = capacity();
    if (options_.wants_memory) {
      simulate_memories();
      report_memory();
    }
    if (options_.wants_time) {
      answer_time();
      share_what_was_observed();
      result_.data_sheet = costs_->wording.data_sheet;
      for (const std::string& warning : costs_->wording.warnings)
        result_.warnings.push_back(warning);
    }
    return std::move(result_);
  }

 private:
  bool wants_every_instruction() const {
    return options_.keeps_memory_records || costs_->platform.engine.shares;
  }

  std::optional<std::int64_t> capacity() {
    if (options_.device_memory) return options_.device_memory;
    const std::int64_t device = costs_->platform.device_bytes;
    if (device <= 0 || !limits_memory_) return {};
    const auto outside = outside_of(0);
    return std::max<std::int64_t>(0, device - (outside ? outside->bytes() : 0));
  }

  // The class's memory outside of the allocator, counted once.
  const std::optional<OutsideMemory>& outside_of(std::size_t which) const {
    auto& known = outside_[which];
    const RankClass& of = run_.classes[which];
    const Platform& on = costs_->platform;
    if (!known) {
      known.emplace();
      if (on.nccl) *known = outside_memory(*on.nccl, of.program, of.costs, on.ranks_per_node);
    }
    return *known;
  }

  // --- memory -----------------------------------------------------------------------------------

  void simulate_memories() {
    MemoryOptions& memory = memory_options_;
    memory.steps = options_.steps;
    memory.capacity = result_.capacity;
    memory.segment_alloc_ns = costs_->platform.segments.alloc_ns;
    memory.segment_free_ns = costs_->platform.segments.free_ns;
    memory.keeps_records = options_.keeps_memory_records;
    memory.lists_peak = options_.wants_explanation;
    memory.gpu_timing = set_.gpu_timing;
    run_.walk = memory;
    if (take_over_memories()) return;
    // Once a class has failed, the others go on to the same point and no further. The lowest ranks
    // have the largest shards, so that the first class is rarely walked a second time.
    std::size_t first_to_fail = 0;
    const auto walk = [&](RankClass& rank_class) {
      memory.stop = run_.failure;
      rank_class.memory = simulate_memory(rank_class.program, set_.allocator, memory);
      return rank_class.memory.failure;
    };
    for (std::size_t c = 0; c < run_.classes.size(); ++c) {
      const auto failure = walk(run_.classes[c]);
      if (!failure || (run_.failure && !precedes(*failure, *run_.failure))) continue;
      run_.failure = failure;
      for (std::size_t before = 0; before < c; ++before) walk(run_.classes[before]);
      first_to_fail = c;
    }
    if (run_.failure) report_oom(first_to_fail);
  }

  // Where the prediction before was of these programs and walks them alike.
  bool take_over_memories() {
    if (!is_again_ || !before_.has_memory || before_.failure) return false;
    if (!(before_.allocator == set_.allocator)) return false;
    for (const RankClass& before : before_.classes) {
      if (!walks_alike(before.memory, set_.allocator, before_.walk, memory_options_)) return false;
    }
    for (std::size_t c = 0; c < run_.classes.size(); ++c) {
      run_.classes[c].memory = std::move(before_.classes[c].memory);
    }
    return true;
  }

  void report_oom(std::size_t which) {
    result_.fits = false;
    result_.oom = oom_report(
        run_.classes[which].program, run_.failure->step, run_.failure->instruction, lowest_[which],
        {run_.failure->requested, run_.failure->allocated, run_.failure->reserved});
  }

  void report_memory() {
    std::size_t highest = 0;
    for (std::size_t r = 0; r < run_.class_of_rank.size(); ++r) {
      const RankMemory& memory = memory_of(r);
      const int rank = static_cast<int>(r);
      result_.ranks_memory.push_back({rank, memory.run, memory.peak_host});
      if (memory.run.allocated > memory_of(highest).run.allocated) highest = r;
    }
    for (std::int64_t step = 1; step <= options_.steps; ++step) {
      for (std::size_t r = 0; r < run_.class_of_rank.size(); ++r) {
        const auto& steps = memory_of(r).steps;
        if (static_cast<std::size_t>(step) > steps.size()) continue;
        result_.steps_memory.push_back(
            {step, static_cast<int>(r), steps[static_cast<std::size_t>(step) - 1]});
      }
    }
    const PeakMoment& peak = memory_of(highest).peak;
    const RankProgram& program = class_of(highest).program;
    if (options_.wants_outside) {
      result_.outside = outside_of(static_cast<std::size_t>(run_.class_of_rank[highest]));
    }
    if (options_.wants_explanation && memory_of(highest).run.allocated > 0) {
      result_.explanation = explain_peak(program, memory_of(highest), options_.steps);
    }
    result_.peak.rank = static_cast<int>(highest);
    result_.peak.phase = name(peak.phase);
    result_.peak.unit = unit_name(program, peak.unit);
    for (int c = 0; c < kCategories; ++c) {
      const std::int64_t bytes = peak.by_category[static_cast<std::size_t>(c)];
      if (bytes != 0) result_.peak.by_category[std::string(name(static_cast<Category>(c)))] = bytes;
    }
  }

  const RankClass& class_of(std::size_t rank) const {
    return run_.classes[static_cast<std::size_t>(run_.class_of_rank[rank])];
  }
  const RankMemory& memory_of(std::size_t rank) const { return class_of(rank).memory; }

  // --- time -------------------------------------------------------------------------------------

  // Of the whole run, were everything that any rank does done one after the other: no schedule of it
  // takes longer.
  double longest_ns() const {
    std::vector<double> ranks(run_.classes.size());
    for (const int c : run_.class_of_rank) ++ranks[static_cast<std::size_t>(c)];
    double sum = 0;
    for (std::size_t c = 0; c < ranks.size(); ++c) {
      const RankClass& of = run_.classes[c];
      sum += ranks[c] * work_ns(of.program, of.costs, options_.steps);
    }
    return sum;
  }

  // Costs that make a run last forever are somebody's mistake, and no time follows from them.
  void forget_costs() {
    for (RankClass& rank_class : run_.classes) {
      for (TaskCost& cost : rank_class.costs.costs) cost.ns = 0;
      for (CostSource& source : rank_class.costs.sources) source = CostSource::unknown;
    }
    result_.warnings.emplace_back("by these costs the run would last more than thirty years");
  }

  void answer_time() {
    for (RankClass& of : run_.classes) {
      of.costs = priced_costs(of.program, *costs_, std::move(of.costs));
    }
    if (longest_ns() >= kForeverNs) forget_costs();
    count_sources();
    if (run_.failure || result_.cost_sources.unknown > 0) {
      if (options_.keeps_memory_records) simulate_time();
    } else {
      simulate_time();
      if (!run_.timelines.empty()) report_time();
    }
    if (result_.cost_sources.unknown > 0)
      result_.warnings.push_back(unknown_costs_text(unknown_, costs_->wording.unknown_device));
  }

  bool rests_on_observed_runs() const {
    return options_.costs != nullptr && options_.costs->rates && costs_->factors() != nullptr;
  }

  // What runs showed of other steps holds for this one as far as it has its work in common with theirs.
  void share_what_was_observed() {
    if (result_.step_time.count() <= 0 || !rests_on_observed_runs()) return;
    constexpr double kAll = 0.999;
    const double common = exercised_share(result_.exercise, options_.costs->rates->observed);
    if (common > kAll) return;
    RateFactors shared = *costs_->factors();
    for (double& logarithm : shared.logarithm) logarithm *= common;
    shared_ = costs_->with_factors(shared);
    if (shared_ == nullptr) return;
    costs_ = shared_.get();
    run_.simulated_ranks.clear();
    run_.places.clear();
    before_.timelines = std::move(run_.timelines);
    result_.closing_time = {};
    result_.warnings = set_.warnings;
    answer_time();
  }

  void simulate_time() {
    EngineOptions engine = costs_->platform.engine;
    if (set_.is_staged && engine.simulated == Simulated::one_per_class) {
      engine.simulated = Simulated::one_per_class_in_place;
    }
    engine.steps = options_.steps;
    if (run_.failure) {
      engine.stop_step = run_.failure->step;
      engine.stop_instruction = run_.failure->instruction;
    }
    const auto simulate_rank = [&](int rank) {
      run_.simulated_ranks.push_back(rank);
      run_.places.push_back(set_.places[static_cast<std::size_t>(rank)]);
    };
    run_.engine = engine;
    if (engine.simulated == Simulated::all_ranks) {
      for (int rank = 0; rank < set_.ranks(); ++rank) simulate_rank(rank);
    } else {
      for (const int rank : lowest_) simulate_rank(rank);
    }
    if (needs_last_step_only(engine)) {
      run_.engine.first_step = engine.first_step = options_.steps;
    } else if (!options_.wants_memory) {
      return;
    }
    price_pytorch(engine.first_step);
    run_.timelines = simulate(simulated_ranks(run_), engine, std::move(before_.timelines));
  }

  // Whether the last step takes the same time whatever came before.
  bool needs_last_step_only(const EngineOptions& engine) {
    const bool is_alone = run_.simulated_ranks.size() == 1 && !engine.shares && !run_.failure;
    if (!is_alone || options_.keeps_memory_records || !is_ready_when_idle(engine.host))
      return false;
    const RankProgram& program = run_.classes.front().program;
    if (!run_.begins_idle)
      run_.begins_idle = ends_idle(program.step(options_.steps - 1), program.streams.size());
    return *run_.begins_idle;
  }

  // Of programs whose operators are PyTorch's.
  void price_pytorch(std::int64_t first_step) {
    const std::optional<HostPace> pace = costs_->platform.pytorch_host;
    if (!pace) return;
    for (RankClass& rank_class : run_.classes) {
      if (rank_class.program.operators.empty()) continue;
      const std::size_t first = rank_class.program.number_of(first_step);
      rank_class.issue = pytorch_issue_times(rank_class.program, *pace, first);
    }
  }

  void report_time() {
    const auto last = static_cast<std::size_t>(options_.steps);
    std::int64_t step_ns = 0;
    for (const RankTimeline& timeline : run_.timelines) {
      step_ns = std::max(step_ns, timeline.step_end_ns[last] - timeline.step_end_ns[last - 1]);
    }
    result_.step_time = Nanoseconds(step_ns);
    for (const RankTimeline& timeline : run_.timelines) {
      const std::int64_t closing_ns = timeline.step_end_ns.back() - timeline.step_end_ns[last];
      result_.closing_time = std::max(result_.closing_time, Nanoseconds(closing_ns));
    }
    if (step_ns <= 0) return;
    if (options_.wants_band || rests_on_observed_runs()) report_band();
    result_.tokens_per_s = set_.tokens_per_step / static_cast<double>(step_ns) * 1e9;
    const double peak = costs_->platform.peak(set_.compute_type) * set_.ranks();
    if (peak > 0) {
      result_.mfu = set_.model_flops_per_step / (static_cast<double>(step_ns) * peak);
      if (result_.mfu > 1) warn_of_mfu();
    }
    if (options_.wants_path) {
      result_.path = step_path(simulated_ranks(run_), run_.timelines, options_.steps, run_.engine);
    }
    if (options_.wants_time_basis) {
      result_.time_basis = time_basis(run_.classes[0].program, run_.classes[0].costs,
                                      options_.steps, *costs_, result_.uncertainty);
    }
  }

  void report_band() {
    const RankClass& first = run_.classes[0];
    result_.exposed_communication =
        Nanoseconds(exposed_communication_ns(first.program, run_.timelines[0], options_.steps));
    const StepSpan span{result_.step_time.count(), result_.exposed_communication.count()};
    result_.uncertainty =
        uncertainty_of_step(first.program, first.costs, last_step_counts(), *costs_, span);
    if (rests_on_observed_runs()) {
      result_.exercise = exercise_of(first.program, first.costs, last_step_counts(),
                                     result_.uncertainty.rates, nodes());
      add_unexercised(result_.exercise, *options_.costs->rates, result_.uncertainty);
    }
    std::tie(result_.step_time_low, result_.step_time_high) =
        band_around(result_.step_time, half_width(result_.uncertainty, costs_->factors()));
  }

  int nodes() const {
    const int each = std::max(1, costs_->platform.ranks_per_node);
    return (set_.ranks() + each - 1) / each;
  }

  // Costs of another precision than the plan's, such as fp32 costs for a bf16 plan, can be faster than
  // the peak rate that MFU is relative to.
  void warn_of_mfu() {
    result_.warnings.push_back(formatted(
        "no MFU: it would be %.0f %%, because the costs are faster than the peak rate that "
        "is assumed for the plan's precision",
        100 * result_.mfu));
  }

  // How often rank 0 pays each of its costs in the last step.
  const std::vector<std::int64_t>& last_step_counts() const {
    const RankClass& first = run_.classes[0];
    return first.costs.counts[first.program.number_of(options_.steps)];
  }

  // Of the last step: its work, and its memory's requests to the device's driver.
  void count_sources() {
    const RankClass& first = run_.classes[0];
    std::array<std::int64_t, static_cast<std::size_t>(CostSource::kCount)> counts{};
    bool has_unknown = false;
    const auto& paid = last_step_counts();
    for (std::size_t c = 0; c < paid.size(); ++c) {
      if (paid[c] == 0) continue;
      const CostSource source = first.costs.sources[c];
      counts[static_cast<std::size_t>(source)] += paid[c];
      has_unknown |= source == CostSource::unknown;
    }
    if (has_unknown) {
      unknown_ = unknown_operators(first.program, first.costs, options_.steps);
    }
    const CostSource segments = costs_->platform.segments.source;
    for (const HostDelay& delay : first.memory.delays) {
      if (delay.step != options_.steps) continue;
      ++counts[static_cast<std::size_t>(segments)];
      if (segments == CostSource::unknown) ++unknown_["cudaMalloc and cudaFree"];
    }
    const auto count = [&](CostSource source) { return counts[static_cast<std::size_t>(source)]; };
    result_.cost_sources = {count(CostSource::measured), count(CostSource::fitted),
                            count(CostSource::modelled), count(CostSource::unknown)};
  }

  const ProgramSet& set_;
  std::vector<RankProgram> programs_;  // of the set
  const PredictionOptions& options_;
  const CostModel* costs_;
  std::unique_ptr<CostModel> shared_;  // share_what_was_observed
  bool limits_memory_;
  bool is_again_ = false;
  MemoryOptions memory_options_;
  std::vector<int> lowest_;  // rank of each class
  mutable std::vector<std::optional<std::optional<OutsideMemory>>>
      outside_;  // of each that was asked
  UnknownCosts unknown_;
  SimulatedRun before_;  // what it holds is moved into the new one
  Prediction result_;
  SimulatedRun& run_ = result_.run;
};

}  // namespace

namespace {

using Clock = std::chrono::steady_clock;

Prediction predict(ProgramSet set, const ChosenCosts& costs, const PredictionOptions& options,
                   SimulatedRun scratch, Clock::time_point start) {
  std::vector<RankProgram> programs = std::move(set.programs);
  Prediction prediction = predict(set, std::move(programs), costs, options, std::move(scratch));
  prediction.prediction_time = std::chrono::duration_cast<Nanoseconds>(Clock::now() - start);
  return prediction;
}

}  // namespace

Prediction predict(ProgramSet set, const PredictionOptions& options, SimulatedRun scratch) {
  const auto start = Clock::now();
  const auto costs = chosen_costs(set.ranks(), set.nodes, options);
  return predict(std::move(set), costs, options, std::move(scratch), start);
}

Prediction predict(const Job& job, const PredictionOptions& options, SimulatedRun scratch) {
  const auto start = Clock::now();
  const auto costs = chosen_costs(job, options);
  ProgramSet set =
      lower_all(job, costs.model->platform.ranks_per_node, take_programs(scratch), options.run);
  if (!costs.assumption.empty()) set.warnings.push_back(costs.assumption);
  return predict(std::move(set), costs, options, std::move(scratch), start);
}

Prediction predict(const ProgramSet& set, std::vector<RankProgram> programs,
                   const ChosenCosts& costs, const PredictionOptions& options,
                   SimulatedRun scratch) {
  return Predictor(set, std::move(programs), costs, options, std::move(scratch)).run();
}

Prediction predict_again(const ProgramSet& set, const ChosenCosts& costs,
                         const PredictionOptions& options, SimulatedRun before) {
  return Predictor(set, costs, options, std::move(before)).run();
}

}  // namespace foreshard::simulator
