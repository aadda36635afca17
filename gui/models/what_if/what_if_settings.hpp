// What the what-if panel has set: a question whose plan may break rules, and the costs that answer it
// where they are not those of its machine. Made as the command line makes its questions, so that the same
// words have the same answer in both.
#pragma once

#include <QString>
#include <memory>
#include <string>

#include "gui/models/what_if/spelt_plan.hpp"
#include "models/question/asked.hpp"
#include "models/sharding/job.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/predict/prediction.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

// Fitted to a recording, or read from a file.
struct NamedCosts {
  QString name;  // "as measured in run.fst"
  simulator::CostTable table;
};
using CostsPtr = std::shared_ptr<const NamedCosts>;

struct WhatIfSettings {
  Question question;  // but for its plan
  SpeltPlan plan;
  CostsPtr costs;  // null: those of the machine

  // With the plan. What is wrong with that names the key as controls do.
  Result<Question> asked() const;
  // Without records and explanations. Points into these settings.
  simulator::PredictionOptions options() const;

  int nodes() const { return node_count(question); }
  int fewest_nodes() const;  // that hold the ranks
  QString place() const;     // "H100 SXM5 80GB", "as measured in run.fst"
  QString title() const;     // "llama-3.1-8b · 8 × H100 SXM5 80GB"

  bool operator==(const WhatIfSettings& other) const;
};

// `costs` win over those that are asked for by name.
Result<WhatIfSettings> settings_of(Asked asked, CostsPtr costs = nullptr);

// The question that a trace answers, of the machine and the nodes that were asked for; a measured run with
// costs fitted to it. Fitting takes long, so not on the window's thread. An error where the trace does not
// have all of that: no other machine stands in.
Result<WhatIfSettings> settings_of(const traces::Trace& trace, const std::string& title);

// llama-3.1-8b on 8 H100.
WhatIfSettings default_settings();

// The same, with another model or machine of the catalogue, or with the keys that a file writes on what the
// question has without them.
Result<WhatIfSettings> with_model(WhatIfSettings settings, const std::string& name);
Result<WhatIfSettings> with_machine(WhatIfSettings settings, const std::string& id);
WhatIfSettings with_place_of(WhatIfSettings settings, const WhatIfSettings& other);
Result<WhatIfSettings> with_plan(const WhatIfSettings& settings, ConvertedPlan plan);

// `like`: of settings with the same question but for the plan, shares what plans do not change; may be null.
Result<Job> make_job(const WhatIfSettings& settings, const Job* like = nullptr);

}  // namespace foreshard::gui
