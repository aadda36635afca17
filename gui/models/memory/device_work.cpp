#include "gui/models/memory/device_work.hpp"

#include <algorithm>
#include <tuple>

namespace foreshard::gui {
namespace {

std::pair<std::int32_t, std::int32_t> place_of(const traces::Event* event) {
  return {event->step, event->instruction};
}

auto first_from(const std::vector<const traces::Event*>& work,
                std::pair<std::int32_t, std::int32_t> place) {
  return std::lower_bound(work.begin(), work.end(), place,
                          [](const auto* event, const auto& key) { return place_of(event) < key; });
}

}  // namespace

DeviceWork::DeviceWork(const traces::Trace& trace, int rank, Of streams) {
  for (const traces::Event& event : trace.events) {
    if (!traces::is_device_work(event.kind) || event.instruction < 0) continue;
    const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
    if (lane.rank != rank || !lane.device) continue;
    const bool is_kernel =
        event.kind == traces::EventKind::compute && trace.strings[lane.name] == "compute";
    if (streams == Of::every_stream || is_kernel) work_.push_back(&event);
  }
  std::sort(work_.begin(), work_.end(), [](const auto* a, const auto* b) {
    return std::tuple(a->step, a->instruction, a->start_ns) <
           std::tuple(b->step, b->instruction, b->start_ns);
  });
}

const traces::Event* DeviceWork::from(std::int32_t step, std::int32_t instruction) const {
  const auto next = first_from(work_, {step, instruction});
  return next != work_.end() && (*next)->step == step ? *next : nullptr;
}

const traces::Event* DeviceWork::last_before(std::int32_t step, std::int32_t instruction) const {
  const auto next = first_from(work_, {step, instruction});
  return next != work_.begin() && (*(next - 1))->step == step ? *(next - 1) : nullptr;
}

}  // namespace foreshard::gui
