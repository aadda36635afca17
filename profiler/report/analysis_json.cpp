#include <algorithm>

#include <nlohmann/json.hpp>

#include "models/base/json_text.hpp"
#include "profiler/report/analysis_report.hpp"
#include "profiler/report/report_notes.hpp"

namespace foreshard::profiler {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kOwnersListed = 20;

void put(Json& json, const TimeBreakdown& time) {
  json["device_events"] = time.device_events;
  json["span_ns"] = time.span_ns;
  json["compute_ns"] = time.compute_ns;
  json["communication_ns"] = time.communication_ns;
  json["memory_operation_ns"] = time.memory_operation_ns;
  json["idle_ns"] = time.idle_ns;
  json["overlap_ns"] = time.overlap_ns;
  json["exposed_communication_ns"] = time.exposed_communication_ns;
}

void put_nothing(Json& json) {
  for (const char* const name :
       {"device_events", "span_ns", "compute_ns", "communication_ns", "memory_operation_ns",
        "idle_ns", "overlap_ns", "exposed_communication_ns"}) {
    json[name] = nullptr;
  }
}

Json json_of(const MemoryTimeline& timeline) {
  Json json{{"start_ns", timeline.start_ns}, {"bucket_ns", timeline.bucket_ns}};
  const auto put = [&](const std::string& counter, std::int64_t traces::MemoryLevels::*level) {
    Json highest = Json::array(), lowest = Json::array();
    for (const MemoryBucket& bucket : timeline.buckets) {
      highest.push_back(bucket.highest.*level);
      lowest.push_back(bucket.lowest.*level);
    }
    json[counter + "_max_bytes"] = std::move(highest);
    json[counter + "_min_bytes"] = std::move(lowest);
  };
  put("allocated", &traces::MemoryLevels::allocated);
  put("reserved", &traces::MemoryLevels::reserved);
  put("host", &traces::MemoryLevels::host);
  return json;
}

Json json_of(const RankWaits& one) {
  return {{"rank", one.rank},
          {"collectives", one.collectives},
          {"waited_ns", one.waited_ns},
          {"arrived_last", one.arrived_last},
          {"median_lag_ns", one.median_lag_ns}};
}

Json json_of(const SteadyStep& step) {
  Json causes = Json::array();
  for (const IdleCause& cause : step.causes) {
    causes.push_back({{"cause", cause.cause},
                      {"name", cause.name.empty() ? Json() : Json(cause.name)},
                      {"ns", cause.ns}});
  }
  return {{"compute_ns", step.time.compute_ns},
          {"communication_ns", step.time.communication_ns},
          {"exposed_communication_ns", step.time.exposed_communication_ns},
          {"memory_operation_ns", step.time.memory_operation_ns},
          {"idle_ns", step.time.idle_ns},
          {"idle_causes", std::move(causes)}};
}

Json json_of(const RankAnalysis& rank) {
  Json json{{"rank", rank.rank}, {"events", rank.events}};
  put(json, rank.time);
  Json gaps = Json::object();
  for (std::size_t cause = 0; cause < kGapCauses; ++cause) {
    gaps[name(static_cast<GapCause>(cause))] = rank.gaps[cause];
  }
  json["compute_gaps_ns"] = std::move(gaps);
  json["launches"] = {{"count", rank.launches.launches},
                      {"unknown", rank.launches.unknown},
                      {"call_ns", rank.launches.call_ns},
                      {"delay_ns", rank.launches.delay_ns},
                      {"longest_queue", rank.launches.longest_queue}};
  json["peak_allocated_bytes"] = rank.peak.allocated_bytes;
  json["peak_reserved_bytes"] = rank.peak.reserved_bytes;
  json["peak_host_bytes"] = rank.peak.host_bytes;
  json["peak_outside_bytes"] = rank.peak.outside_bytes;
  Json owners = Json::array();
  for (std::size_t i = 0; i < std::min(kOwnersListed, rank.peak.owners.size()); ++i) {
    const Owner& owner = rank.peak.owners[i];
    owners.push_back({{"name", owner.name}, {"bytes", owner.bytes}, {"blocks", owner.blocks}});
  }
  json["peak"] = {{"time_ns", rank.peak.time_ns},
                  {"step", rank.peak.step},
                  {"phase", rank.peak.phase},
                  {"reserved_bytes", rank.peak.reserved_then_bytes},
                  {"by_category_bytes", Json(rank.peak.by_category)},
                  {"owners", std::move(owners)}};
  json["memory_timeline"] = json_of(rank.memory_timeline);
  Json steps = Json::array();
  for (const StepAnalysis& step : rank.steps) {
    Json one{{"step", step.step},
             {"label", step.label.empty() ? Json() : Json(step.label)},
             {"start_ns", step.start_ns},
             {"duration_ns", step.duration_ns},
             {"host_wait_ns", step.host_wait_ns}};
    if (step.is_whole) {
      put(one, step.time);
    } else {
      put_nothing(one);
    }
    one["peak_allocated_bytes"] = step.peak_allocated_bytes;
    one["peak_reserved_bytes"] = step.peak_reserved_bytes;
    one["peak_host_bytes"] = step.peak_host_bytes;
    steps.push_back(std::move(one));
  }
  json["steps"] = std::move(steps);
  return json;
}

}  // namespace

