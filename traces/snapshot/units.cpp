#include "traces/snapshot/units.hpp"

#include "traces/annotations.hpp"

namespace foreshard::traces {
namespace {

constexpr std::size_t kMostOpen = 1024, kMostText = 4096;

}  // namespace

Units::Units(const Snapshot& snapshot, int device) : snapshot_(snapshot), device_(device) {}

void Units::advance(std::int64_t time_us) {
  using Scope = Annotation::Scope;
  for (; next_ < snapshot_.annotations.size(); ++next_) {
    const SnapshotAnnotation& range = snapshot_.annotations[next_];
    if (range.time_us > time_us) break;
    if (range.device != device_) continue;
    const std::string_view name = snapshot_.text(range.name);
    const Annotation meaning = annotation_of(name.substr(0, kMostText));
    if (meaning.unit.empty()) continue;
    if (!range.is_end) {
      if (open_.size() < kMostOpen) open_.emplace_back(meaning.unit);
      continue;
    }
    if (!open_.empty() && open_.back() == meaning.unit) open_.pop_back();
    if (meaning.scope == Scope::begins) running_ = meaning.unit;
    const bool ends = meaning.scope == Scope::ends && running_ == meaning.unit;
    if (ends || meaning.scope == Scope::resets) running_.clear();
  }
}

}  // namespace foreshard::traces
