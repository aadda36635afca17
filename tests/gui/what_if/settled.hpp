// Waiting for the what-if panel, and the small job that its tests predict.
#pragma once

#include <QTest>

#include <gtest/gtest.h>

#include "gui/models/what_if/what_if.hpp"
#include "simulator/predict/prediction.hpp"

namespace foreshard::gui {

// Two ranks of llama-tiny-3m with Foreshard's operators: a prediction takes a few milliseconds.
inline WhatIfSettings tiny_settings() {
  Asked asked;
  asked.model = "llama-tiny-3m";
  asked.operators = OperatorSetName::foreshard;
  asked.ranks = 2;
  asked.machine = "h100-sxm";
  return *settings_of(std::move(asked));
}

// What `foreshard predict --trace` writes.
inline traces::Trace prediction_of(const WhatIfSettings& settings) {
  const Result<Job> job = make_job(settings);
  EXPECT_TRUE(job) << job.error().text();
  simulator::PredictionOptions options = settings.options();
  options.keeps_memory_records = true;
  return simulator::to_trace(*job, simulator::predict(*job, options), "test");
}

inline bool answers(const WhatIf& what_if) {
  return QTest::qWaitFor([&] { return !what_if.is_stale(); }, 30'000);
}

inline bool rests(const WhatIf& what_if) {
  return QTest::qWaitFor([&] { return !what_if.is_busy(); }, 60'000);
}

}  // namespace foreshard::gui
