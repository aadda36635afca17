#include "traces/snapshot/snapshot_writer.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/snapshot/pickle/pickle_writer.hpp"

namespace foreshard::traces {
namespace {

using Use = SegmentState::Use;
using Action = AllocatorAction;

std::string_view state_of(Use use) {
  switch (use) {
    case Use::free: return "inactive";
    case Use::allocated: return "active_allocated";
    case Use::awaiting_free: break;
  }
  return "active_pending_free";
}

struct SegmentFigures {
  std::int64_t allocated = 0, active = 0, requested = 0;
};

SegmentFigures figures_of(const SnapshotSegment& segment) {
  SegmentFigures figures;
  for (const SnapshotBlock& block : segment.blocks) {
    if (block.use == Use::free) continue;
    figures.active += block.bytes;
    figures.requested += block.requested;
    if (block.use == Use::allocated) figures.allocated += block.bytes;
  }
  return figures;
}

class SnapshotWriter {
 public:
  SnapshotWriter(const Snapshot& snapshot, std::ostream& out)
      : snapshot_(snapshot),
        pickle_(out),
        frames_(snapshot.frames.size()),
        stacks_(snapshot.stacks.size()) {}

  void run() {
    pickle_.begin_dict();
    pickle_.text("segments");
    pickle_.begin_list();
    for (const SnapshotSegment& segment : snapshot_.segments) write(segment);
    pickle_.end_list();
    pickle_.text("device_traces");
    pickle_.begin_list();
    for (std::size_t device = 0; device < snapshot_.devices.size(); ++device) write_trace(device);
    pickle_.end_list();
    pickle_.text("allocator_settings");
    write_settings();
    pickle_.text("external_annotations");
    pickle_.begin_list();
    for (const SnapshotAnnotation& annotation : snapshot_.annotations) write(annotation);
    pickle_.end_list();
    pickle_.end_dict();
    pickle_.finish();
  }

 private:
  void field(std::string_view key, std::int64_t value) {
    pickle_.text(key);
    pickle_.integer(value);
  }
  void field(std::string_view key, std::string_view value) {
    pickle_.text(key);
    pickle_.text(value);
  }
  void flag(std::string_view key, bool value) {
    pickle_.text(key);
    pickle_.boolean(value);
  }
  void pool(std::string_view key, PoolIndex index) {
    const PoolId& id = snapshot_.pools[static_cast<std::size_t>(index)];
    pickle_.text(key);
    pickle_.pair(id.graph_id, id.mempool_id);
  }

  void write(const SnapshotSegment& segment) {
    const SegmentFigures figures = figures_of(segment);
    pickle_.begin_dict();
    field("device", segment.device);
    field("address", segment.address);
    field("total_size", segment.bytes);
    field("allocated_size", figures.allocated);
    field("active_size", figures.active);
    field("requested_size", figures.requested);
    field("stream", segment.stream);
    field("segment_type", std::string_view(segment.small ? "small" : "large"));
    pool("segment_pool_id", segment.pool);
    flag("is_expandable", segment.expandable);
    write_frames(-1);
    pickle_.text("blocks");
    pickle_.begin_list();
    for (const SnapshotBlock& block : segment.blocks) {
      pickle_.begin_dict();
      field("address", block.address);
      field("size", block.bytes);
      field("requested_size", block.requested);
      field("state", state_of(block.use));
      write_frames(block.stack);
      pickle_.end_dict();
    }
    pickle_.end_list();
    pickle_.end_dict();
  }

  void write_trace(std::size_t device) {
    pickle_.begin_list();
    std::int64_t time_us = 0, active = 0;
    for (const SnapshotEvent& event : snapshot_.devices[device]) {
      write(event);
      time_us = event.time_us;
    }
    for (const SnapshotSegment& segment : snapshot_.segments) {
      if (segment.device == static_cast<std::int32_t>(device)) active += figures_of(segment).active;
    }
    // The moment of the snapshot itself.
    pickle_.begin_dict();
    field("action", std::string_view("snapshot"));
    field("addr", std::int64_t{0});
    field("size", active);
    field("stream", std::int64_t{0});
    field("time_us", time_us);
    write_frames(-1);
    pickle_.end_dict();
    pickle_.end_list();
  }

  void write(const SnapshotEvent& event) {
    pickle_.begin_dict();
    field("action", kAllocatorActions[static_cast<std::size_t>(event.action)]);
    if (event.action == Action::oom) {
      field("device_free", std::max<std::int64_t>(event.device_free, 0));
    } else {
      field("addr", event.address);
    }
    field("size", event.bytes);
    field("stream", event.stream);
    field("time_us", event.time_us);
    if (snapshot_.events_name_pools) pool("pool_id", event.pool);
    write_frames(event.stack);
    pickle_.end_dict();
  }

  void write(const SnapshotAnnotation& annotation) {
    pickle_.begin_dict();
    field("stage", std::string_view(annotation.is_end ? "END" : "START"));
    field("name", snapshot_.text(annotation.name));
    field("device", annotation.device);
    field("time_us", annotation.time_us);
    pickle_.end_dict();
  }

  void write_settings() {
    const AllocatorRules& rules = snapshot_.rules;
    const bool splits_all = rules.max_split_size == AllocatorRules::kUnlimited;
    pickle_.begin_dict();
    field("PYTORCH_CUDA_ALLOC_CONF", snapshot_.settings);
    field("max_split_size", splits_all ? -1 : rules.max_split_size);
    pickle_.text("garbage_collection_threshold");
    pickle_.real(rules.garbage_collection_threshold);
    if (rules.memory_fraction < 1) {
      pickle_.text("per_process_memory_fraction");
      pickle_.real(rules.memory_fraction);
    }
    flag("expandable_segments", rules.expandable_segments);
    pickle_.text("roundup_power2_divisions");
    pickle_.begin_dict();
    std::int64_t mebibytes = 1;
    for (const std::int64_t divisions : rules.power2_divisions()) {
      field(std::to_string(mebibytes), divisions);
      mebibytes *= 2;
    }
    pickle_.end_dict();
    pickle_.end_dict();
  }

  // What is shared is written once.
  void write_frames(StackId id) {
    pickle_.text("frames");
    if (id < 0) {
      pickle_.begin_list();
      return pickle_.end_list();
    }
    auto& known = stacks_[static_cast<std::size_t>(id)];
    if (known) return pickle_.recall(*known);
    pickle_.begin_list();
    for (const std::int32_t frame : snapshot_.stack(id)) write_frame(frame);
    pickle_.end_list();
    known = pickle_.remember();
  }

  void write_frame(std::int32_t id) {
    auto& known = frames_[static_cast<std::size_t>(id)];
    if (known) return pickle_.recall(*known);
    const SnapshotFrame& frame = snapshot_.frame(id);
    pickle_.begin_dict();
    field("name", snapshot_.text(frame.function));
    field("filename", snapshot_.text(frame.file));
    field("line", frame.line);
    pickle_.end_dict();
    known = pickle_.remember();
  }

  const Snapshot& snapshot_;
  PickleWriter pickle_;
  std::vector<std::optional<PickleWriter::MemoId>> frames_, stacks_;
};

}  // namespace

void write_snapshot(const Snapshot& snapshot, std::ostream& out) {
  SnapshotWriter(snapshot, out).run();
}

}  // namespace foreshard::traces
