// Many predictions at once are those of each job alone, on any number of threads.
#include "simulator/predict/predict_all.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

#include "models/program/step_program.hpp"
#include "tests/property/random_job.hpp"

namespace foreshard::simulator {
namespace {

constexpr std::size_t kJobs = 48;

// What predictions are compared by: programs, memory and every instant of the timelines.
struct Answer {
  std::vector<std::uint64_t> programs;
  std::vector<std::int64_t> figures;
  std::vector<std::string> warnings;
  bool operator==(const Answer&) const = default;
};

Answer answer(const Prediction& p) {
  Answer out;
  for (const RankClass& c : p.run.classes) out.programs.push_back(program_hash(c.program));
  const auto add = [&out](auto... figures) { (out.figures.push_back(figures), ...); };
  add(p.fits ? 1 : 0, p.step_time.count(), p.step_time_low.count(), p.step_time_high.count(),
      p.exposed_communication.count(), p.cost_sources.measured, p.cost_sources.modelled);
  for (const RankPeaks& r : p.ranks_memory) {
    add(r.peaks.allocated, r.peaks.reserved, r.peaks.active, r.peak_host);
  }
  for (const StepPeaks& s : p.steps_memory) add(s.step, s.peaks.allocated, s.peaks.reserved);
  for (const auto& [category, bytes] : p.peak.by_category) add(bytes);
  for (const RankTimeline& timeline : p.run.timelines) {
    for (const Span& span : timeline.spans) add(span.issue, span.start, span.end);
    for (const std::size_t first : timeline.first_span) add(static_cast<std::int64_t>(first));
    for (const std::int64_t end : timeline.step_end_ns) add(end);
  }
  out.warnings = p.warnings;
  return out;
}

Job job_of(std::size_t n) {
  return tests::JobDrawer(1000 + n).draw();
}

PredictionOptions three_steps_on(const Machine& machine) {
  PredictionOptions options;
  options.machine = &machine;
  options.steps = 3;
  return options;
}

TEST(PredictAll, SaysOfEachJobWhatPredictSaysOfItAlone) {
  const Machine machine = *load_machine("h100-sxm");
  for (const bool is_tight : {false, true}) {
    PredictionOptions options = three_steps_on(machine);
    if (is_tight) options.device_memory = 6 << 20;
    std::vector<Answer> alone;
    std::size_t failures = 0;
    for (std::size_t n = 0; n < kJobs; ++n) {
      const Prediction p = predict(job_of(n), options);
      failures += p.fits ? 0 : 1;
      alone.push_back(answer(p));
    }
    EXPECT_EQ(failures > 0, is_tight);
    for (const int threads : {1, 4}) {
      std::vector<Answer> together(kJobs);
      predict_all(kJobs, job_of, options, threads,
                  [&](std::size_t n, const Job&, const Prediction& p) { together[n] = answer(p); });
      for (std::size_t n = 0; n < kJobs; ++n) {
        EXPECT_TRUE(together[n] == alone[n]) << "job " << n << " on " << threads << " threads";
      }
    }
  }
}

TEST(PredictAll, PlansOfOneModelShareItsTree) {
  const Machine machine = *load_machine("h100-sxm");
  const PredictionOptions options = three_steps_on(machine);
  const Job first = job_of(0);
  const auto is_torchtitan = [](const Job& job) {
    return job.plan.pytorch.implementation == ImplementationName::torchtitan;
  };
  std::vector<Plan> plans(kJobs, first.plan);
  for (std::size_t n = 0; n < kJobs; ++n) {
    plans[n].batch.micro_batch = 1 + static_cast<std::int64_t>(n % 3);
    plans[n].checkpointing.mode = n % 2 == 0 ? CheckpointMode::none : CheckpointMode::full;
    plans[n].pytorch.implementation =
        n % 5 == 0 ? ImplementationName::torchtitan : ImplementationName::transformers;
  }
  std::vector<Answer> together(kJobs);
  predict_all(
      kJobs, [&](std::size_t n) { return *replan(first, plans[n], "test"); }, options, 4,
      [&](std::size_t n, const Job& job, const Prediction& p) {
        EXPECT_EQ(job.tree.modules.data() == first.tree.modules.data(),
                  is_torchtitan(job) == is_torchtitan(first));
        together[n] = answer(p);
      });
  for (std::size_t n = 0; n < kJobs; ++n) {
    const auto job = make_job(first.model, plans[n], "test", first.ranks, first.nodes);
    ASSERT_TRUE(job) << job.error().text();
    EXPECT_TRUE(together[n] == answer(predict(*job, options))) << "plan " << n;
  }
}

TEST(PredictAll, ThrowsWhatTheLowestJobThrew) {
  const Machine machine = *load_machine("h100-sxm");
  const auto use = [](std::size_t n, const Job&, const Prediction&) {
    if (n >= 2) throw std::runtime_error(std::to_string(n));
  };
  for (const int threads : {1, 4}) {
    try {
      predict_all(kJobs, job_of, three_steps_on(machine), threads, use);
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), std::string("2"));
    }
  }
}

}  // namespace
}  // namespace foreshard::simulator
