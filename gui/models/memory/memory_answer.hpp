// The memory view's first sentence: whether it fits, the peak, and what holds it.
#pragma once

#include <QString>
#include <cstdint>
#include <optional>

#include "gui/models/base/colour_role.hpp"
#include "gui/models/memory/block_map.hpp"
#include "gui/models/memory/memory_curve.hpp"
#include "gui/models/memory/memory_moment.hpp"
#include "profiler/analysis/analysis.hpp"
#include "simulator/predict/peak_explanation.hpp"

namespace foreshard::gui {

struct MemoryAnswer {
  Role state = Role::ok;
  QString lead;         // "The step fits:"
  QString text;         // "peak 57.27 GiB reserved of 79.19 GiB, 21.92 GiB to spare."
  QString detail;       // what holds it
  QString explanation;  // of predictions: the request that gets there, and what is alive beside it
};

// What is known besides the curve; each may be missing.
struct MemoryKnowledge {
  const profiler::RankAnalysis* analysis = nullptr;         // of the rank
  const simulator::PeakExplanation* explanation = nullptr;  // of a prediction
  std::optional<std::int64_t> capacity;                     // bytes for the rank's allocator
  bool is_predicted = false;
};

// `at_peak` and `map`: after the peak's events.
MemoryAnswer memory_answer(const MemoryCurve& curve, const MemoryKnowledge& known,
                           const MemoryMoment& at_peak, const BlockMap& map);
// Where a trace has no memory.
MemoryAnswer no_memory_answer();

}  // namespace foreshard::gui
