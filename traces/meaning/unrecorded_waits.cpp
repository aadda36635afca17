#include "traces/meaning/unrecorded_waits.hpp"

#include <algorithm>
#include <limits>

namespace foreshard::traces {
namespace {

constexpr std::int64_t kLongGapNs = 100'000;     // hosts that issue work do not pause for so long
constexpr std::int64_t kWakesWithinNs = 20'000;  // of a host that waits, after the device is done
constexpr std::int64_t kFewestGaps = 10;         // in fewer it may be chance
constexpr double kNearlyEvery = 0.9;

}  // namespace

UnrecordedWaits::UnrecordedWaits(std::span<const CallSpan> calls,
                                 std::span<const LaunchedWork> works) {
  std::size_t devices = 0;
  for (const LaunchedWork& work : works) devices = std::max<std::size_t>(devices, work.device + 1);
  idle_.resize(devices);
  std::vector<Idle> last(devices);
  for (std::size_t i = 0; i < works.size(); ++i) {
    const LaunchedWork& work = works[i];
    Idle& idle = last[work.device];
    if (idle.after != kNone && work.start_ns > idle.start_ns) {
      idle.end_ns = work.start_ns;
      idle_[work.device].push_back(idle);
    }
    if (idle.after == kNone || work.end_ns > idle.start_ns) {
      idle = {work.end_ns, std::numeric_limits<std::int64_t>::max(), static_cast<std::int32_t>(i)};
    }
  }
  for (std::size_t d = 0; d < devices; ++d) idle_[d].push_back(last[d]);

  struct Host {
    std::int64_t returned_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t gaps = 0, after_work = 0;
    bool has_recorded_waits = false;
  };
  std::vector<Host> hosts(devices);
  for (const CallSpan& call : calls) {
    if (call.device >= devices) continue;
    Host& host = hosts[call.device];
    host.has_recorded_waits = host.has_recorded_waits || call.waits;
    const bool is_first = host.returned_ns == std::numeric_limits<std::int64_t>::max();
    if (!is_first && call.start_ns - host.returned_ns >= kLongGapNs) {
      ++host.gaps;
      if (over_before(call.device, host.returned_ns, call.start_ns) != kNone) ++host.after_work;
    }
    host.returned_ns = is_first ? call.end_ns : std::max(host.returned_ns, call.end_ns);
  }
  for (const Host& host : hosts) {
    waits_.push_back(!host.has_recorded_waits && host.gaps >= kFewestGaps &&
                     static_cast<double>(host.after_work) >=
                         kNearlyEvery * static_cast<double>(host.gaps));
  }
}

std::int32_t UnrecordedWaits::over_before(std::uint32_t device, std::int64_t returned_ns,
                                          std::int64_t called_ns) const {
  const std::vector<Idle>& idle = idle_[device];
  const auto later = std::ranges::upper_bound(idle, called_ns, {}, &Idle::start_ns);
  if (later == idle.begin()) return kNone;
  const Idle& before = *std::prev(later);
  const bool is_since = before.start_ns > returned_ns && called_ns <= before.end_ns;
  return is_since && called_ns - before.start_ns <= kWakesWithinNs ? before.after : kNone;
}

std::int32_t UnrecordedWaits::awaited(std::uint32_t device, std::int64_t returned_ns,
                                      std::int64_t called_ns) const {
  if (device >= waits_.size() || !waits_[device]) return kNone;
  return over_before(device, returned_ns, called_ns);
}

}  // namespace foreshard::traces
