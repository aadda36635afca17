#include "gui/models/what_if/what_if_settings.hpp"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include "gui/models/base/words.hpp"
#include "models/base/assertion.hpp"
#include "models/hardware/device_names.hpp"
#include "models/question/question_json.hpp"
#include "models/sharding/cuda_device.hpp"
#include "models/sharding/pytorch_device.hpp"
#include "simulator/fit/fit.hpp"
#include "traces/metadata.hpp"
#include "traces/recorded_question.hpp"

namespace foreshard::gui {
namespace {

constexpr Words named("WhatIf");

// Errors of the command line's options are those of the controls.
template <typename T>
Result<T> renamed(Result<T> result) {
  if (result) return result;
  Error error = result.error();
  if (error.field.starts_with("--")) error.field.erase(0, 2);
  return tl::unexpected(std::move(error));
}

Result<DeviceTraits> gpu_of(const std::optional<Machine>& machine) {
  const auto gpu = machine ? cuda_device(*machine) : std::nullopt;
  if (gpu) return *gpu;
  return fail("", "machine",
              "has no GPU that Foreshard's kernels are made for; expected an NVIDIA GPU of compute "
              "capability 8.0 or later, or other operators");
}

Result<DeviceTraits> device_called(const std::string& device,
                                   const std::optional<Machine>& machine) {
  return device == "cpu" ? DeviceTraits{} : gpu_of(machine);
}

bool is_foreshards(const SpeltPlan& plan) {
  return plan.value("operators") == in_quotes("foreshard");
}

Result<WhatIfSettings> settings_of(const Asked& asked, CostsPtr costs, const OwnDevice& device) {
  RecordedBy recorded;
  if (costs != nullptr) {
    if (costs->table.is_accelerator) {
      recorded.machine = machine_reported_as(costs->table.machine_name);
    }
    recorded.operators = operators_in(costs->table.question);
  }
  auto question = question_of(asked, recorded, device);
  if (!question) return tl::unexpected(question.error());
  SpeltPlan plan(question->plan);
  // Other operators may be chosen later.
  if (!is_foreshards(plan))
    question->own_device = gpu_of(question->machine).value_or(DeviceTraits{});
  return WhatIfSettings{std::move(*question), std::move(plan), std::move(costs)};
}

// Of a prediction of an earlier version, which has the machine's name alone.
std::string machine_of_earlier(const traces::Metadata& metadata) {
  const auto sheet = metadata.find("data_sheet");
  if (sheet == metadata.end()) return {};
  for (const Machine& machine : bundled_machines()) {
    if (machine.name == sheet->second || machine.id == sheet->second) return machine.id;
  }
  return {};
}

Result<CostsPtr> fitted_to(const traces::Trace& trace, const std::string& title) {
  auto fitted = simulator::fit({{title, &trace}});
  if (!fitted) return tl::unexpected(fitted.error());
  return std::make_shared<const NamedCosts>(NamedCosts{
      named("as measured in %1").arg(QString::fromStdString(title)), std::move(fitted->table)});
}

Result<CostsPtr> costs_in(const std::string& path) {
  auto table = simulator::load_cost_table(path);
  if (!table) return tl::unexpected(table.error());
  const std::string name = std::filesystem::path(path).filename().string();
  return std::make_shared<const NamedCosts>(
      NamedCosts{QString::fromStdString(name), std::move(*table)});
}

}  // namespace

Result<Question> WhatIfSettings::asked() const {
  auto valid = plan.plan();
  if (!valid) return tl::unexpected(valid.error());
  Question asks = question;
  asks.plan = std::move(*valid);
  if (asks.plan.operators != OperatorSetName::foreshard) {
    asks.own_device = {};
  } else if (asks.own_device.kind == DeviceKind::cpu && !asks.machine_id.empty()) {
    if (auto gpu = gpu_of(asks.machine); !gpu) return tl::unexpected(gpu.error());
  }
  return asks;
}

simulator::PredictionOptions WhatIfSettings::options() const {
  simulator::PredictionOptions options;
  options.costs = costs == nullptr ? nullptr : &costs->table;
  options.machine = question.machine_id.empty() ? nullptr : &*question.machine;
  return options;
}

int WhatIfSettings::fewest_nodes() const {
  if (!question.machine) return 1;
  return static_cast<int>(ceil_divide(question.ranks, question.machine->gpus_per_node));
}

QString WhatIfSettings::place() const {
  if (costs != nullptr) return costs->name;
  const auto name = [](const Machine& machine) {
    return QString::fromStdString(machine.name.empty() ? machine.id : machine.name);
  };
  if (question.machine) return name(*question.machine);
  const bool is_here = is_foreshards(plan);
  return is_here ? named("this machine's CPU")
                 : named("%1, assumed").arg(name(default_pytorch_machine()));
}

QString WhatIfSettings::title() const {
  return QStringLiteral("%1 · %2 × %3")
      .arg(QString::fromStdString(question.model.name))
      .arg(question.ranks)
      .arg(place());
}

bool WhatIfSettings::operator==(const WhatIfSettings& other) const {
  const auto parts = [](const WhatIfSettings& s) {
    const Question& q = s.question;
    return std::tie(s.plan, s.costs, q.ranks, q.nodes, q.machine_id, q.costs, q.model_path, q.model,
                    q.machine, q.own_device);
  };
  return parts(*this) == parts(other);
}

Result<WhatIfSettings> settings_of(Asked asked, CostsPtr costs) {
  if (costs == nullptr && !asked.costs.empty()) {
    auto read = costs_in(asked.costs);
    if (!read) return tl::unexpected(read.error());
    costs = std::move(*read);
    if (asked.machine.empty() && costs->table.rates) asked.machine = costs->table.rates->machine;
  }
  return renamed(settings_of(asked, std::move(costs), device_called));
}

Result<WhatIfSettings> settings_of(const traces::Trace& trace, const std::string& title) {
  auto asked = traces::recorded_question(trace.metadata, title);
  if (!asked) return tl::unexpected(asked.error());
  if (asked->model.empty()) {
    for (const std::string& name : bundled_models()) {
      auto bundled = load_llama_config(name);
      bundled->name = asked->config->name;
      if (*bundled == *asked->config) asked->model = name;
    }
  }
  Result<CostsPtr> costs = nullptr;
  if (traces::integer(trace.metadata, "predicted", 0) != 1) {
    costs = fitted_to(trace, title);
    if (!costs) return tl::unexpected(costs.error());
    asked->costs.clear();
    const simulator::CostTable& table = (*costs)->table;
    const auto machine =
        table.is_accelerator ? machine_reported_as(table.machine_name) : std::nullopt;
    if (asked->machine.empty() && machine) asked->machine = machine->id;
  } else if (!asked->costs.empty()) {
    costs = costs_in(asked->costs);
    if (!costs) return tl::unexpected(costs.error());
  } else if (trace.metadata.count(traces::kQuestionKey) == 0) {
    asked->machine = machine_of_earlier(trace.metadata);
    if (asked->machine.empty()) {
      return fail(title, "question",
                  "does not say what its times are of: an earlier version wrote the prediction; "
                  "expected one of `foreshard predict --trace` of this version");
    }
  }
  return renamed(settings_of(*asked, std::move(*costs), [&](const auto&, const auto&) {
    return traces::recorded_device(trace.metadata, title);
  }));
}

WhatIfSettings default_settings() {
  Asked asked;
  asked.model = "llama-3.1-8b";
  asked.ranks = 8;
  asked.machine = "h100-sxm";
  auto settings = settings_of(std::move(asked));
  FORESHARD_ASSERT(settings.has_value(), "model and machine are bundled");
  return std::move(*settings);
}

Result<WhatIfSettings> with_model(WhatIfSettings settings, const std::string& name) {
  auto model = load_llama_config(name);
  if (!model) return tl::unexpected(model.error());
  settings.question.model = std::move(*model);
  settings.question.model_path = name;
  return settings;
}

Result<WhatIfSettings> with_machine(WhatIfSettings settings, const std::string& id) {
  auto machine = load_machine(id);
  if (!machine) return tl::unexpected(machine.error());
  WhatIfSettings place;
  place.question.machine = std::move(*machine);
  place.question.machine_id = id;
  place.question.own_device = gpu_of(place.question.machine).value_or(DeviceTraits{});
  return with_place_of(std::move(settings), place);
}

// On as many nodes, or those that hold the ranks.
WhatIfSettings with_place_of(WhatIfSettings settings, const WhatIfSettings& other) {
  Question& question = settings.question;
  const int nodes = settings.nodes();
  question.machine = other.question.machine;
  question.machine_id = other.question.machine_id;
  question.own_device = other.question.own_device;
  question.costs = other.question.costs;
  question.nodes = std::max(nodes, settings.fewest_nodes());
  settings.costs = other.costs;
  return settings;
}

Result<WhatIfSettings> with_plan(const WhatIfSettings& settings, ConvertedPlan plan) {
  const Question& question = settings.question;
  Asked asked;
  asked.model = question.model_path;
  asked.config = question.model;
  asked.plan = std::move(plan);
  asked.ranks = question.ranks;
  if (question.nodes > 0) asked.nodes = question.nodes;
  asked.machine = question.machine_id;
  asked.costs = question.costs;
  return settings_of(std::move(asked), settings.costs);
}

Result<Job> make_job(const WhatIfSettings& settings, const Job* like) {
  auto asked = settings.asked();
  if (!asked) return tl::unexpected(asked.error());
  const bool has_like = like != nullptr && like->plan.operators == asked->plan.operators;
  return renamed(has_like ? replan(*like, asked->plan, "")
                          : foreshard::make_job(std::move(*asked), ""));
}

}  // namespace foreshard::gui
