#include "traces/snapshot/fsdp_unit_tracker.hpp"

namespace foreshard::traces {
namespace {

constexpr std::size_t kMaxOpen = 1024, kMaxName = 4096;

}  // namespace

FsdpUnitTracker::FsdpUnitTracker(const Snapshot& snapshot, int device)
    : snapshot_(snapshot), device_(device) {}

void FsdpUnitTracker::advance(std::int64_t time_us) {
  for (; next_ < snapshot_.annotations.size(); ++next_) {
    const SnapshotAnnotation& range = snapshot_.annotations[next_];
    if (range.time_us > time_us) break;
    if (range.device != device_) continue;
    const std::string_view name = snapshot_.text(range.name);
    const Annotation meaning = annotation_of(name.substr(0, kMaxName));
    const bool has_begun = !open_.empty() && open_.back() == meaning.unit;
    if (!range.is_end && !meaning.unit.empty() && open_.size() < kMaxOpen) {
      open_.emplace_back(meaning.unit);
    } else if (range.is_end && has_begun) {
      open_.pop_back();
    }
    // What ends without having begun had its beginning before the recording's.
    if (!range.is_end || !has_begun) {
      scopes_.change(meaning.scope, std::string(meaning.unit), std::string(meaning.phase));
    }
  }
}

}  // namespace foreshard::traces
