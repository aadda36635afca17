// The host call that launched each device operation, for reports, exports and importers.
//
// Imported recordings join a call and its work by correlation. The call may return at once or wait
// for its work, as a synchronous copy does, and may be an operator itself. Our own recordings join by
// step and instruction, which the host issues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::traces {

// Whether an event of a host can have launched the work with which it shares its correlation or,
// without one, its instruction.
bool can_launch(const Event& event);

// The launching call of every event in a device's lanes, as indices into Trace::events; of several
// that share a correlation the first. Only stretches of events in which some have one take room.
class Launches {
 public:
  static constexpr std::int32_t kUnknown = -1;

  explicit Launches(const Trace& trace);
  std::int32_t of(std::size_t event) const {
    const std::size_t stretch = stretches_[event / kEventsOfStretch];
    return stretch == kNoStretch ? kUnknown : launches_[stretch + event % kEventsOfStretch];
  }

 private:
  static constexpr std::size_t kEventsOfStretch = 256;
  static constexpr std::uint32_t kNoStretch = UINT32_MAX;

  void add(std::size_t event, std::int32_t call);

  std::vector<std::uint32_t> stretches_;  // where in launches_ each begins
  std::vector<std::int32_t> launches_;
};

}  // namespace foreshard::traces
