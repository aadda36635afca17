// A large trace for benchmarks of views: a million events, 700,000 more of memory.
#pragma once

#include "gui/models/session/document.hpp"
#include "models/hardware/hardware.hpp"
#include "models/llama/llama_config.hpp"
#include "simulator/predict/prediction.hpp"

namespace foreshard::gui {

// An 8B on 8 ranks, predicted for many steps.
inline DocumentPtr long_run() {
  static const DocumentPtr document = [] {
    const auto job = make_job(*load_llama_config("llama-3.1-8b"), Plan(), "plan", 8);
    const auto machine = load_machine("h100-sxm");
    simulator::PredictionOptions options;
    options.steps = 126;
    options.machine = &*machine;
    options.keeps_memory_records = true;
    const auto prediction = simulator::predict(*job, options);
    return make_document(simulator::to_trace(*job, prediction, "benchmark"), Source::predicted,
                         QStringLiteral("long.fst"), {});
  }();
  return document;
}

}  // namespace foreshard::gui
