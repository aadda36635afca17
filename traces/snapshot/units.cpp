#include "traces/snapshot/units.hpp"

namespace foreshard::traces {
namespace {

constexpr std::size_t kMostOpen = 1024, kMostText = 4096;

}  // namespace

Units::Units(const Snapshot& snapshot, int device) : snapshot_(snapshot), device_(device) {}

void Units::advance(std::int64_t time_us) {
  for (; next_ < snapshot_.annotations.size(); ++next_) {
    const SnapshotAnnotation& range = snapshot_.annotations[next_];
    if (range.time_us > time_us) break;
    if (range.device != device_) continue;
    const std::string_view name = snapshot_.text(range.name);
    const Annotation meaning = annotation_of(name.substr(0, kMostText));
    const bool has_begun = !open_.empty() && open_.back() == meaning.unit;
    if (!range.is_end && !meaning.unit.empty() && open_.size() < kMostOpen) {
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
