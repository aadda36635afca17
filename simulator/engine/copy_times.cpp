#include "simulator/engine/copy_times.hpp"

#include <algorithm>

namespace foreshard::simulator {
namespace {

// Calls `visit` with each time that is not the host's, before and now.
template <typename Visit>
bool all_of(const CopyTimes& before, const CopyTimes& now, const Visit& visit) {
  const auto all = [&](const auto& a, const auto& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), visit);
  };
  const auto both = [&](const StreamTimes& a, const StreamTimes& b) {
    return visit(a.passed, b.passed) && visit(a.ready, b.ready);
  };
  const auto both_ends = [&](const UnderWay& a, const UnderWay& b) {
    return visit(a.start, b.start) && visit(a.end, b.end);
  };
  return std::equal(before.transfers.begin(), before.transfers.end(), now.transfers.begin(),
                    now.transfers.end(), both_ends) &&
         std::equal(before.streams.begin(), before.streams.end(), now.streams.begin(),
                    now.streams.end(), both) &&
         all(before.communicators, now.communicators) && all(before.events, now.events);
}

}  // namespace

// A task that is issued later starts no earlier than the launch latency after that, and an event keeps a
// stream waiting for its own latency.
std::int64_t CopyTimes::irrelevant(const HostCosts& costs) const {
  return host - std::max<std::int64_t>(0, costs.event_latency_ns - costs.launch_latency_ns);
}

std::optional<CopyPeriod> copy_period(const CopyTimes& before, const CopyTimes& now,
                                      bool host_decided, const HostCosts& costs) {
  const std::int64_t past_before = before.irrelevant(costs), past_now = now.irrelevant(costs);
  const auto is_past = [&](std::int64_t a, std::int64_t b) {
    return a <= past_before && b <= past_now;
  };
  CopyPeriod period{now.host - before.host, now.host - before.host};
  all_of(before, now, [&](std::int64_t a, std::int64_t b) {
    if (is_past(a, b)) return true;
    period.streams = b - a;
    return false;
  });
  if (period.streams < period.host) return {};
  const bool host_leads = period.streams > period.host;
  if (host_leads && host_decided) return {};
  const bool repeats = all_of(before, now, [&](std::int64_t a, std::int64_t b) {
    return is_past(a, b) ? !host_leads || a == b : b - a == period.streams;
  });
  if (!repeats) return {};
  return period;
}

}  // namespace foreshard::simulator