std::string to_json(const Analysis& analysis) {
  Json json{{"question", analysis.question.empty() ? Json() : Json::parse(analysis.question)},
            {"complete", analysis.complete},
            {"complete_until_ns", analysis.complete_until_ns},
            {"dropped_records", analysis.dropped_records},
            {"predicted", analysis.predicted},
            {"step_time_ns", analysis.step_time_ns}};
  json["steady_step"] = analysis.steady_step ? json_of(*analysis.steady_step) : Json();
  json["ranks"] = Json::array();
  for (const RankAnalysis& rank : analysis.ranks) json["ranks"].push_back(json_of(rank));
  json["operators"] = Json::array();
  for (const OperatorTotal& one : analysis.operators) {
    json["operators"].push_back({{"name", one.name},
                                 {"category", one.category},
                                 {"count", one.count},
                                 {"total_ns", one.total_ns},
                                 {"self_ns", one.self_ns},
                                 {"shortest_ns", one.shortest_ns},
                                 {"longest_ns", one.longest_ns}});
  }
  json["cost_sources"] = Json::array();
  for (const CostSourceTotal& one : analysis.cost_sources) {
    json["cost_sources"].push_back(
        {{"source", name(one.source)}, {"count", one.count}, {"total_ns", one.total_ns}});
  }
  json["collectives"] = Json::array();
  for (const CollectiveCost& one : analysis.collectives) {
    json["collectives"].push_back({{"name", one.name},
                                   {"unit", one.unit},
                                   {"count", one.count},
                                   {"bytes", one.bytes},
                                   {"total_ns", one.total_ns},
                                   {"exposed_ns", one.exposed_ns}});
  }
  json["process_groups"] = Json::array();
  for (const GroupWaits& group : analysis.groups) {
    if (group.name.empty() && group.ranks.empty()) continue;
    Json waits = Json::array();
    for (const auto& [rank, one] : group.waits) waits.push_back(json_of(one));
    json["process_groups"].push_back({{"name", group.name},
                                      {"ranks", group.ranks},
                                      {"collectives", group.collectives},
                                      {"waits", std::move(waits)}});
  }
  json["rank_waits"] = Json::array();
  for (const RankWaits& one : analysis.waits) json["rank_waits"].push_back(json_of(one));
  Json parts = Json::array();
  for (const PathPart& part : analysis.path.parts) {
    parts.push_back(
        {{"name", part.name}, {"kind", part.kind}, {"count", part.count}, {"ns", part.ns}});
  }
  json["critical_path"] = {{"start_ns", analysis.path.start_ns},
                           {"end_ns", analysis.path.end_ns},
                           {"parts", std::move(parts)}};
  json["gpus_memory"] = Json::array();
  for (const GpuMemory& gpu : analysis.gpus) {
    json["gpus_memory"].push_back(Json::parse(to_json(gpu)));
  }
  json["gpu_libraries"] =
      analysis.gpu_libraries ? Json::parse(to_json(*analysis.gpu_libraries)) : Json();
  const auto ran_out = std::find_if(analysis.ranks.begin(), analysis.ranks.end(),
                                    [](const RankAnalysis& rank) { return rank.ran_out; });
  json["oom"] = ran_out == analysis.ranks.end() ? Json() : Json::parse(to_json(*ran_out->ran_out));
  json["warnings"] = recording_warnings(analysis);
  return json_text(json, 2);
}

}  // namespace foreshard::profiler
