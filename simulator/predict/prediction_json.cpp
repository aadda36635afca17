#include <nlohmann/json.hpp>

#include "models/base/json_text.hpp"
#include "models/program/attention_workspace.hpp"
#include "models/question/question_json.hpp"
#include "models/question/question_text.hpp"
#include "simulator/predict/prediction_report.hpp"

namespace foreshard::simulator {
namespace {

using nlohmann::ordered_json;

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

ordered_json peak_json(const Prediction& p) {
  ordered_json out = {{"rank", p.peak.rank},
                      {"phase", p.peak.phase},
                      {"unit", p.peak.unit},
                      {"by_category_bytes", p.peak.by_category}};
  for (const char* field : {"step", "micro_step", "operator", "requested_bytes", "allocated_bytes",
                            "reserved_bytes", "held", "pools", "explanation"}) {
    out[field] = nullptr;
  }
  if (!p.explanation) return out;
  const PeakExplanation& peak = *p.explanation;
  out["step"] = peak.step;
  if (peak.micro_step > 0) out["micro_step"] = peak.micro_step;
  out["operator"] = peak.operator_name;
  out["requested_bytes"] = peak.requested;
  out["allocated_bytes"] = peak.allocated;
  out["reserved_bytes"] = peak.reserved;
  out["held"] = ordered_json::array();
  for (const HeldMemory& held : peak.held) {
    out["held"].push_back({{"what", held.what}, {"owners", held.owners}, {"bytes", held.bytes}});
  }
  out["pools"] = ordered_json::array();
  for (const PoolMemory& pool : peak.pools) {
    out["pools"].push_back({{"stream", pool.stream},
                            {"reserved_bytes", pool.reserved},
                            {"allocated_bytes", pool.allocated},
                            {"awaiting_free_bytes", pool.awaiting_free},
                            {"unused_bytes", pool.unused()}});
  }
  out["explanation"] = peak_sentence(peak);
  return out;
}

ordered_json time_basis_json(const Prediction& p) {
  if (!p.time_basis) return nullptr;
  const TimeBasis& basis = *p.time_basis;
  ordered_json out = {{"half_width", basis.half_width},
                      {"standard_deviations", basis.quantile},
                      {"uncertainty_components", ordered_json::array()},
                      {"operators", ordered_json::array()},
                      {"recommended_measurement", nullptr}};
  for (const UncertaintyComponent& part : basis.components) {
    out["uncertainty_components"].push_back({{"name", part.name},
                                             {"share", part.share},
                                             {"standard_deviation", part.deviation},
                                             {"variance", part.variance},
                                             {"basis", part.basis}});
  }
  for (const OperatorBasis& op : basis.operators) {
    out["operators"].push_back({{"name", op.name},
                                {"source", name(op.source)},
                                {"count", op.count},
                                {"time_ns", op.ns},
                                {"standard_deviation", op.deviation},
                                {"basis", op.basis}});
  }
  if (basis.recommended) {
    out["recommended_measurement"] = {{"measurement", basis.recommended->measurement},
                                      {"half_width", basis.recommended->half_width}};
  }
  // Deprecated names, until 0.2 (docs/json.md).
  out["doubts"] = out["uncertainty_components"];
  out["narrowing"] = out["recommended_measurement"];
  return out;
}

ordered_json outside_json(const Prediction& p) {
  if (!p.outside) return nullptr;
  return {{"context", p.outside->context}, {"libraries", p.outside->libraries},
          {"nccl", p.outside->nccl},       {"total", p.outside->bytes()},
          {"low", p.outside->low},         {"high", p.outside->high}};
}

ordered_json remedies_json(const Prediction& p) {
  if (!p.remedies) return nullptr;
  ordered_json out = ordered_json::array();
  for (const Remedy& remedy : p.remedies->changes) {
    out.push_back({{"change", remedy.change},
                   {"peak_reserved_bytes", remedy.peak_reserved},
                   {"fits", remedy.fits},
                   {"step_time_ns", nullptr}});
    if (remedy.step_time) out.back()["step_time_ns"] = remedy.step_time->count();
  }
  return out;
}

ordered_json checkpoint_json(const Prediction& p) {
  if (!p.checkpoint) return nullptr;
  const auto& [storage, sharded, full] = *p.checkpoint;
  const auto if_known = [](const std::optional<std::int64_t>& ns) {
    return ns ? ordered_json(*ns) : ordered_json();
  };
  return {{"storage", storage.empty() ? ordered_json() : ordered_json(storage)},
          {"bytes", sharded.bytes},
          {"sharded",
           {{"writers", sharded.writers},
            {"rank_bytes", sharded.rank_bytes},
            {"staging_bytes", sharded.staging_bytes},
            {"async_blocking_ns", if_known(sharded.blocking_ns)},
            {"write_ns", if_known(sharded.write_ns)},
            {"read_ns", if_known(sharded.read_ns)}}},
          {"full",
           {{"device_bytes", full.device_bytes},
            {"host_bytes", full.host_bytes},
            {"gather_ns", if_known(full.gather_ns)},
            {"write_ns", if_known(full.write_ns)},
            {"read_ns", if_known(full.read_ns)}}}};
}

}  // namespace

std::string memory_json(const Prediction& prediction) {
  return ordered_json{{"peak", peak_json(prediction)},
                      {"outside_allocator_bytes", outside_json(prediction)}}
      .dump();
}

std::string prediction_json(const Job& job, const Prediction& p) {
  ordered_json out = {{"question", ordered_json::parse(question_json(job))},
                      {"assumed", assumptions(job)},
                      {"model", job.model.name},
                      {"ranks", job.ranks},
                      {"fits", p.fits},
                      {"oom", nullptr}};
  if (p.oom) out["oom"] = ordered_json::parse(foreshard::to_json(*p.oom));
  const bool has_time = p.step_time.count() > 0;
  const auto if_timed = [&](auto value) { return has_time ? ordered_json(value) : ordered_json(); };
  out["step_time_ns"] = if_timed(p.step_time.count());
  out["step_time_low_ns"] = if_timed(p.step_time_low.count());
  out["step_time_high_ns"] = if_timed(p.step_time_high.count());
  out["tokens_per_s"] = if_timed(p.tokens_per_s);
  out["mfu"] = p.has_plausible_mfu() ? if_timed(p.mfu) : ordered_json();
  out["mfu_convention"] = kMfuConvention;
  out["exposed_communication_ns"] = if_timed(p.exposed_communication.count());
  const std::string_view attention = attention_kernel(job);
  out["attention"] = attention.empty() ? ordered_json() : ordered_json(attention);
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
  out["peak"] = peak_json(p);
  out["outside_allocator_bytes"] = outside_json(p);
  out["cost_sources"] = {{"measured", p.cost_sources.measured},
                         {"fitted", p.cost_sources.fitted},
                         {"modelled", p.cost_sources.modelled},
                         {"unknown", p.cost_sources.unknown}};
  add_path(out, p);
  out["step_time_basis"] = time_basis_json(p);
  out["needed_reserved_bytes"] =
      p.remedies ? ordered_json(p.remedies->present.peak_reserved) : ordered_json();
  out["remedies"] = remedies_json(p);
  out["checkpoint"] = checkpoint_json(p);
  out["prediction_ns"] = p.prediction_time.count();
  out["warnings"] = p.warnings;
  return json_text(out, 2);
}

}  // namespace foreshard::simulator
