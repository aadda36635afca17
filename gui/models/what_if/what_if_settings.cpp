#include "gui/models/what_if/what_if_settings.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <utility>

#include "models/hardware/device_names.hpp"
#include "simulator/fit/fit.hpp"
#include "traces/metadata.hpp"

namespace foreshard::gui {
namespace {

std::string text_of(const traces::Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string() : found->second;
}

// Costs fitted to it; what cannot be fitted, such as a prediction, is predicted for the default.
CostBasisPtr basis_of(const traces::Trace& trace, const std::string& title) {
  const auto fitted = simulator::fit({{title, &trace}});
  if (!fitted) return default_settings().costs;
  auto basis = std::make_shared<CostBasis>();
  basis->name =
      QCoreApplication::translate("WhatIf", "as measured in %1").arg(QString::fromStdString(title));
  if (fitted->table.is_accelerator) {
    basis->machine = machine_reported_as(fitted->table.machine_name);
  }
  basis->table = std::move(fitted->table);
  return basis;
}

}  // namespace

simulator::PredictionOptions CostBasis::options() const {
  simulator::PredictionOptions options;
  options.costs = table ? &*table : nullptr;
  options.machine = machine ? &*machine : nullptr;
  return options;
}

QString WhatIfSettings::title() const {
  return QStringLiteral("%1 · %2 × %3")
      .arg(QString::fromStdString(model.name))
      .arg(ranks)
      .arg(costs->name);
}

CostBasisPtr machine_basis(const std::string& id) {
  auto machine = load_machine(id);
  if (!machine) return nullptr;
  auto basis = std::make_shared<CostBasis>();
  basis->name = QString::fromStdString(machine->name.empty() ? machine->id : machine->name);
  basis->machine = std::move(*machine);
  return basis;
}

WhatIfSettings default_settings() {
  WhatIfSettings settings;
  settings.model = *load_llama_config("llama-3.1-8b");
  settings.costs = machine_basis("h100-sxm");
  settings.ranks = 8;
  return settings;
}

Result<WhatIfSettings> settings_of(const traces::Trace& trace, const std::string& title) {
  const std::string model = text_of(trace.metadata, "model");
  const std::string plan = text_of(trace.metadata, "plan");
  if (model.empty() || plan.empty()) {
    return fail(title, "", "holds no model and plan; expected a recording or prediction of one");
  }
  auto config = parse_llama_config(model, title);
  if (!config) return tl::unexpected(config.error());
  const auto parsed = parse_plan(plan, title);
  if (!parsed) return tl::unexpected(parsed.error());
  const auto ranks = traces::integer_between(trace.metadata, "ranks", 1, 1 << 20, 1, title);
  if (!ranks) return tl::unexpected(ranks.error());
  WhatIfSettings settings;
  settings.model = std::move(*config);
  for (const std::string& name : bundled_models()) {
    auto bundled = load_llama_config(name);
    bundled->name = settings.model.name;
    if (*bundled == settings.model) settings.model.name = name;
  }
  settings.plan = SpeltPlan(*parsed);
  settings.ranks = static_cast<int>(*ranks);
  settings.costs = basis_of(trace, title);
  settings.nodes = static_cast<int>(ceil_divide(settings.ranks, settings.costs->ranks_per_node()));
  return settings;
}

}  // namespace foreshard::gui
