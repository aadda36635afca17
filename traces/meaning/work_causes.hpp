// Why work of devices began when it did, concluded from the times of a recording: for the critical path, for
// `foreshard whatif` and for whoever asks what an event waited for.
//
// Work begins when it has been launched, the work before it in its stream is over, and whatever else its stream
// was told to wait for. A recording shows the launch and the stream's order, but seldom the rest. So, of work that
// began at S:
//
//   Where its stream was still at work when it was launched, or its launch is not recorded, and the work before it
//   ended just before S, it followed that.
//   Where its stream was idle and a launch takes as long as from its own to S, it waited for nothing but that; a
//   launching call that did other things as well, such as loading a module, launched it no sooner than it returned.
//   Otherwise it waited for another stream: for what ended nearest to S. A kernel may begin some microseconds
//   before the recorded end of what it waited for, and, where no work ended near S, in the midst of work that left
//   room for it only then.
//   Where no other stream was at work, nothing recorded explains it.
//
// A stream that the recording shows to have been told to wait did so. Of two explanations that leave a few
// microseconds open, the one holds that leaves less.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "traces/meaning/launches.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

struct LaunchedWork {
  static constexpr std::int64_t kNotLaunched = std::numeric_limits<std::int64_t>::min();

  std::int64_t start_ns = 0, end_ns = 0;
  // When the call that launched it began. Clocks of devices and hosts differ by some microseconds: what is recorded
  // to begin before its call began with it.
  std::int64_t launched_ns = kNotLaunched;
  std::int64_t returned_ns =
      kNotLaunched;               // the end of that call, where it did not wait for the work itself
  std::uint32_t stream = 0;       // counted over all devices
  std::uint32_t device = 0;       // one for each rank, from 0 on
  bool was_told_to_wait = false;  // since the work before it in its stream
};

// The work of all devices by start, and which events that is.
struct DeviceWork {
  std::vector<LaunchedWork> works;
  std::vector<std::uint32_t> events;  // indices into Trace::events
  std::vector<std::int32_t> ranks;    // of each device, ascending

  std::uint32_t device_of(std::int32_t rank) const {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(ranks, rank) - ranks.begin());
  }
};
DeviceWork device_work(const Trace& trace, const Launches& launches);
// Of these events alone, which are work of devices or waits of their streams.
DeviceWork device_work(const Trace& trace, const Launches& launches,
                       std::span<const std::uint32_t> events);

struct WorkCause {
  enum class Kind : std::uint8_t {
    launch,
    before,       // the work before it in its stream, or what that had done by then
    other,        // of another stream, likewise
    unexplained,  // `work`, of whatever stream, was the last that was over
  };
  Kind kind = Kind::unexplained;
  std::int32_t work = kNone;    // what was awaited; the launch has none
  std::int32_t before = kNone;  // the work before it in its stream
};

// How the times are read. What a device does between two kernels of a stream, or from a call to its kernel where
// nothing is in the way, takes 1 to 10 us.
struct CauseTolerances {
  std::int64_t close_ns = 3'000;   // beyond what is usual: still the same delay
  std::int64_t far_ns = 30'000;    // longer than any such delay: something else was awaited
  std::int64_t early_ns = 10'000;  // that work begins before the recorded end of what it waited for
  bool may_leave_room = true;      // work may let other work begin in its midst
};
// Of our own recordings of processors, whose streams may be threads that wake up late where they share cores.
constexpr CauseTolerances kTolerancesOfThreads{3'000, 1'000'000, 1'000, false};

// Whether Foreshard recorded or predicted the trace; others are imported.
bool is_own(const Trace& trace);
// Those by which the work of a trace is to be read.
CauseTolerances tolerances_of(const Trace& trace);

struct WorkCauses {
  struct Device {
    std::vector<std::uint32_t> by_end;  // its works
    // Medians of launches to an idle stream, and of gaps between works that follow closely; where there are none,
    // what is usual on GPUs.
    std::int64_t launch_latency_ns = 5'000, gap_ns = 1'000;
  };

  std::vector<WorkCause> of;  // of each work
  std::vector<Device> devices;

  // The work of a device that was over last in (since, until]; kNone where there is none.
  std::int32_t last_over(std::span<const LaunchedWork> works, std::uint32_t device,
                         std::int64_t until, std::int64_t since) const;
};

// Of works by their starts; indices are into them.
WorkCauses work_causes(std::span<const LaunchedWork> works, const CauseTolerances& tolerances = {});

}  // namespace foreshard::traces
