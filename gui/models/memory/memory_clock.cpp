#include "gui/models/memory/memory_clock.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

namespace foreshard::gui {
namespace {

constexpr std::int64_t kEarliest = std::numeric_limits<std::int64_t>::min();

struct Kernel {
  std::int32_t step = 0, instruction = 0;
  std::int64_t start_ns = 0, end_ns = 0;
};

// A rank's kernels on its compute stream, in the order of the program.
class ComputeKernels {
 public:
  ComputeKernels(const traces::Trace& trace, int rank) {
    for (const traces::Event& event : trace.events) {
      if (event.kind != traces::EventKind::compute || event.instruction < 0) continue;
      const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
      if (lane.rank != rank || !lane.device || trace.strings[lane.name] != "compute") continue;
      kernels_.push_back({event.step, event.instruction, event.start_ns, event.end_ns});
    }
    std::sort(kernels_.begin(), kernels_.end(), [](const Kernel& a, const Kernel& b) {
      return std::tie(a.step, a.instruction, a.start_ns) <
             std::tie(b.step, b.instruction, b.start_ns);
    });
  }

  bool is_empty() const { return kernels_.empty(); }

  // When the device gets to an instruction; of one after a step's last kernel, when that ends.
  std::optional<std::int64_t> reached_ns(std::int32_t step, std::int32_t instruction) const {
    const auto next =
        std::lower_bound(kernels_.begin(), kernels_.end(), std::pair(step, instruction),
                         [](const Kernel& kernel, const auto& key) {
                           return std::pair(kernel.step, kernel.instruction) < key;
                         });
    if (next != kernels_.end() && next->step == step) return next->start_ns;
    if (next != kernels_.begin() && (next - 1)->step == step) return (next - 1)->end_ns;
    return std::nullopt;
  }

 private:
  std::vector<Kernel> kernels_;
};

}  // namespace

QString name_of(MemoryClock clock) {
  switch (clock) {
    case MemoryClock::device_time: return QCoreApplication::translate("MemoryClock", "Device time");
    case MemoryClock::host_time: return QCoreApplication::translate("MemoryClock", "Host time");
    case MemoryClock::event_order: break;
  }
  return QCoreApplication::translate("MemoryClock", "Event order");
}

std::vector<std::int64_t> device_times(const traces::Trace& trace,
                                       std::span<const traces::MemoryEvent> events) {
  if (events.empty()) return {};
  const bool have_instructions = std::any_of(
      events.begin(), events.end(), [](const auto& event) { return event.instruction >= 0; });
  if (!have_instructions) return {};
  const ComputeKernels kernels(trace, events.front().rank);
  if (kernels.is_empty()) return {};
  std::vector<std::int64_t> times;
  times.reserve(events.size());
  std::int64_t now = kEarliest;
  for (const traces::MemoryEvent& event : events) {
    const auto reached =
        event.instruction < 0 ? std::nullopt : kernels.reached_ns(event.step, event.instruction);
    now = std::max(now, reached.value_or(event.time_ns));
    times.push_back(now);
  }
  return times;
}

std::vector<std::int64_t> host_times(std::span<const traces::MemoryEvent> events) {
  std::vector<std::int64_t> times;
  times.reserve(events.size());
  std::int64_t now = kEarliest;
  for (const traces::MemoryEvent& event : events) {
    now = std::max(now, event.time_ns);
    times.push_back(now);
  }
  return times;
}

}  // namespace foreshard::gui
