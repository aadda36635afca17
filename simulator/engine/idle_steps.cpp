#include "simulator/engine/idle_steps.hpp"

#include <algorithm>
#include <vector>

namespace foreshard::simulator {

// From the end back: what has been waited for, and what follows from it.
bool ends_idle(const Program& step, std::size_t streams) {
  std::vector<bool> is_over(streams);  // all that the stream has done so far
  std::vector<bool> is_reached(static_cast<std::size_t>(step.events));
  std::size_t unknown = streams;
  for (auto i = step.instructions.rbegin(); i != step.instructions.rend() && unknown > 0; ++i) {
    const auto stream = static_cast<std::size_t>(i->stream);
    switch (i->kind) {
      case Kind::launch:
      case Kind::copy:
      case Kind::collective:
        if (!is_over[stream]) return false;
        break;
      case Kind::record_event:
        if (!is_reached[static_cast<std::size_t>(i->target)]) break;
        is_reached[static_cast<std::size_t>(i->target)] = false;  // the ones recorded before
        if (!is_over[stream]) --unknown;
        is_over[stream] = true;
        break;
      case Kind::wait_event:
        if (is_over[stream]) is_reached[static_cast<std::size_t>(i->target)] = true;
        break;
      case Kind::host_wait: is_reached[static_cast<std::size_t>(i->target)] = true; break;
      default: break;
    }
  }
  return true;
}

bool is_ready_when_idle(const HostCosts& host) {
  return std::max(host.stream_gap_ns, host.event_latency_ns) <= host.launch_latency_ns;
}

}  // namespace foreshard::simulator
