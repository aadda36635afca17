// Waits of hosts for their devices of which a recording has no event: programs that poll, and recorders that
// leave such calls out.
//
// A host waits unrecorded where the recording has no wait of its rank at all, and nearly every long gap between its
// calls ends just after the device has done all that it had to do. Host and device then keep step, which a host
// with work of its own would do by chance only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/meaning/work_causes.hpp"

namespace foreshard::traces {

// A call of a host thread, from its beginning until it returns.
struct CallSpan {
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t device = 0;  // the rank's, as in LaunchedWork
  bool waits = false;        // for its device
};

class UnrecordedWaits {
 public:
  // `calls` and `works` by start.
  UnrecordedWaits(std::span<const CallSpan> calls, std::span<const LaunchedWork> works);

  // The work for which the host waited before a call that began then, none of the rank's having been at work since
  // `returned_ns`; kNone where it did not wait.
  std::int32_t awaited(std::uint32_t device, std::int64_t returned_ns,
                       std::int64_t called_ns) const;

 private:
  struct Idle {
    std::int64_t start_ns = 0, end_ns = 0;
    std::int32_t after = kNone;  // the work that was over then
  };
  std::int32_t over_before(std::uint32_t device, std::int64_t returned_ns,
                           std::int64_t called_ns) const;

  std::vector<std::vector<Idle>> idle_;  // of each device, in order
  std::vector<bool> waits_;              // of each device's host
};

}  // namespace foreshard::traces
