#include "simulator/predict/prediction_report.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "models/base/figures.hpp"
#include "models/base/json_text.hpp"

namespace foreshard::simulator {
namespace {

using nlohmann::ordered_json;

// Beyond it the warnings have the figure.
bool has_plausible_mfu(const Prediction& p) {
  return p.mfu <= 1;
}

constexpr const char* kMfuConvention =
    "6 N + 12 L H Q T model FLOPs per token, causal mask not deducted, as in PaLM and torchtitan";

ordered_json shares_json(const std::vector<PathPart>& parts, std::int64_t length) {
  ordered_json out = ordered_json::array();
  for (const PathPart& part : parts) {
    out.push_back({{"name", part.name},
                   {"kind", part.kind},
                   {"count", part.count},
                   {"share", static_cast<double>(part.ns) / static_cast<double>(length)}});
  }
  return out;
}

// Null where the step has no time.
void add_path(ordered_json& out, const Prediction& p) {
  for (const char* field :
       {"critical_path", "critical_path_units", "critical_path_communication_share", "slack"}) {
    out[field] = nullptr;
  }
  if (!p.path) return;
  const std::int64_t length = p.path->length_ns;
  out["critical_path"] = shares_json(p.path->parts, length);
  out["critical_path_units"] = shares_json(p.path->units, length);
  out["critical_path_communication_share"] =
      static_cast<double>(p.path->communication_ns) / static_cast<double>(length);
  out["slack"] = ordered_json::array();
  for (const Slack& slack : p.path->slack) {
    out["slack"].push_back({{"name", slack.name}, {"slack_ns", slack.ns}});
  }
}

std::string path_text(const StepPath& path) {
  constexpr std::size_t kShown = 6, kUnitsShown = 2, kSlackShown = 3;
  const auto share = [&](std::int64_t ns) {
    return 100 * static_cast<double>(ns) / static_cast<double>(path.length_ns);
  };
  const auto list = [&](const std::vector<PathPart>& parts, std::size_t shown) {
    std::string text;
    for (std::size_t i = 0; i < std::min(shown, parts.size()); ++i) {
      text += (i == 0 ? "" : ", ") + parts[i].name + formatted(" %.1f %%", share(parts[i].ns));
    }
    return text;
  };
  std::string text = formatted("Critical path: %s; communication %.1f %%.\n",
                               list(path.parts, kShown).c_str(), share(path.communication_ns));
  if (!path.units.empty()) {
    text += "Units on the critical path: " + list(path.units, kUnitsShown) +
            (path.units.size() > kUnitsShown ? ", and others" : "") + ".\n";
  }
  // What has slack could be slower, or later, by so much without the step taking longer.
  std::string slack;
  std::size_t shown = 0;
  for (const Slack& s : path.slack) {
    if (s.ns == 0 || shown == kSlackShown) continue;
    slack += (shown++ == 0 ? "" : ", ") + s.name + " " + duration(s.ns);
  }
  if (shown > 0) text += "Least slack off the critical path: " + slack + ".\n";
  return text;
}

}  // namespace

std::string prediction_json(const Job& job, const Prediction& p) {
  ordered_json out = {
      {"model", job.model.name}, {"ranks", job.ranks}, {"fits", p.fits}, {"oom", nullptr}};
  if (p.oom) out["oom"] = ordered_json::parse(foreshard::to_json(*p.oom));
  const bool has_time = p.step_time.count() > 0;
  const auto if_timed = [&](auto value) { return has_time ? ordered_json(value) : ordered_json(); };
  out["step_time_ns"] = if_timed(p.step_time.count());
  out["step_time_low_ns"] = if_timed(p.step_time_low.count());
  out["step_time_high_ns"] = if_timed(p.step_time_high.count());
  out["tokens_per_s"] = if_timed(p.tokens_per_s);
  out["mfu"] = has_plausible_mfu(p) ? if_timed(p.mfu) : ordered_json();
  out["mfu_convention"] = kMfuConvention;
  out["exposed_communication_ns"] = if_timed(p.exposed_communication.count());
  out["ranks_memory"] = ordered_json::array();
  for (const auto& r : p.ranks_memory) {
    ordered_json entry = {{"rank", r.rank}};
    add_peaks(entry, r.peaks);
    entry["peak_host_bytes"] = r.peak_host;
    out["ranks_memory"].push_back(std::move(entry));
  }
  out["steps_memory"] = ordered_json::array();
  for (const auto& s : p.steps_memory) {
    ordered_json entry = {{"step", s.step}, {"rank", s.rank}};
    add_peaks(entry, s.peaks);
    out["steps_memory"].push_back(std::move(entry));
  }
  out["peak"] = {
      {"phase", p.peak.phase}, {"unit", p.peak.unit}, {"by_category_bytes", p.peak.by_category}};
  out["cost_sources"] = {{"measured", p.cost_sources.measured},
                         {"fitted", p.cost_sources.fitted},
                         {"modelled", p.cost_sources.modelled},
                         {"unknown", p.cost_sources.unknown}};
  add_path(out, p);
  out["prediction_ns"] = p.prediction_time.count();
  out["warnings"] = p.warnings;
  return json_text(out, 2);
}

std::string prediction_text(const Job& job, const Prediction& p) {
  std::string text;
  const auto& top = p.ranks_memory[static_cast<std::size_t>(p.peak.rank)];
  if (p.fits) {
    text += formatted("%s on %s fits: %s allocated, %s reserved at the peak of rank %d (%s%s%s).\n",
                      job.model.name.c_str(), plural(job.ranks, "rank").c_str(),
                      binary_bytes(top.peaks.allocated).c_str(),
                      binary_bytes(top.peaks.reserved).c_str(), p.peak.rank, p.peak.phase.c_str(),
                      p.peak.unit.empty() ? "" : ", ", p.peak.unit.c_str());
  } else {
    text += formatted(
        "%s on %s does not fit: in step %lld rank %d cannot allocate %s for %s (%s%s%s)\n"
        "with %s allocated and %s reserved.\n",
        job.model.name.c_str(), plural(job.ranks, "rank").c_str(),
        static_cast<long long>(p.oom->step), p.oom->rank,
        binary_bytes(p.oom->request.requested).c_str(), p.oom->operator_name.c_str(),
        p.oom->phase.c_str(), p.oom->unit.empty() ? "" : ", ", p.oom->unit.c_str(),
        binary_bytes(p.oom->request.allocated).c_str(),
        binary_bytes(p.oom->request.reserved).c_str());
  }
  if (p.step_time.count() > 0) {
    text +=
        formatted("A step takes %s (90 %%: %s to %s): %.0f tokens/s",
                  duration(p.step_time.count()).c_str(), duration(p.step_time_low.count()).c_str(),
                  duration(p.step_time_high.count()).c_str(), p.tokens_per_s);
    if (has_plausible_mfu(p)) {
      text += formatted(", %.1f %% MFU (as counted by PaLM and torchtitan)", 100 * p.mfu);
    }
    if (p.exposed_communication.count() > 0) {
      text += ", " + duration(p.exposed_communication.count()) + " of exposed communication";
    }
    text += ".\n";
    text += path_text(*p.path);
  } else if (p.fits) {
    text += "The step time is unknown.\n";
  }
  text +=
      formatted("Costs: %lld measured, %lld fitted, %lld modelled, %lld unknown.\n\nAt the peak:\n",
                static_cast<long long>(p.cost_sources.measured),
                static_cast<long long>(p.cost_sources.fitted),
                static_cast<long long>(p.cost_sources.modelled),
                static_cast<long long>(p.cost_sources.unknown));
  std::vector<std::pair<std::int64_t, std::string>> rows;
  for (const auto& [category, bytes] : p.peak.by_category) {
    if (bytes > 0) rows.emplace_back(bytes, category);
  }
  std::sort(rows.rbegin(), rows.rend());
  for (const auto& [bytes, category] : rows) {
    text += formatted("  %-22s %12s\n", category.c_str(), binary_bytes(bytes).c_str());
  }
  return text;
}

}  // namespace foreshard::simulator
