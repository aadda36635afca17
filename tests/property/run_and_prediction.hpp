// A job run and the same job predicted, and what has to agree between two of them.
#pragma once

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "executor/run/training.hpp"
#include "simulator/predict/prediction.hpp"

namespace foreshard::tests {

constexpr std::int64_t kSteps = 3;

struct RunOptions {
  std::optional<std::int64_t> capacity = std::nullopt;
  bool poisons = false;
  std::string weights_file = {};
  std::string gradients_file = {};
  std::string checkpoint = {};
  std::int64_t steps = kSteps;
  bool uses_graphs = false, tests_graphs = false;
  executor::DeviceFactory make_device = {};
  executor::CommunicatorFactory make_communicators = {};
};

inline executor::TrainingResult run(const Job& job, const RunOptions& how = {}) {
  const auto data =
      executor::TokenData::shipped_text(job.model.vocabulary, job.plan.batch.sequence);
  const auto weights = executor::WeightSource::drawn(job.model, 1);
  executor::TrainingOptions options;
  options.steps = options.total_steps = how.steps;
  options.uses_graphs = how.uses_graphs;
  options.tests_graphs = how.tests_graphs;
  options.device_memory = how.capacity;
  options.poisons = how.poisons;
  if (how.poisons) options.threads_per_rank = 3;  // which changes no bit either
  options.export_weights = how.weights_file;
  options.export_gradients = how.gradients_file;
  options.save = how.checkpoint;
  options.make_device = how.make_device;
  options.make_communicators = how.make_communicators;
  auto result = executor::train(job, *data, weights, options);
  EXPECT_TRUE(result) << result.error().text();
  EXPECT_FALSE(result->failure) << result->failure->message;
  return *result;
}

inline simulator::Prediction predicted(const Job& job, std::optional<std::int64_t> capacity,
                                       const RunVariant& variant = {}) {
  simulator::PredictionOptions options;
  options.steps = kSteps;
  options.device_memory = capacity;
  options.wants_time = false;
  options.run = variant;
  return simulator::predict(job, options);
}

inline void expect_equal(const MemoryPeaks& a, const MemoryPeaks& b) {
  EXPECT_EQ(a.allocated, b.allocated);
  EXPECT_EQ(a.reserved, b.reserved);
  EXPECT_EQ(a.active, b.active);
}

// Of the number-th step that a run did, from 0.
inline MemoryPeaks peaks_in_step(const executor::RankMemoryReport& rank, std::int64_t number) {
  for (const executor::StepsOfPeaks& stretch : rank.steps) {
    if (number < stretch.steps) return stretch.peaks;
    number -= stretch.steps;
  }
  return {};
}

inline void expect_same_memory(const simulator::Prediction& p, const executor::TrainingResult& r) {
  ASSERT_EQ(p.ranks_memory.size(), r.memory.size());
  for (std::size_t rank = 0; rank < r.memory.size(); ++rank) {
    expect_equal(p.ranks_memory[rank].peaks, r.memory[rank].run);
    EXPECT_EQ(p.ranks_memory[rank].peak_host, r.memory[rank].host);
  }
  for (const auto& step : p.steps_memory) {
    const auto& rank = r.memory[static_cast<std::size_t>(step.rank)];
    expect_equal(step.peaks, peaks_in_step(rank, step.step - 1));
  }
}

inline void expect_same_steps(const executor::TrainingResult& a,
                              const executor::TrainingResult& b) {
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (std::size_t s = 0; s < a.steps.size(); ++s) {
    EXPECT_EQ(a.steps[s].loss, b.steps[s].loss) << "step " << s + 1;
    EXPECT_EQ(a.steps[s].gradient_norm, b.steps[s].gradient_norm) << "step " << s + 1;
  }
}

inline std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace foreshard::tests
