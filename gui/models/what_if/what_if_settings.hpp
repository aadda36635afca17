// What the what-if panel has set: a model, the costs it is predicted with, ranks, nodes and a plan.
#pragma once

#include <QString>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/models/what_if/spelt_plan.hpp"
#include "models/hardware/hardware.hpp"
#include "models/llama/llama_config.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/predict/prediction.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

// What times come from: a machine of the catalogue, or a table fitted to a recording, with the
// machine that was recorded where the catalogue has it.
struct CostBasis {
  QString name;
  std::optional<Machine> machine;
  std::optional<simulator::CostTable> table;

  // Without records and explanations. Points into this basis.
  simulator::PredictionOptions options() const;
  std::int64_t ranks_per_node() const { return machine ? machine->gpus_per_node : kMaxRanksOfHost; }

  static constexpr std::int64_t kMaxRanksOfHost = 1024;
};
using CostBasisPtr = std::shared_ptr<const CostBasis>;

struct WhatIfSettings {
  LlamaConfig model;
  CostBasisPtr costs;
  int ranks = 1, nodes = 1;
  SpeltPlan plan;

  // "llama-3.1-8b · 8 × H100 SXM".
  QString title() const;
  bool operator==(const WhatIfSettings&) const = default;
};

// A machine of the catalogue as a basis; null where it has none of that id.
CostBasisPtr machine_basis(const std::string& id);
// llama-3.1-8b on 8 H100 with the default plan.
WhatIfSettings default_settings();

// The run that a trace is of, with the machine it was predicted for or costs fitted to it. Fitting
// takes long, so not on the window's thread. An error where the trace has no model and plan.
Result<WhatIfSettings> settings_of(const traces::Trace& trace, const std::string& title);

}  // namespace foreshard::gui
