#include "gui/models/what_if/surroundings.hpp"

#include <gtest/gtest.h>

#include "tests/gui/what_if/settled.hpp"

namespace foreshard::gui {
namespace {

const std::atomic<bool> kWanted{false};

TEST(Surroundings, CandidatesAreWhatPredictionsOfThemselvesAre) {
  const WhatIfSettings base = tiny_settings();
  const std::vector<Changes> all{{{"batch.micro_batch", "2"}},
                                 {{"checkpointing.mode", "\"full\""}},
                                 {{"batch.micro_batch", "0"}},
                                 {}};
  const auto candidates = predict_candidates(base, all, 2, kWanted);
  ASSERT_TRUE(candidates);
  ASSERT_EQ(candidates->size(), all.size());
  for (const Candidate& candidate : *candidates) {
    const Result<Job> job = make_job(with(base, candidate.changes));
    ASSERT_EQ(static_cast<bool>(job), !candidate.error);
    if (!job) continue;
    const auto alone = simulator::predict(*job, base.options());
    EXPECT_EQ(candidate.fits, alone.fits);
    EXPECT_EQ(candidate.tokens_per_s, alone.tokens_per_s);
    EXPECT_EQ(candidate.step_ns, static_cast<double>(alone.step_time.count()));
    EXPECT_EQ(candidate.reserved, alone.ranks_memory.front().peaks.reserved);
  }
}

TEST(Surroundings, WorkThatIsUnwantedStops) {
  const std::atomic<bool> is_unwanted{true};
  EXPECT_FALSE(predict_candidates(tiny_settings(), {{}}, 1, is_unwanted));
}

TEST(Surroundings, NeighboursChangeSomethingAndTheBestComesFirst) {
  Predictor predictor;
  const OutcomePtr present = predictor.predict(tiny_settings());
  const auto found = survey(present, {}, 2, kWanted);
  ASSERT_NE(found, nullptr);
  ASSERT_FALSE(found->neighbours.empty());
  for (std::size_t n = 0; n < found->neighbours.size(); ++n) {
    const Neighbour& neighbour = found->neighbours[n];
    EXPECT_TRUE(neighbour.more_tokens != 0 || neighbour.more_reserved != 0 ||
                !neighbour.candidate.fits);
    if (n > 0 && neighbour.candidate.fits) {
      EXPECT_LE(neighbour.more_tokens, found->neighbours[n - 1].more_tokens);
    }
  }
  const Candidate* notch = found->notch("batch.micro_batch", "8");
  ASSERT_NE(notch, nullptr);
  EXPECT_TRUE(notch->fits);
  EXPECT_EQ(found->notch("batch.micro_batch", "7"), nullptr);
}

TEST(Surroundings, ASweepHasEveryPairOfValues) {
  Predictor predictor;
  const OutcomePtr present = predictor.predict(tiny_settings());
  const auto found = survey(present, {"checkpointing.mode", "offload.activations"}, 2, kWanted);
  const Sweep& sweep = found->sweep;
  EXPECT_EQ(sweep.second_values.size(), 2U);
  EXPECT_EQ(sweep.points.size() + sweep.misfits + sweep.impossible, sweep.first_values.size() * 2);
}

TEST(Surroundings, PlansThatDoNotFitAreTwoThingsBesidesThoseThatBreakARule) {
  Asked asked;
  asked.model = "llama-3.1-70b";
  asked.ranks = 8;
  asked.machine = "h100-sxm";
  Predictor predictor;
  const OutcomePtr present = predictor.predict(*settings_of(std::move(asked)));
  const Sweep sizes = survey(present, {"batch.micro_batch", ""}, 2, kWanted)->sweep;
  EXPECT_EQ(sizes.misfits, sizes.first_values.size());
  EXPECT_EQ(sizes.impossible, 0U);
}

// Foreshard's on this machine's processors beside PyTorch's on some GPU would be no comparison.
TEST(Surroundings, OtherOperatorsAreANeighbourOnTheSameMachineAlone) {
  Predictor predictor;
  const auto has_operators = [&](WhatIfSettings settings) {
    const auto found = survey(predictor.predict(settings), {}, 2, kWanted);
    return std::ranges::any_of(found->neighbours, [](const Neighbour& one) {
      return one.candidate.changes.front().name == "operators";
    });
  };
  EXPECT_TRUE(has_operators(tiny_settings()));
  Asked here;
  here.model = "llama-tiny-3m";
  here.operators = OperatorSetName::foreshard;
  here.ranks = 2;
  EXPECT_FALSE(has_operators(*settings_of(std::move(here))));
}

TEST(Surroundings, TheFrontIsWhatNothingElseBeats) {
  const auto point = [](double tokens, std::int64_t reserved) {
    SweepPoint made;
    made.candidate.tokens_per_s = tokens;
    made.candidate.reserved = reserved;
    return made;
  };
  std::vector<SweepPoint> points{point(10, 100), point(20, 200), point(15, 300), point(20, 250)};
  mark_front(points);
  EXPECT_TRUE(points[0].is_on_front);
  EXPECT_TRUE(points[1].is_on_front);
  EXPECT_FALSE(points[2].is_on_front);
  EXPECT_FALSE(points[3].is_on_front);
}

}  // namespace
}  // namespace foreshard::gui
