#include "gui/models/memory/device_work.hpp"

#include <algorithm>
#include <tuple>

namespace foreshard::gui {

DeviceWork::DeviceWork(const traces::Trace& trace, int rank, Of streams) : events_(&trace.events) {
  for (std::size_t n = 0; n < trace.events.size(); ++n) {
    const traces::Event event = trace.events[n];
    if (!traces::is_device_work(event.kind) || event.instruction < 0) continue;
    const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
    if (lane.rank != rank || !lane.device) continue;
    const bool is_kernel =
        event.kind == traces::EventKind::compute && trace.strings[lane.name] == "compute";
    if (streams == Of::every_stream || is_kernel) work_.push_back(static_cast<std::uint32_t>(n));
  }
  std::sort(work_.begin(), work_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(place_of(a), (*events_)[a].start_ns) <
           std::tuple(place_of(b), (*events_)[b].start_ns);
  });
}

DeviceWork::Place DeviceWork::place_of(std::uint32_t event) const {
  const traces::Event found = (*events_)[event];
  return {found.step, found.instruction};
}

std::size_t DeviceWork::first_from(Place place) const {
  const auto next = std::lower_bound(
      work_.begin(), work_.end(), place,
      [&](std::uint32_t event, const Place& key) { return place_of(event) < key; });
  return static_cast<std::size_t>(next - work_.begin());
}

traces::EventPointer DeviceWork::within(std::int32_t step, std::size_t n) const {
  if (n >= work_.size() || place_of(work_[n]).first != step) return nullptr;
  return events_->pointer_to(work_[n]);
}

traces::EventPointer DeviceWork::from(std::int32_t step, std::int32_t instruction) const {
  return within(step, first_from({step, instruction}));
}

traces::EventPointer DeviceWork::last_before(std::int32_t step, std::int32_t instruction) const {
  return within(step, first_from({step, instruction}) - 1);
}

}  // namespace foreshard::gui
