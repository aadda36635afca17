#include "cli/replay_report.hpp"

#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace foreshard::cli {
namespace {

using nlohmann::ordered_json;
using traces::ContentsGroup;

constexpr std::size_t kGroupsShown = 12, kGatheredShown = 6;

// 1,234,567: exact figures, as the allocator's own messages have them.
std::string grouped(std::int64_t n) {
  std::string text = std::to_string(n);
  const std::size_t first = n < 0 ? 1 : 0;
  for (std::size_t i = text.size(); i > first + 3;) text.insert(i -= 3, ",");
  return text;
}

std::string percent(std::int64_t part, std::int64_t whole) {
  char text[16];
  std::snprintf(text, sizeof text, "%5.1f %%",
                whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0);
  return text;
}

std::string padded(const std::string& text, std::size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text;
}
std::string right(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string blocks_of(const ContentsGroup& group) {
  return grouped(group.blocks) + (group.blocks == 1 ? " block of " : " blocks of ") +
         grouped(group.block_bytes) + " B";
}

ordered_json group_json(const ContentsGroup& group) {
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

ordered_json contents_json(const traces::Contents& contents) {
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
    entry["most_blocks_at_once"] = group.most_at_once;
    entry["blocks_left"] = group.left;
    json["gathered"].push_back(std::move(entry));
  }
  return json;
}

std::string fragmentation_line(const char* when, const Fragmentation& f) {
  return std::string(when) + text_of_bytes(f.reserved) + " reserved, " +
         text_of_bytes(f.allocated) + " allocated, " + text_of_bytes(f.reserved - f.allocated) +
         " unused; the largest free block has " + text_of_bytes(f.largest_free) + "\n";
}

std::string recorded_text(const ReplayAnswer& a) {
  const traces::ReplayResult& r = a.result;
  std::string text = a.history;
  if (a.device) text += ", device " + std::to_string(*a.device);
  text += ": " + grouped(static_cast<std::int64_t>(a.events)) + " events, " +
          grouped(a.recorded.allocations) + " allocations";
  text += a.recorded.out_of_memory == 0 ? ", never out of memory\n"
          : a.recorded.out_of_memory == 1
              ? ", and memory ran out\n"
              : ", and memory ran out " + grouped(a.recorded.out_of_memory) + " times\n";
  if (a.devices.size() > 1) {
    text += "The snapshot has devices";
    for (const int device : a.devices) text += " " + std::to_string(device);
    text += " (--device)\n";
  }
  if (!a.complete) text += "The file is cut short: what stands before the cut was read\n";
  if (a.misfits > 0) {
    text += grouped(a.misfits) + " events contradict the segments at the end: those are older or " +
            "newer than the trace\n";
  }
  if (a.left_out > 0) {
    text += grouped(a.left_out) + " events and segments of private pools are left out\n";
  }
  if (!a.as_recorded) return text + "Replayed under other settings:\n";
  const bool is_exact = r.addresses_equal == r.addresses_total &&
                        static_cast<std::int64_t>(r.failures.size()) == a.recorded.out_of_memory;
  text += is_exact ? "The replay decides as the recorded allocator did: all " +
                         grouped(r.addresses_total) + " addresses are equal\n"
                   : "The replay differs from the recording: " + grouped(r.addresses_equal) +
                         " of " + grouped(r.addresses_total) + " addresses are equal, " +
                         grouped(static_cast<std::int64_t>(r.failures.size())) + " of " +
                         grouped(a.recorded.out_of_memory) + " failures\n";
  return text;
}

// Whether the first request that failed would have fitted without fragmentation.
std::string verdict(const ReplayAnswer& a) {
  if (a.result.failures.empty() || !a.capacity) return {};
  const OutOfMemory& failure = a.result.failures.front();
  const std::int64_t needed = failure.allocated + failure.requested;
  const std::string sum = text_of_bytes(failure.allocated) + " allocated and " +
                          text_of_bytes(failure.requested) + " asked for";
  if (needed > *a.capacity) {
    return "Too much, not fragmentation: " + sum + " exceed the device's " +
           text_of_bytes(*a.capacity) + " by " + text_of_bytes(needed - *a.capacity) + "\n";
  }
  std::string text = "Fragmentation: " + sum + " would have fitted into the device's " +
                     text_of_bytes(*a.capacity) + "\n";
  const auto saved = std::find_if(a.what_ifs.begin(), a.what_ifs.end(),
                                  [](const WhatIf& what_if) { return what_if.failures == 0; });
  if (saved != a.what_ifs.end()) text += "It would have fitted with " + saved->change + "\n";
  return text;
}

std::string contents_text(const traces::Contents& contents) {
  std::string text =
      contents.out_of_memory
          ? "\nWhat held the memory when " + grouped(contents.requested) + " B could not be had"
          : std::string("\nWhat held the memory at the peak");
  text += " (" + grouped(contents.allocated) + " B allocated)\n";
  for (const auto& group : contents.categories) {
    text += "  " + padded(group.category, 22) + right(text_of_bytes(group.bytes), 11) + "  " +
            percent(group.bytes, contents.allocated) + "\n";
  }
  text += "\n  The largest of it\n";
  for (std::size_t i = 0; i < std::min(contents.groups.size(), kGroupsShown); ++i) {
    const ContentsGroup& group = contents.groups[i];
    text += "  " + right(text_of_bytes(group.bytes), 11) + "  " + padded(group.category, 22) +
            padded(group.role, 26) + " " + blocks_of(group) + "\n";
  }
  if (contents.gathered.empty()) return text;
  text += "\n  Gathered by FSDP until then\n";
  for (std::size_t i = 0; i < std::min(contents.gathered.size(), kGatheredShown); ++i) {
    const traces::GatheredGroup& group = contents.gathered[i];
    text += "  " + padded(group.made.role + "s:", 22) + blocks_of(group.made) + ", at most " +
            grouped(group.most_at_once) + " at once, " + grouped(group.left) + " left\n";
  }
  return text;
}

}  // namespace

std::string replay_json(const ReplayAnswer& a) {
  const traces::ReplayResult& r = a.result;
  ordered_json json = {{"events", a.events},
                       {"peak_allocated_bytes", r.statistics.peak_allocated},
                       {"peak_reserved_bytes", r.statistics.peak_reserved},
                       {"segments_allocated", r.statistics.segments_allocated},
                       {"segments_released", r.statistics.segments_released},
                       {"ooms", r.failures.size()},
                       {"addresses_equal", r.addresses_equal},
                       {"addresses_total", r.addresses_total},
                       {"peak_active_bytes", r.statistics.peak_active},
                       {"complete", a.complete},
                       {"contradictions", a.misfits},
                       {"events_left_out", a.left_out}};
  json["device"] = a.device ? ordered_json(*a.device) : ordered_json();
  json["capacity_bytes"] = a.capacity ? ordered_json(*a.capacity) : ordered_json();
  json["recorded"] = {{"peak_reserved_bytes", a.recorded.peak_reserved},
                      {"segments_allocated", a.recorded.segments_allocated},
                      {"segments_released", a.recorded.segments_released},
                      {"ooms", a.recorded.out_of_memory}};
  json["at_peak_reserved"] = fragmentation_json(a.at_peak);
  json["failures"] = ordered_json::array();
  for (const OutOfMemory& failure : r.failures) {
    json["failures"].push_back({{"requested_bytes", failure.requested},
                                {"allocated_bytes", failure.allocated},
                                {"reserved_bytes", failure.reserved}});
  }
  json["at_first_failure"] = a.at_failure ? fragmentation_json(*a.at_failure) : ordered_json();
  json["what_if"] = ordered_json::array();
  for (const WhatIf& what_if : a.what_ifs) {
    json["what_if"].push_back({{"change", what_if.change},
                               {"ooms", what_if.failures},
                               {"peak_reserved_bytes", what_if.peak_reserved},
                               {"peak_allocated_bytes", what_if.peak_allocated}});
  }
  json["contents"] = a.contents ? contents_json(*a.contents) : ordered_json();
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

std::string replay_text(const ReplayAnswer& a) {
  const traces::ReplayResult& r = a.result;
  std::string text = recorded_text(a) + verdict(a);
  text += "\n  peak allocated  " + text_of_bytes(r.statistics.peak_allocated) +
          "\n  peak reserved   " + text_of_bytes(r.statistics.peak_reserved) +
          (a.as_recorded ? "" : "  (recorded: " + text_of_bytes(a.recorded.peak_reserved) + ")") +
          "\n  segments        " + grouped(r.statistics.segments_allocated) + " allocated, " +
          grouped(r.statistics.segments_released) + " released\n";
  if (a.capacity) text += "  capacity        " + text_of_bytes(*a.capacity) + "\n";
  text += fragmentation_line("  at that peak    ", a.at_peak);
  for (const OutOfMemory& failure : r.failures) {
    text += "  out of memory   " + grouped(failure.requested) + " B could not be had with " +
            text_of_bytes(failure.allocated) + " allocated, " + text_of_bytes(failure.reserved) +
            " reserved after the release of the cache\n";
  }
  if (a.at_failure) text += fragmentation_line("  at the failure  ", *a.at_failure);
  if (a.contents) text += contents_text(*a.contents);
  if (a.what_ifs.empty()) return text;
  text += "\nWhat would have changed that\n";
  for (const WhatIf& what_if : a.what_ifs) {
    const std::string ending = what_if.failures == 0 ? "fits" : "still out of memory";
    text += "  " + padded(what_if.change, 56) + padded(ending, 20) + " peak reserved " +
            text_of_bytes(what_if.peak_reserved) + "\n";
  }
  return text;
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

}  // namespace foreshard::cli
