// PyTorch's CUDA memory snapshot as plain records: what the allocators of a process's devices held
// when it was taken, and what they had done before, as far back as was recorded.
//
// All schemas are read: segments alone (torch.cuda.memory_snapshot), blocks without addresses, with
// a history instead of frames, traces with or without times and stacks. What a record lacks or has
// wrong is counted by reason in `dropped`; a file cut short or damaged yields what stands whole
// before that.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/allocator/allocator_rules.hpp"
#include "models/allocator/caching_allocator.hpp"
#include "models/base/error.hpp"
#include "traces/allocator/allocator_history.hpp"
#include "traces/import.hpp"

namespace foreshard::traces {

using StackId = std::int32_t;  // index into Snapshot::stacks, -1: no stack

using TextId = std::int32_t;  // index into Snapshot::texts

using PoolIndex = std::int32_t;  // into Snapshot::pools, 0: the default pool

struct SnapshotFrame {
  TextId function = 0, file = 0;
  std::int64_t line = 0;
};

struct SnapshotBlock {
  Address address = 0;
  std::int64_t bytes = 0, requested = 0;
  SegmentState::Use use = SegmentState::Use::free;
  StackId stack = -1;
};

struct SnapshotSegment {
  std::int32_t device = 0;
  Address address = 0;
  std::int64_t bytes = 0;
  std::int64_t stream = 0;  // as recorded
  bool small = false, expandable = false;
  PoolIndex pool = 0;
  std::vector<SnapshotBlock> blocks;
};

struct SnapshotEvent {
  AllocatorAction action = AllocatorAction::alloc;
  Address address = 0;
  std::int64_t bytes = 0;  // as requested, or real bytes of a segment
  std::int64_t stream = 0;
  std::int64_t time_us = 0;
  std::int64_t device_free = -1;  // of an oom
  StackId stack = -1;
  PoolIndex pool = 0;
};

// A named range the program recorded around what it did: an optimizer step, a phase of FSDP.
struct SnapshotAnnotation {
  TextId name = 0;
  std::int32_t device = 0;
  std::int64_t time_us = 0;
  bool is_end = false;
};

struct Snapshot {
  AllocatorRules rules;
  std::string settings;                             // PYTORCH_CUDA_ALLOC_CONF
  std::vector<SnapshotSegment> segments;            // by device, then address
  std::vector<std::vector<SnapshotEvent>> devices;  // events of each device, in order
  std::vector<SnapshotAnnotation> annotations;
  std::vector<PoolId> pools = {PoolId{}};
  // Where they do not, their pools are those of the segments that are still there at the end; what
  // was of others counts to the default pool.
  bool events_name_pools = false;
  std::vector<std::string> texts;
  std::vector<SnapshotFrame> frames;
  std::vector<std::vector<std::int32_t>> stacks;  // frames, innermost first
  std::map<std::string, std::int64_t> dropped;
  std::string
      incomplete_reason;  // why the recording is not whole, and from which byte on; or empty

  const std::string& text(TextId id) const { return texts[static_cast<std::size_t>(id)]; }
  const std::vector<std::int32_t>& stack(StackId id) const {
    return stacks[static_cast<std::size_t>(id)];
  }
  const SnapshotFrame& frame(std::int32_t id) const { return frames[static_cast<std::size_t>(id)]; }
};

// A pickle, plain or gzip.
Result<Snapshot> read_snapshot(const std::string& path, const ImportOptions& options = {});
// The same from memory. Errors name `file`.
Result<Snapshot> parse_snapshot(std::string_view bytes, const std::string& file,
                                const ImportOptions& options = {});

// A snapshot that has been read, as a trace from `path` (import.hpp has the contract).
Trace import_snapshot(const Snapshot& snapshot, const std::string& path,
                      const ImportOptions& options);

}  // namespace foreshard::traces
