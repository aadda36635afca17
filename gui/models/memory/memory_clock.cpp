#include "gui/models/memory/memory_clock.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <limits>

#include "gui/models/memory/device_work.hpp"

namespace foreshard::gui {
namespace {

// When the device gets to an event's instruction; of one after a step's last kernel, when that
// ends.
std::int64_t reached_ns(const DeviceWork& kernels, const traces::MemoryEvent& event) {
  if (event.instruction < 0) return event.time_ns;
  if (const auto next = kernels.from(event.step, event.instruction)) return next->start_ns;
  const auto last = kernels.last_before(event.step, event.instruction);
  return last == nullptr ? event.time_ns : last->end_ns;
}

struct MemoryClockText {
  Q_DECLARE_TR_FUNCTIONS(MemoryClock)
};

}  // namespace

QString name_of(MemoryClock clock) {
  switch (clock) {
    case MemoryClock::device_time: return MemoryClockText::tr("Device time");
    case MemoryClock::host_time: return MemoryClockText::tr("Host time");
    case MemoryClock::event_order: break;
  }
  return MemoryClockText::tr("Event order");
}

HeldValues device_times(const traces::Trace& trace, traces::MemoryEventSpan events) {
  if (events.empty()) return {};
  const bool have_instructions = std::any_of(
      events.begin(), events.end(), [](const auto& event) { return event.instruction >= 0; });
  if (!have_instructions) return {};
  const DeviceWork kernels(trace, events.front().rank, DeviceWork::Of::compute_stream);
  if (kernels.is_empty()) return {};
  HeldValues times;
  std::int64_t now = std::numeric_limits<std::int64_t>::min();
  for (const traces::MemoryEvent& event : events) {
    now = std::max(now, reached_ns(kernels, event));
    times.push_back(now);
  }
  times.finish();
  return times;
}

}  // namespace foreshard::gui
