// What would lower the memory: changes of the plan where the program is known, other settings of
// the allocator where its history is. Each is a prediction or a replay of its own, so this takes a
// while.
#pragma once

#include <QString>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gui/models/memory/rank_memory.hpp"
#include "models/sharding/job.hpp"
#include "traces/allocator/allocator_history.hpp"
#include "traces/open/recording_kind.hpp"

namespace foreshard::gui {

struct MemoryChange {
  QString
      change;   // "checkpointing.mode = "full"", as a plan file or PYTORCH_CUDA_ALLOC_CONF has it
  QString how;  // what to do for it; empty where the change says it
  std::int64_t peak_reserved = 0;
  std::optional<bool> fits;  // nothing: the capacity is not known
  std::optional<std::int64_t> step_time_ns;
  std::string settings;  // of a replay: what to replay with
};

// What is reserved after each event of a history.
using ReservedSteps = std::vector<std::pair<std::size_t, std::int64_t>>;

struct MemoryChanges {
  QString trouble;  // why there is no answer; empty where there is one
  MemoryChange present;
  std::vector<MemoryChange> changes;                        // the best first
  std::shared_ptr<const traces::AllocatorHistory> history;  // where they are replays
};

struct ChangesQuestion {
  MemorySource source;
  int rank = 0;
  std::string path;  // of the recording
  traces::RecordingKind kind = traces::RecordingKind::fst;
  std::optional<Job> job;  // nothing: as the trace's metadata describes it, if it does
};

MemoryChanges find_changes(const ChangesQuestion& question);

// What the best change would do, in a sentence; empty where none lowers it.
QString advice(const MemoryChanges& changes);

// The history under other settings ("": as recorded).
ReservedSteps replayed_reserved(const traces::AllocatorHistory& history,
                                const std::string& settings);

}  // namespace foreshard::gui
