#include "traces/kineto/runs.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "traces/metadata.hpp"

namespace foreshard::traces::kineto {
namespace {

// Ranks are recorded in the same step, but clocks of different machines may differ.
constexpr std::int64_t kMaxApart = 60'000'000'000;
// Times before 2001 count from a machine's start: they cannot be compared.
constexpr std::int64_t kEarliestDate = 1'000'000'000'000'000'000;

struct Run {
  std::vector<std::size_t> members;
  std::set<std::int32_t> ranks;
  std::int32_t world_size = 0;
  std::int64_t start_ns = 0, end_ns = 0;
};

bool belongs(const Recording& recording, const Run& run) {
  if (recording.rank && run.ranks.contains(*recording.rank)) return false;
  if (recording.world_size != 0 && run.world_size != 0) {
    if (recording.world_size != run.world_size) return false;
  }
  if (recording.start_ns < kEarliestDate || run.start_ns < kEarliestDate) return true;
  return recording.start_ns - kMaxApart <= run.end_ns &&
         run.start_ns - kMaxApart <= recording.end_ns;
}

void join_run(Run& run, const Recording& recording, std::size_t index) {
  if (run.members.empty()) {
    run.start_ns = recording.start_ns;
    run.end_ns = recording.end_ns;
  }
  run.start_ns = std::min(run.start_ns, recording.start_ns);
  run.end_ns = std::max(run.end_ns, recording.end_ns);
  run.world_size = std::max(run.world_size, recording.world_size);
  run.members.push_back(index);
  if (recording.rank) run.ranks.insert(*recording.rank);
}

// Those without a rank get the free ones, in the order of the files.
void give_ranks(std::vector<Recording>& recordings, Run& run) {
  std::sort(run.members.begin(), run.members.end());
  std::int32_t next = 0;
  for (const std::size_t index : run.members) {
    if (recordings[index].rank) continue;
    while (run.ranks.contains(next)) ++next;
    recordings[index].rank = next;
    run.ranks.insert(next);
  }
  std::sort(run.members.begin(), run.members.end(), [&](std::size_t a, std::size_t b) {
    return *recordings[a].rank < *recordings[b].rank;
  });
}

// The recording's trace on the run's clock, with its rank.
Trace part_of(Recording& recording, std::int64_t origin_ns) {
  Trace part = std::move(recording.trace);
  recording.trace = {};
  const std::int32_t rank = *recording.rank;
  if (part.lanes.empty()) part.lanes.push_back({rank, false, part.strings.intern("host")});
  for (Lane& lane : part.lanes) lane.rank = rank;
  part.events.update_all([&](Event& event) {
    event.start_ns -= origin_ns;
    event.end_ns -= origin_ns;
  });
  part.memory.update_all([&](MemoryEvent& event) {
    event.time_ns -= origin_ns;
    event.rank = rank;
  });
  for (Step& step : part.steps) {
    step.start_ns -= origin_ns;
    step.end_ns -= origin_ns;
    step.rank = rank;
  }
  for (Loss& loss : part.losses) {
    loss.start_ns -= origin_ns;
    loss.end_ns -= origin_ns;
    loss.rank = rank;
  }
  part.complete_until_ns -= part.complete_until_ns == 0 ? 0 : origin_ns;
  return part;
}

Metadata describe(const std::vector<Recording>& recordings, const std::vector<std::size_t>& run,
                  std::int64_t origin_ns) {
  RunDescription description;
  Metadata& more = description.more;
  std::int64_t mapped = 0, unmapped = 0, unrelated = 0, mended = 0, is_complete = 1;
  for (const std::size_t index : run) {
    const Recording& recording = recordings[index];
    const std::string rank = std::to_string(*recording.rank);
    description.ranks = std::max({description.ranks, recording.world_size, *recording.rank + 1});
    more["files"] += (more["files"].empty() ? "" : "\n") + recording.file;
    if (!recording.device.empty()) more["device." + rank] = recording.device;
    if (!recording.host.empty()) more["host." + rank] = recording.host;
    if (!recording.incomplete_reason.empty()) {
      more["trouble." + rank] = recording.incomplete_reason;
      is_complete = 0;
    }
    mapped += recording.cost_keys_mapped;
    unmapped += recording.cost_keys_unmapped;
    unrelated += recording.unrelated_collectives;
    mended += recording.mended;
  }
  more["source"] = "kineto";
  more["cost_keys_mapped"] = std::to_string(mapped);
  more["cost_keys_unmapped"] = std::to_string(unmapped);
  if (unrelated > 0) more["unrelated_collectives"] = std::to_string(unrelated);
  if (mended > 0) more["mended_events"] = std::to_string(mended);
  more["clock"] = "CLOCK_REALTIME";
  more["clock_id"] = "realtime";
  more["clock_origin_ns"] = std::to_string(origin_ns);
  // Values of this machine would not describe the run.
  more["cpu_model"] = more["cores"] = more["threads_per_rank"] = "";
  more["complete"] = std::to_string(is_complete);
  for (const auto& [key, value] : recordings[run.front()].trace.metadata)
    more["kineto." + key] = value;
  return run_metadata(description);
}

}  // namespace

std::vector<std::vector<std::size_t>> group_by_run(std::vector<Recording>& recordings) {
  std::vector<std::size_t> by_time(recordings.size());
  std::iota(by_time.begin(), by_time.end(), std::size_t{0});
  std::stable_sort(by_time.begin(), by_time.end(), [&](std::size_t a, std::size_t b) {
    return recordings[a].start_ns < recordings[b].start_ns;
  });
  std::vector<Run> runs;
  for (const std::size_t index : by_time) {
    const Recording& recording = recordings[index];
    auto its = std::find_if(runs.begin(), runs.end(),
                            [&](const Run& run) { return belongs(recording, run); });
    if (its == runs.end()) its = runs.insert(runs.end(), Run{});
    join_run(*its, recording, index);
  }
  std::vector<std::vector<std::size_t>> out;
  for (Run& run : runs) {
    give_ranks(recordings, run);
    out.push_back(std::move(run.members));
  }
  return out;
}

Trace merge_ranks(std::vector<Recording>& recordings, const std::vector<std::size_t>& run) {
  std::int64_t origin_ns = INT64_MAX;
  for (const std::size_t index : run) {
    const Recording& recording = recordings[index];
    const bool is_empty = recording.trace.events.empty() && recording.trace.memory.empty();
    if (!is_empty) origin_ns = std::min(origin_ns, recording.start_ns);
  }
  if (origin_ns == INT64_MAX) origin_ns = 0;
  const Metadata metadata = describe(recordings, run, origin_ns);
  std::vector<Trace> parts;
  for (const std::size_t index : run) {
    parts.push_back(part_of(recordings[index], origin_ns));
    parts.back().metadata.clear();
  }
  Trace whole = merge(std::move(parts));
  whole.metadata = metadata;
  whole.metadata["complete_until_ns"] = std::to_string(whole.complete_until_ns);
  return whole;
}

}  // namespace foreshard::traces::kineto
