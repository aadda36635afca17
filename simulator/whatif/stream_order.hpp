// The work of each rank's device by stream and by end, and the delays that are usual there.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/whatif/recorded_run.hpp"

namespace foreshard::simulator {

// How times of a recording are read. What CUDA's hardware does between two kernels of a stream, or
// from a call to its kernel on an idle device, takes 1 to 10 us; these bounds lie well above that
// and well below the kernels of training.
constexpr std::int64_t kFarNs = 30'000;  // longer than any such delay: something was awaited
// Likewise of our own recordings, whose streams may be threads that wake up late where they share
// cores.
constexpr std::int64_t kFarOfThreadsNs = 1'000'000;
constexpr std::int64_t kMostLatencyNs = 100'000;   // a longer one is no latency of a launch
constexpr std::int64_t kMostGapNs = 5'000;         // likewise of a gap between two kernels
constexpr std::int64_t kWaitingCallNs = 5'000;     // at most, of a waiting call that need not wait
constexpr std::int64_t kEventToleranceNs = 1'000;  // of two times of the device
constexpr std::int64_t kClockToleranceNs = 2'000;  // of the device's clock and the host's
// Where a recording has no example of them.
constexpr std::int64_t kUsualLatencyNs = 5'000, kUsualGapNs = 1'000;

struct DeviceTimes {
  std::vector<std::uint32_t> by_end;  // the rank's works
  // Medians of launches to an idle stream, and of gaps between works that follow closely.
  std::int64_t launch_latency_ns = kUsualLatencyNs, gap_ns = kUsualGapNs;
};

struct StreamOrder {
  std::int64_t most_delay_ns = kFarNs;  // from the end of what work waited for until it begins
  std::vector<std::int32_t> before;     // of each work, the one before it in its stream
  std::vector<DeviceTimes> ranks;
};

StreamOrder stream_order(const RecordedRun& run);

}  // namespace foreshard::simulator
