#include <nlohmann/json.hpp>

#include "models/base/json_text.hpp"
#include "profiler/replay/replay_report.hpp"

namespace foreshard::profiler {
namespace {

using nlohmann::ordered_json;

template <typename Value>
ordered_json or_null(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json group_json(const HolderGroup& group) {
  return {{"category", group.category},
          {"role", group.role},
          {"blocks", group.blocks},
          {"block_bytes", group.block_bytes},
          {"bytes", group.bytes}};
}

ordered_json fragmentation_json(const Fragmentation& f) {
  return {{"reserved_bytes", f.reserved},
          {"allocated_bytes", f.allocated},
          {"fragmentation_bytes", f.reserved - f.allocated},
          {"largest_free_block_bytes", f.largest_free}};
}

ordered_json contents_json(const MemoryHolders& contents) {
  ordered_json json = {{"time_ns", contents.time_ns},
                       {"out_of_memory", contents.out_of_memory},
                       {"requested_bytes", contents.requested},
                       {"allocated_bytes", contents.allocated},
                       {"by_category_bytes", ordered_json::object()},
                       {"groups", ordered_json::array()},
                       {"gathered", ordered_json::array()}};
  for (const auto& group : contents.categories) {
    json["by_category_bytes"][group.category] = group.bytes;
  }
  for (const auto& group : contents.groups) json["groups"].push_back(group_json(group));
  for (const auto& group : contents.gathered) {
    ordered_json entry = group_json(group.made);
    entry["most_blocks_at_once"] = group.peak_live;
    entry["blocks_left"] = group.left;
    json["gathered"].push_back(std::move(entry));
  }
  return json;
}

ordered_json what_if_json(const WhatIf& what_if) {
  const Outcome& o = what_if.outcome;
  return {{"change", what_if.change},
          {"how", what_if.how},
          {"fits", !o.failure.has_value()},
          {"ooms", o.failures},
          {"peak_reserved_bytes", o.peak_reserved},
          {"peak_allocated_bytes", o.peak_allocated},
          {"spare_bytes", or_null(o.headroom)},
          {"first_failure_event", or_null(o.failed_at)}};
}

}  // namespace

std::string to_json(const ReplayAnswer& a) {
  const AllocatorStatistics& statistics = a.result.statistics;
  ordered_json json = {
      {"events", a.events},
      {"peak_allocated_bytes", statistics.peak_allocated},
      {"peak_reserved_bytes", statistics.peak_reserved},
      {"segments_allocated", statistics.segments_allocated},
      {"segments_released", statistics.segments_released},
      {"ooms", a.result.failures.size()},
      {"addresses_equal", a.result.addresses_equal},
      {"addresses_total", a.result.addresses_total},
      {"peak_active_bytes", statistics.peak_active},
      {"answer", replay_sentences(a)},
      {"fits", !a.outcome.failure.has_value()},
      {"spare_bytes", or_null(a.outcome.headroom)},
      {"first_failure_event", or_null(a.outcome.failed_at)},
      {"complete", a.incomplete_reason.empty()},
      {"trouble", a.incomplete_reason.empty() ? ordered_json() : ordered_json(a.incomplete_reason)},
      {"contradictions", a.inconsistent_events},
      {"events_left_out", a.skipped_events},
      {"device", or_null(a.device)},
      {"settings", a.settings},
      {"capacity_bytes", or_null(a.capacity)}};
  json["recorded"] = {{"peak_reserved_bytes", a.recorded.peak_reserved},
                      {"segments_allocated", a.recorded.segments_allocated},
                      {"segments_released", a.recorded.segments_released},
                      {"ooms", a.recorded.out_of_memory},
                      {"first_failure_event", or_null(a.recorded_failure)},
                      {"addresses_equal", a.recorded_replay.addresses_equal},
                      {"is_reproduced", a.reproduces_recording()}};
  json["at_peak_reserved"] = fragmentation_json(a.at_peak);
  json["failures"] = ordered_json::array();
  for (const OutOfMemory& failure : a.result.failures) {
    json["failures"].push_back({{"requested_bytes", failure.requested},
                                {"allocated_bytes", failure.allocated},
                                {"reserved_bytes", failure.reserved}});
  }
  json["at_first_failure"] = a.at_failure ? fragmentation_json(*a.at_failure) : ordered_json();
  json["what_if"] = ordered_json::array();
  for (const WhatIf& what_if : a.what_ifs) json["what_if"].push_back(what_if_json(what_if));
  json["contents"] = a.contents ? contents_json(*a.contents) : ordered_json();
  return json_text(json);
}

std::string decisions_text(const traces::ReplayResult& result) {
  using Kind = traces::ReplayDecision::Kind;
  std::string text;
  for (const auto& decision : result.decisions) {
    text += "{\"i\": " + std::to_string(decision.index);
    const std::string value = std::to_string(decision.value);
    switch (decision.kind) {
      case Kind::address: text += ", \"addr\": " + value; break;
      case Kind::segment: text += ", \"segment_bytes\": " + value; break;
      case Kind::release: text += ", \"released_bytes\": " + value; break;
      case Kind::out_of_memory: text += ", \"oom\": true"; break;
    }
    text += "}\n";
  }
  return text;
}

}  // namespace foreshard::profiler
