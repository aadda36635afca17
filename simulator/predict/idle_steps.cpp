#include "simulator/predict/idle_steps.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace foreshard::simulator {
namespace {

// By stream: how many of its tasks are over.
using TasksOver = std::vector<std::int32_t>;

void join_tasks(TasksOver& into, const TasksOver& other) {
  for (std::size_t s = 0; s < other.size(); ++s) into[s] = std::max(into[s], other[s]);
}

}  // namespace

bool ends_idle(const Program& step, std::size_t streams) {
  TasksOver issued(streams), host(streams);
  std::vector<TasksOver> at_stream(streams, TasksOver(streams));  // before its next task
  std::vector<TasksOver> at_event(static_cast<std::size_t>(step.events), TasksOver(streams));
  for (const Instruction& i : step.instructions) {
    const auto stream = static_cast<std::size_t>(i.stream);
    switch (i.kind) {
      case Kind::launch:
      case Kind::copy:
      case Kind::collective: at_stream[stream][stream] = ++issued[stream]; break;
      case Kind::record_event:
        at_event[static_cast<std::size_t>(i.target)] = at_stream[stream];
        break;
      case Kind::wait_event:
        join_tasks(at_stream[stream], at_event[static_cast<std::size_t>(i.target)]);
        break;
      case Kind::host_wait: join_tasks(host, at_event[static_cast<std::size_t>(i.target)]); break;
      default: break;
    }
  }
  return host == issued;
}

bool is_ready_when_idle(const HostCosts& host) {
  return std::max(host.stream_gap_ns, host.event_latency_ns) <= host.launch_latency_ns;
}

}  // namespace foreshard::simulator
