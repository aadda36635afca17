#include "traces/snapshot/recorded_segments.hpp"

#include <iterator>

namespace foreshard::traces {

bool RecordedSegments::add(Address address, const Segment& segment) {
  const Address end = address + segment.bytes;
  if (segment.bytes <= 0) return false;
  const auto joins = [&](const Segment& other) {
    return segment.expandable && other.expandable && other.stream == segment.stream &&
           other.small == segment.small && other.pool == segment.pool;
  };
  auto after = segments_.lower_bound(address);
  if (after != segments_.end() && after->first < end) return false;
  auto at = segments_.end();
  if (after != segments_.begin()) {
    const auto before = std::prev(after);
    const Address before_end = before->first + before->second.bytes;
    if (before_end > address) return false;
    if (before_end == address && joins(before->second)) {
      before->second.bytes += segment.bytes;
      at = before;
    }
  }
  if (at == segments_.end()) at = segments_.emplace(address, segment).first;
  if (after != segments_.end() && after->first == end && joins(after->second)) {
    at->second.bytes += after->second.bytes;
    segments_.erase(after);
  }
  return true;
}

bool RecordedSegments::add(const SnapshotSegment& s) {
  return add(s.address, {s.bytes, s.stream, s.small, s.expandable, s.pool});
}

bool RecordedSegments::add(const SnapshotEvent& event) {
  const bool expandable = event.action == AllocatorAction::segment_map ||
                          event.action == AllocatorAction::segment_unmap;
  const std::int64_t granule = AllocatorRules::kLargeSegment;
  Segment segment{event.bytes, event.stream, false, expandable, event.pool};
  segment.small =
      expandable ? event.bytes % granule != 0 : event.bytes == AllocatorRules::kSmallSegment;
  const auto after = segments_.lower_bound(event.address);
  const auto like = [&](Map::const_iterator neighbour) {
    if (!expandable || !neighbour->second.expandable) return;
    if (neighbour->second.stream != event.stream || neighbour->second.pool != event.pool) return;
    segment.small = neighbour->second.small;
  };
  if (after != segments_.end() && after->first == event.address + event.bytes) like(after);
  if (after != segments_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second.bytes == event.address) like(before);
  }
  return add(event.address, segment);
}

bool RecordedSegments::remove(Address address, std::int64_t bytes) {
  const auto found = find(address);
  if (found == segments_.end() || bytes <= 0) return false;
  const Address first = found->first;
  const Segment whole = found->second;
  const Address end = first + whole.bytes, cut_end = address + bytes;
  const bool is_whole = first == address && cut_end == end;
  if (cut_end > end || (!whole.expandable && !is_whole)) return false;
  segments_.erase(found);
  const auto keep = [&](Address from, Address to) {
    if (from == to) return;
    Segment rest = whole;
    rest.bytes = to - from;
    segments_.emplace(from, rest);
  };
  keep(first, address);
  keep(cut_end, end);
  return true;
}

std::int64_t block_size(const AllocatorRules& rules, const RecordedSegments::Segment& segment,
                        std::int64_t requested, std::int64_t room) {
  const std::int64_t rounded = rules.round_size(requested);
  // An ordinary segment of a private pool, while others expand, is of a driver of its own.
  const bool exactly = segment.small || (rules.expandable_segments && segment.pool == 0);
  const bool is_cut = segment.expandable || rules.splits(rounded, room - rounded, exactly);
  return is_cut ? rounded : room;
}

void find_pools(Snapshot& snapshot) {
  for (std::size_t device = 0; device < snapshot.devices.size(); ++device) {
    RecordedSegments segments;
    for (const SnapshotSegment& segment : snapshot.segments) {
      if (segment.device == static_cast<std::int32_t>(device)) segments.add(segment);
    }
    auto& events = snapshot.devices[device];
    for (auto event = events.rbegin(); event != events.rend(); ++event) {
      const auto holder = segments.find(event->address);
      if (holder != segments.end()) event->pool = holder->second.pool;
      if (reserves(event->action)) segments.remove(event->address, event->bytes);
      if (releases(event->action)) segments.add(*event);
    }
  }
}

RecordedSegments::Map::const_iterator RecordedSegments::find(Address address) const {
  auto after = segments_.upper_bound(address);
  if (after == segments_.begin()) return segments_.end();
  const auto found = std::prev(after);
  return address < found->first + found->second.bytes ? found : segments_.end();
}

}  // namespace foreshard::traces
