#include "traces/snapshot/recorded_segments.hpp"

#include <iterator>

namespace foreshard::traces {

bool RecordedSegments::add(Address address, const Segment& segment) {
  const Address end = address + segment.bytes;
  if (segment.bytes <= 0) return false;
  const auto joins = [&](const Segment& other) {
    return segment.expandable && other.expandable && other.stream == segment.stream &&
           other.small == segment.small && other.in_private_pool == segment.in_private_pool;
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

bool RecordedSegments::add(const SnapshotEvent& event) {
  using Action = SnapshotEvent::Action;
  const bool expandable =
      event.action == Action::segment_map || event.action == Action::segment_unmap;
  const std::int64_t granule = AllocatorRules::kLargeSegment;
  Segment segment{event.bytes, event.stream, false, expandable, false};
  segment.small =
      expandable ? event.bytes % granule != 0 : event.bytes == AllocatorRules::kSmallSegment;
  const auto after = segments_.lower_bound(event.address);
  const auto like = [&](Map::const_iterator neighbour) {
    if (!expandable || !neighbour->second.expandable) return;
    if (neighbour->second.stream != event.stream) return;
    segment.small = neighbour->second.small;
    segment.in_private_pool = neighbour->second.in_private_pool;
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

RecordedSegments::Map::const_iterator RecordedSegments::find(Address address) const {
  auto after = segments_.upper_bound(address);
  if (after == segments_.begin()) return segments_.end();
  const auto found = std::prev(after);
  return address < found->first + found->second.bytes ? found : segments_.end();
}

}  // namespace foreshard::traces
