#include "gui/models/what_if/what_if.hpp"

#include <QSignalSpy>
#include <algorithm>

#include <gtest/gtest.h>

#include "gui/models/what_if/outcome_text.hpp"
#include "tests/gui/what_if/settled.hpp"

namespace foreshard::gui {
namespace {

TEST(Outcome, IsWhatAPredictionSays) {
  const WhatIfSettings settings = tiny_settings();
  Predictor predictor;
  const OutcomePtr outcome = predictor.predict(settings);
  ASSERT_FALSE(outcome->error);
  const Result<Job> job = make_job(settings);
  const simulator::Prediction alone = simulator::predict(*job, settings.options());
  EXPECT_EQ(outcome->step_ns, static_cast<double>(alone.step_time.count()));
  EXPECT_EQ(outcome->low_ns, static_cast<double>(alone.step_time_low.count()));
  EXPECT_EQ(outcome->high_ns, static_cast<double>(alone.step_time_high.count()));
  EXPECT_EQ(outcome->tokens_per_s, alone.tokens_per_s);
  EXPECT_EQ(outcome->mfu, alone.has_plausible_mfu() ? alone.mfu : 0);
  EXPECT_EQ(outcome->exposed_ns, static_cast<double>(alone.exposed_communication.count()));
  EXPECT_EQ(outcome->reserved, alone.ranks_memory.front().peaks.reserved);
  EXPECT_EQ(outcome->capacity, alone.capacity);
}

TEST(Outcome, TheCurveReachesThePeakAndStaysInTheStep) {
  Predictor predictor;
  const OutcomePtr outcome = predictor.predict(tiny_settings());
  ASSERT_FALSE(outcome->curve.empty());
  const Result<Job> job = make_job(tiny_settings());
  const simulator::Prediction alone = simulator::predict(*job, outcome->settings.options());
  std::int64_t highest = 0;
  for (std::size_t n = 0; n < outcome->curve.size(); ++n) {
    const MemoryStep& step = outcome->curve[n];
    highest = std::max(highest, step.allocated);
    EXPECT_LE(step.allocated, step.reserved);
    EXPECT_LE(step.position, outcome->curve_length);
    if (n > 0) {
      EXPECT_LT(outcome->curve[n - 1].position, step.position);
    }
  }
  EXPECT_EQ(highest, alone.steps_memory.back().peaks.allocated);
}

TEST(Outcome, TheSharesOfAStepAreNoLongerThanIt) {
  Predictor predictor;
  const OutcomePtr outcome = predictor.predict(tiny_settings());
  double all = 0;
  for (const StepShare& share : outcome->shares) all += share.ns;
  EXPECT_GT(all, 0);
  EXPECT_LE(all, outcome->step_ns * 1.001);
}

TEST(Outcome, WhatDoesNotFitSaysWhere) {
  WhatIfSettings settings = default_settings();
  settings.plan.set("batch.sequence", "16384");
  settings.plan.set("batch.micro_batch", "16");
  Predictor predictor;
  const OutcomePtr outcome = predictor.predict(settings);
  ASSERT_TRUE(outcome->oom);
  const Verdict verdict = verdict_of(*outcome);
  EXPECT_EQ(verdict.state, Role::error);
  EXPECT_TRUE(verdict.text.contains(QStringLiteral("asks"))) << verdict.text.toStdString();
  EXPECT_FALSE(outcome->curve.empty());
}

TEST(WhatIf, TheNewestOfManyChangesIsAnswered) {
  WhatIf what_if;
  what_if.start_from(tiny_settings());
  for (const char* micro_batch : {"2", "3", "6", "8", "4", "1"}) {
    what_if.set_value("batch.micro_batch", micro_batch);
  }
  ASSERT_TRUE(answers(what_if));
  EXPECT_EQ(what_if.outcome()->settings.plan.value("batch.micro_batch"), "1");
  Predictor predictor;
  EXPECT_EQ(what_if.outcome()->step_ns, predictor.predict(what_if.settings())->step_ns);
}

TEST(WhatIf, MovingAKeyChangesThatKeyAlone) {
  WhatIf what_if;
  what_if.start_from(tiny_settings());
  what_if.set_value("checkpointing.mode", "\"full\"");
  EXPECT_EQ(what_if.changed_keys(), (std::vector<std::string>{"checkpointing.mode"}));
  EXPECT_EQ(what_if.name_of(what_if.settings()), QStringLiteral("Checkpointing full"));
}

TEST(WhatIf, UndoReturnsToTheEqualPlan) {
  WhatIf what_if;
  what_if.start_from(tiny_settings());
  const WhatIfSettings start = what_if.settings();
  what_if.set_value("batch.micro_batch", "2");
  const WhatIfSettings middle = what_if.settings();
  what_if.set_ranks(4);
  const WhatIfSettings end = what_if.settings();
  what_if.undo();
  EXPECT_EQ(what_if.settings(), middle);
  what_if.undo();
  EXPECT_EQ(what_if.settings(), start);
  EXPECT_FALSE(what_if.can_undo());
  what_if.redo();
  what_if.redo();
  EXPECT_EQ(what_if.settings(), end);
  EXPECT_FALSE(what_if.can_redo());
  what_if.reset();
  EXPECT_EQ(what_if.settings(), start);
  what_if.undo();
  EXPECT_EQ(what_if.settings(), end);
}

TEST(WhatIf, AWrongValueNamesItsKeyAndTheLastAnswerStays) {
  WhatIf what_if;
  what_if.start_from(tiny_settings());
  ASSERT_TRUE(answers(what_if));
  const OutcomePtr before = what_if.outcome();
  what_if.set_value("batch.micro_batch", "0");
  ASSERT_TRUE(QTest::qWaitFor([&] { return what_if.error().has_value(); }));
  EXPECT_EQ(what_if.error()->field, "batch.micro_batch");
  EXPECT_EQ(what_if.outcome(), before);
  EXPECT_TRUE(what_if.is_stale());
  EXPECT_TRUE(what_if.is_outdated());
  ASSERT_TRUE(rests(what_if));
  what_if.set_value("batch.micro_batch", "1");
  ASSERT_TRUE(answers(what_if));
  EXPECT_FALSE(what_if.error());
}

TEST(WhatIf, AnAnswerIsOutdatedOnlyWhereItsSuccessorIsAwaitedForLong) {
  WhatIf what_if;
  QSignalSpy changes(&what_if, &WhatIf::outdated_changed);
  what_if.start_from(tiny_settings());
  ASSERT_TRUE(answers(what_if));
  what_if.set_value("batch.micro_batch", "2");
  EXPECT_FALSE(what_if.is_outdated());
  ASSERT_TRUE(rests(what_if));
  EXPECT_EQ(changes.size(), 0);
  WhatIfSettings slow = default_settings();
  slow.plan.set("batch.accumulation", "128");
  what_if.change(slow);
  EXPECT_FALSE(what_if.is_outdated());
  ASSERT_TRUE(changes.wait());
  EXPECT_TRUE(what_if.is_outdated());
  what_if.undo();
  EXPECT_FALSE(what_if.is_outdated());
}

TEST(WhatIf, PinsAreLetteredAndKeepTheirAnswers) {
  WhatIf what_if;
  what_if.start_from(tiny_settings());
  ASSERT_TRUE(answers(what_if));
  what_if.pin();
  what_if.set_value("batch.micro_batch", "2");
  ASSERT_TRUE(answers(what_if));
  what_if.pin();
  ASSERT_EQ(what_if.pins().size(), 2U);
  EXPECT_EQ(what_if.pins()[0].letter, QStringLiteral("A"));
  EXPECT_EQ(what_if.pins()[1].letter, QStringLiteral("B"));
  EXPECT_NE(what_if.pins()[0].outcome->step_ns, what_if.pins()[1].outcome->step_ns);
  what_if.unpin(0);
  EXPECT_EQ(what_if.pins().front().letter, QStringLiteral("B"));
}

TEST(WhatIf, ARestIsSurveyedAndWhatWasMovedBecomesADocument) {
  WhatIf what_if;
  QSignalSpy documents(&what_if, &WhatIf::document_changed);
  what_if.start_from(tiny_settings());
  ASSERT_TRUE(rests(what_if));
  EXPECT_NE(what_if.surroundings(), nullptr);
  EXPECT_EQ(documents.size(), 0);
  what_if.set_value("batch.micro_batch", "2");
  EXPECT_EQ(what_if.surroundings(), nullptr);
  ASSERT_TRUE(rests(what_if));
  ASSERT_EQ(documents.size(), 1);
  const auto document = documents.front().front().value<DocumentPtr>();
  EXPECT_EQ(document->source, Source::what_if);
  ASSERT_TRUE(document->plan());
  EXPECT_EQ(document->plan()->batch.micro_batch, 2);
  ASSERT_NE(document->run, nullptr);
}

TEST(WhatIf, StartsFromTheRunOfATrace) {
  const WhatIfSettings settings = tiny_settings();
  const auto trace = std::make_shared<const traces::Trace>(prediction_of(settings));
  WhatIf what_if;
  what_if.start_from_trace(trace, QStringLiteral("run.fst"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return what_if.settings().question.ranks == 2; }));
  EXPECT_EQ(what_if.settings().question.model.name, "llama-tiny-3m");
  EXPECT_EQ(what_if.settings().plan, settings.plan);
}

// Of that machine, and not of the one that the viewer begins with.
TEST(WhatIf, ATraceIsAnsweredForItsOwnMachine) {
  for (const char* machine : {"h200", "mi300x", "tpu-v5p"}) {
    Asked asked;
    asked.model = "llama-tiny-3m";
    asked.ranks = 4;
    asked.nodes = 2;
    asked.machine = machine;
    const WhatIfSettings settings = *settings_of(std::move(asked));
    const Result<Job> job = make_job(settings);
    ASSERT_TRUE(job) << job.error().text();
    simulator::PredictionOptions options = settings.options();
    options.keeps_memory_records = true;
    const simulator::Prediction prediction = simulator::predict(*job, options);
    const auto trace =
        std::make_shared<const traces::Trace>(simulator::to_trace(*job, prediction, "test"));
    WhatIf what_if;
    what_if.start_from_trace(trace, QStringLiteral("run.fst"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return what_if.outcome() != nullptr; }, 30'000)) << machine;
    EXPECT_EQ(what_if.settings().question.machine_id, machine);
    EXPECT_EQ(what_if.settings().nodes(), 2);
    EXPECT_EQ(what_if.outcome()->step_ns, static_cast<double>(prediction.step_time.count()));
    EXPECT_EQ(what_if.outcome()->reserved, prediction.ranks_memory.front().peaks.reserved);
  }
}

TEST(WhatIf, ATraceWithoutAPlanHasNoAnswer) {
  WhatIf what_if;
  what_if.start_from(tiny_settings());
  ASSERT_TRUE(rests(what_if));
  what_if.start_from_trace(std::make_shared<const traces::Trace>(), QStringLiteral("notes.json"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return !what_if.why_nothing().isEmpty(); }));
  EXPECT_TRUE(what_if.why_nothing().contains(QStringLiteral("no model and plan")));
  EXPECT_EQ(what_if.outcome(), nullptr);
  EXPECT_FALSE(what_if.is_busy());
}

// The document is what answered, and not a second prediction.
TEST(Outcome, WhatItWasMadeFromIsTakenOnce) {
  Predictor predictor;
  const OutcomePtr outcome = predictor.predict(tiny_settings());
  EXPECT_EQ(predictor.take(default_settings()), nullptr);
  const auto run = predictor.take(tiny_settings());
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(static_cast<double>(run->prediction.step_time.count()), outcome->step_ns);
  EXPECT_TRUE(run->prediction.explanation);
  EXPECT_EQ(predictor.take(tiny_settings()), nullptr);
}

TEST(WhatIf, ClosesWhileItWorks) {
  for (int n = 0; n < 5; ++n) {
    WhatIf what_if;
    what_if.start_from(default_settings());
    QTest::qWait(WhatIf::kRestMs / 2 * n);
  }
}

}  // namespace
}  // namespace foreshard::gui
