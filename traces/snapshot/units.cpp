#include "traces/snapshot/units.hpp"

namespace foreshard::traces {
namespace {

constexpr std::size_t kMostOpen = 1024;

bool begins(std::string_view range) {
  return range.starts_with("FSDP::pre_forward") || range.starts_with("FSDP::pre_backward");
}
bool ends(std::string_view range) {
  return range.starts_with("FSDP::post_forward") ||
         range.starts_with("FSDP::post_backward_reduce") ||
         range.starts_with("FSDP::post_backward_rs_wait");
}

}  // namespace

std::string_view unit_of(std::string_view range) {
  if (!range.starts_with("FSDP::")) return {};
  const auto first = range.find(" ("), last = range.rfind(')');
  if (first == std::string_view::npos || last == std::string_view::npos || last < first) return {};
  return range.substr(first + 2, last - first - 2);
}

Units::Units(const Snapshot& snapshot, int device) : snapshot_(snapshot), device_(device) {}

void Units::advance(std::int64_t time_us) {
  for (; next_ < snapshot_.annotations.size(); ++next_) {
    const SnapshotAnnotation& annotation = snapshot_.annotations[next_];
    if (annotation.time_us > time_us) break;
    if (annotation.device != device_) continue;
    const std::string_view name = std::string_view(snapshot_.text(annotation.name)).substr(0, 4096);
    const std::string_view unit = unit_of(name);
    if (unit.empty()) continue;
    if (!annotation.is_end) {
      if (open_.size() < kMostOpen) open_.emplace_back(unit);
      continue;
    }
    if (!open_.empty() && open_.back() == unit) open_.pop_back();
    if (begins(name)) running_ = unit;
    if (ends(name) && running_ == unit) running_.clear();
  }
}

}  // namespace foreshard::traces
