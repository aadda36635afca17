#include <algorithm>
#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

#include "models/base/json_text.hpp"
#include "profiler/report/analysis_report.hpp"
#include "profiler/report/report_notes.hpp"

namespace foreshard::profiler {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kOwnersListed = 20;

Json figure_if(bool is_known, std::int64_t figure) {
  return is_known ? Json(figure) : Json();
}

// Null where the recording has no figure of it, which its reader keeps as 0.
Json known(std::int64_t figure) {
  return figure_if(figure != 0, figure);
}

// Which levels of memory a recording has of a rank.
struct RecordedMemory {
  bool any, reserved, host;

  RecordedMemory(const Analysis& analysis, const RankAnalysis& rank)
      : any(!rank.memory_timeline.buckets.empty()),
        reserved(any && (rank.peak.reserved_bytes > 0 || rank.peak.allocated_bytes == 0)),
        host(any && analysis.source != "snapshot" && analysis.source != "event_list") {}
};

void put_peaks(Json& json, const RecordedMemory& has, std::int64_t allocated, std::int64_t reserved,
               std::int64_t host) {
  json["peak_allocated_bytes"] = figure_if(has.any, allocated);
  json["peak_reserved_bytes"] = figure_if(has.reserved, reserved);
  json["peak_host_bytes"] = figure_if(has.host, host);
}

// In the order of kTimes.
constexpr std::array<const char*, kTimes.size()> kTimeNames{
    "device_events",       "span_ns", "compute_ns", "communication_ns",
    "memory_operation_ns", "idle_ns", "overlap_ns", "exposed_communication_ns"};

// Null of what is not known.
void put(Json& json, const TimeBreakdown& time, bool is_known = true) {
  for (std::size_t i = 0; i < kTimes.size(); ++i) {
    json[kTimeNames[i]] = is_known ? Json(time.*kTimes[i]) : Json();
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

Json json_of(const CollectiveCost& one) {
  const bool has_size = is_collective(one.key.op);
  const auto bandwidths = bandwidth(one);
  const auto per_second = [&](double CollectiveBandwidth::*gb_s) {
    return bandwidths ? Json(std::llround(1e9 * (*bandwidths).*gb_s)) : Json();
  };
  return {{"name", one.name},
          {"unit", one.unit},
          {"operation", has_size ? Json(name(one.key.op)) : Json()},
          {"group", one.group.empty() ? Json() : Json(one.group)},
          {"ranks", figure_if(has_size, one.key.dims[1])},
          {"size_bytes", figure_if(has_size, one.key.dims[0])},
          {"count", one.count},
          {"bytes", known(one.bytes)},
          {"total_ns", one.total_ns},
          {"exposed_ns", one.exposed_ns},
          {"matched", one.matched},
          {"transfer_ns", figure_if(one.matched > 0, one.transfer_ns)},
          {"algorithm_bytes_per_s", per_second(&CollectiveBandwidth::algorithm_gb_s)},
          {"bus_bytes_per_s", per_second(&CollectiveBandwidth::bus_gb_s)}};
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
  const auto per_second = [&](double amount) {
    return 1e9 * amount / static_cast<double>(std::max<std::int64_t>(step.time.span_ns, 1));
  };
  const StepWork work = step.work.value_or(StepWork());
  const bool has_mfu = work.mfu && *work.mfu <= 1;
  return {{"compute_ns", step.time.compute_ns},
          {"communication_ns", step.time.communication_ns},
          {"exposed_communication_ns", step.time.exposed_communication_ns},
          {"memory_operation_ns", step.time.memory_operation_ns},
          {"idle_ns", step.time.idle_ns},
          {"idle_causes", std::move(causes)},
          {"flops", step.work ? Json(work.flops) : Json()},
          {"mfu", has_mfu ? Json(*work.mfu) : Json()},
          {"known_shapes_share", step.work ? Json(work.known_share) : Json()},
          {"tokens_per_s_per_rank", work.tokens ? Json(per_second(*work.tokens)) : Json()}};
}

Json json_of(const SlowestStep& slowest) {
  const IdleCause& most = slowest.difference;
  return {{"step", slowest.step},
          {"duration_ns", slowest.duration_ns},
          {"median_ns", slowest.median_ns},
          {"largest_difference",
           {{"part", most.cause},
            {"name", most.name.empty() ? Json() : Json(most.name)},
            {"ns", most.ns}}},
          {"parts", json_of(slowest.parts)}};
}

Json json_of(const MemoryPeak& peak, const RecordedMemory& has) {
  Json owners = Json::array();
  for (std::size_t i = 0; i < std::min(kOwnersListed, peak.owners.size()); ++i) {
    const Owner& owner = peak.owners[i];
    owners.push_back({{"name", owner.name}, {"bytes", owner.bytes}, {"blocks", owner.blocks}});
  }
  return {{"time_ns", peak.time_ns},
          {"step", peak.step},
          {"phase", peak.phase},
          {"reserved_bytes", figure_if(has.reserved, peak.reserved_then_bytes)},
          {"by_category_bytes", Json(peak.by_category)},
          {"owners", std::move(owners)}};
}

Json json_of(const Analysis& analysis, const RankAnalysis& rank) {
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
  const RecordedMemory has(analysis, rank);
  put_peaks(json, has, rank.peak.allocated_bytes, rank.peak.reserved_bytes, rank.peak.host_bytes);
  json["peak_outside_bytes"] = known(rank.peak.outside_bytes);
  json["peak"] = has.any ? json_of(rank.peak, has) : Json();
  json["memory_timeline"] = json_of(rank.memory_timeline);
  Json steps = Json::array();
  for (const StepAnalysis& step : rank.steps) {
    Json one{{"step", step.step},
             {"label", step.label.empty() ? Json() : Json(step.label)},
             {"start_ns", step.start_ns},
             {"duration_ns", step.duration_ns},
             {"host_wait_ns", step.host_wait_ns}};
    put(one, step.time, step.is_whole);
    put_peaks(one, has, step.peak_allocated_bytes, step.peak_reserved_bytes, step.peak_host_bytes);
    steps.push_back(std::move(one));
  }
  json["steps"] = std::move(steps);
  return json;
}

Json json_of(const Analysis& analysis) {
  Json dropped = Json::array();
  for (const auto& [reason, records] : analysis.dropped) {
    dropped.push_back({{"reason", reason}, {"records", records}});
  }
  Json json{{"question", analysis.question.empty() ? Json() : Json::parse(analysis.question)},
            {"selection", analysis.selection.empty() ? Json() : Json(analysis.selection)},
            {"complete", analysis.complete},
            {"complete_until_ns", analysis.complete_until_ns},
            {"dropped_records", analysis.dropped_records},
            {"dropped", std::move(dropped)},
            {"missing_ranks", analysis.missing_ranks},
            {"source", analysis.source.empty() ? "foreshard" : analysis.source},
            {"predicted", analysis.predicted},
            {"step_time_ns", known(analysis.step_time_ns)}};
  json["steady_step"] = analysis.steady_step ? json_of(*analysis.steady_step) : Json();
  json["slowest_step"] = analysis.slowest_step ? json_of(*analysis.slowest_step) : Json();
  json["ranks"] = Json::array();
  for (const RankAnalysis& rank : analysis.ranks) json["ranks"].push_back(json_of(analysis, rank));
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
    json["collectives"].push_back(json_of(one));
  }
  json["units"] = Json::array();
  for (const UnitTimes& one : analysis.units.units) {
    json["units"].push_back({{"unit", one.unit},
                             {"gather_ns", one.gather_ns},
                             {"compute_ns", one.compute_ns},
                             {"reduce_ns", one.reduce_ns},
                             {"late_ns", one.late_ns}});
  }
  const std::string& late = analysis.units.first_late;
  json["first_late_unit"] = late.empty() ? Json() : Json(late);
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
  return json;
}

}  // namespace

std::string to_json(const Analysis& analysis) {
  return json_text(json_of(analysis), 2);
}

std::string to_json(const std::vector<NamedAnalysis>& recordings) {
  Json list = Json::array();
  for (const NamedAnalysis& one : recordings) {
    Json json{{"file", one.file}};
    json.update(json_of(one.analysis));
    list.push_back(std::move(json));
  }
  return json_text(Json{{"recordings", std::move(list)}}, 2);
}

}  // namespace foreshard::profiler
