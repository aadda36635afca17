#include "profiler/replay/what_if.hpp"

#include <algorithm>

#include "models/allocator/allocator_settings.hpp"

namespace foreshard::profiler {
namespace {

using traces::AllocatorHistory;
using traces::ReplayOptions;

constexpr const char* kChanges[] = {
    "expandable_segments=true",
    "max_split_size_mb=128",
    "max_split_size_mb=256",
    "max_split_size_mb=512",
    "garbage_collection_threshold=0.6",
    "garbage_collection_threshold=0.8",
    "garbage_collection_threshold=0.8,max_split_size_mb=512",
    "roundup_power2_divisions=8",
};

// Garbage is collected below a limit alone: one that leaves nearly the whole device.
constexpr const char* kCollects = "garbage_collection_threshold";
constexpr const char* kLimit = ",per_process_memory_fraction=0.99";

std::string settings_of(const std::string& change) {
  return change.find(kCollects) == std::string::npos ? change : change + kLimit;
}

// PYTORCH_CUDA_ALLOC_CONF writes the same with colons.
std::string how_to_set(std::string change) {
  std::replace(change.begin(), change.end(), '=', ':');
  const auto truth = change.find(":true");
  if (truth != std::string::npos) change.replace(truth, 5, ":True");
  std::string how = "set PYTORCH_CUDA_ALLOC_CONF=" + change;
  if (change.find(kCollects) != std::string::npos) {
    how +=
        " and call torch.cuda.set_per_process_memory_fraction(0.99), without which it does nothing";
  }
  return how;
}

}  // namespace

Result<Fragmentation> fragmentation_after(const AllocatorHistory& history, ReplayOptions options,
                                          std::size_t event) {
  options.events = event + 1;
  const auto result = traces::replay(history, options);
  if (!result) return tl::unexpected(result.error());
  Fragmentation found;
  for (const SegmentState& segment : result->end) {
    found.reserved += segment.bytes;
    for (const auto& block : segment.blocks) {
      const bool is_free = block.use == SegmentState::Use::free;
      if (is_free) found.largest_free = std::max(found.largest_free, block.bytes);
    }
  }
  found.allocated = result->statistics.allocated;
  return found;
}

Outcome outcome_of(const traces::ReplayResult& result, std::optional<std::int64_t> capacity) {
  Outcome outcome;
  outcome.failures = static_cast<std::int64_t>(result.failures.size());
  outcome.peak_reserved = result.statistics.peak_reserved;
  outcome.peak_allocated = result.statistics.peak_allocated;
  const auto failed = std::find_if(
      result.decisions.begin(), result.decisions.end(),
      [](const auto& d) { return d.kind == traces::ReplayDecision::Kind::out_of_memory; });
  if (failed != result.decisions.end()) {
    outcome.failed_at = failed->index;
    outcome.failure = result.failures.front();
    if (capacity) {
      const auto& f = *outcome.failure;
      outcome.headroom = std::min<std::int64_t>(*capacity - f.reserved - f.requested, -1);
    }
  } else if (capacity) {
    outcome.headroom = *capacity - outcome.peak_reserved;
  }
  return outcome;
}

Result<std::vector<WhatIf>> what_ifs(const Recording& recording, const ReplayOptions& asked,
                                     const std::string& asked_settings) {
  const std::string before = asked_settings.empty() ? "" : asked_settings + ",";
  std::vector<WhatIf> found;
  const AllocatorRules rules = asked.rules.value_or(recording.history.rules);
  const auto ask = [&](const std::string& change, const std::string& settings,
                       const std::string& how, const AllocatorHistory& history,
                       const AllocatorRules& changed) -> Result<void> {
    ReplayOptions options = asked;
    options.rules = changed;
    options.honor_recorded_oom = false;
    const auto result = traces::replay(history, options);
    if (!result) return tl::unexpected(result.error());
    found.push_back({change, settings, how, outcome_of(*result, asked.capacity)});
    return {};
  };
  for (const char* change : kChanges) {
    const std::string settings = settings_of(change);
    const AllocatorRules changed = *parse_allocator_settings(settings, rules, "");
    if (changed == rules) continue;
    if (auto done = ask(change, settings, how_to_set(before + change), recording.history, changed);
        !done) {
      return tl::unexpected(done.error());
    }
  }
  const auto& contents = recording.contents;
  const bool holds_gathered = contents && contents->out_of_memory &&
                              std::any_of(contents->gathered.begin(), contents->gathered.end(),
                                          [](const auto& group) { return group.left > 0; });
  if (!holds_gathered) return found;
  const AllocatorHistory freed =
      with_unsharded_freed(recording.history, *recording.trace, recording.device);
  auto done =
      ask("unsharded parameters freed after forward", "",
          "set reshard_after_forward=True for the unit that still holds them", freed, rules);
  if (!done) return tl::unexpected(done.error());
  return found;
}

}  // namespace foreshard::profiler
