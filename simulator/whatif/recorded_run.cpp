#include "simulator/whatif/recorded_run.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "models/program/operators.hpp"
#include "simulator/fit/meetings.hpp"
#include "traces/meaning/device_calls.hpp"
#include "traces/meaning/launches.hpp"
#include "traces/metadata.hpp"

namespace foreshard::simulator {
namespace {

using traces::Event;
using traces::EventKind;

struct WorkClassHash {
  std::size_t operator()(const WorkClass& c) const {
    return (static_cast<std::size_t>(c.name) * 1'000'003 + static_cast<std::size_t>(c.cost_key)) *
               31 +
           static_cast<std::size_t>(c.kind);
  }
};

class RunReader {
 public:
  explicit RunReader(const traces::Trace& trace) : trace_(trace), launches_(trace) {
    run_.is_own = traces::is_own(trace);
    run_.tolerances = traces::tolerances_of(trace);
  }

  RecordedRun read() {
    number_ranks();
    read_work();
    read_calls();
    find_span();
    relate_calls();
    find_meetings();
    return std::move(run_);
  }

 private:
  bool is_call(const Event& e) const {
    if (trace_.lanes[static_cast<std::size_t>(e.lane)].device) return false;
    if (e.kind == EventKind::host_wait) return true;
    return run_.is_own ? e.kind == EventKind::host || e.kind == EventKind::host_compute
                       : e.kind == EventKind::runtime;
  }

  HostCall::Kind kind_of(const Event& e) const {
    const std::string& name = trace_.strings[e.name];
    if (e.kind == EventKind::host_wait) {
      const bool is_whole =
          name.find("Device") != std::string::npos || name.find("Ctx") != std::string::npos;
      return is_whole ? HostCall::Kind::wait_all : HostCall::Kind::wait;
    }
    return traces::launches_kernel(name) ? HostCall::Kind::launch : HostCall::Kind::other;
  }

  ActivityId activity_of(const Event& e) {
    const WorkClass its{e.kind, e.name, e.cost_key};
    const auto next = static_cast<ActivityId>(kOtherActivities + run_.classes.size());
    const auto [found, is_new] = activities_.try_emplace(its, next);
    if (is_new) run_.classes.push_back(its);
    return found->second;
  }

  void number_ranks() {
    std::map<std::int32_t, std::uint32_t> numbers;
    for (const traces::Lane& lane : trace_.lanes) numbers.try_emplace(lane.rank);
    for (const traces::Step& step : trace_.steps) numbers.try_emplace(step.rank);
    for (auto& [rank, number] : numbers) number = run_.ranks++;
    for (const traces::Lane& lane : trace_.lanes) run_.lane_ranks.push_back(numbers[lane.rank]);
    for (const traces::Step& step : trace_.steps) {
      run_.steps.push_back({numbers[step.rank], step.start_ns, step.end_ns});
    }
  }

  void read_work() {
    traces::DeviceWork device = traces::device_work(trace_, launches_);
    for (std::size_t w = 0; w < device.works.size(); ++w) {
      traces::LaunchedWork& work = device.works[w];
      work.device = run_.lane_ranks[work.stream];
      run_.works.push_back({work.start_ns, work.end_ns, work.stream,
                            activity_of(trace_.events[device.events[w]]), kNotRecorded,
                            kNotRecorded, device.events[w]});
    }
    run_.launched = std::move(device.works);
  }

  void read_calls() {
    calls_of_events_.assign(trace_.events.size(), kNotRecorded);
    std::vector<std::pair<std::int64_t, std::uint32_t>> calls;  // by start
    for (std::size_t i = 0; i < trace_.events.size(); ++i) {
      const Event e = trace_.events[i];
      if (!is_call(e)) continue;
      calls.emplace_back(e.start_ns, static_cast<std::uint32_t>(i));
    }
    std::sort(calls.begin(), calls.end());
    for (const auto& [start, event] : calls) {
      const Event e = trace_.events[event];
      calls_of_events_[event] = static_cast<std::int32_t>(run_.calls.size());
      run_.calls.push_back({start, std::max(start, e.end_ns), static_cast<std::uint32_t>(e.lane),
                            kind_of(e), kNotRecorded, e.name});
    }
  }

  void find_span() {
    if (run_.works.empty()) return;
    run_.start_ns = run_.works.front().start_ns;
    if (!run_.calls.empty()) run_.start_ns = std::min(run_.start_ns, run_.calls.front().start_ns);
    run_.end_ns = run_.start_ns;
    for (const RecordedWork& work : run_.works) run_.end_ns = std::max(run_.end_ns, work.end_ns);
    for (const HostCall& call : run_.calls) run_.end_ns = std::max(run_.end_ns, call.end_ns);
  }

  void relate_calls() {
    for (std::size_t i = 0; i < run_.works.size(); ++i) {
      RecordedWork& work = run_.works[i];
      const std::int32_t event = launches_.of(work.event);
      if (event == traces::Launches::kUnknown) {
        ++run_.unmatched;
        continue;
      }
      work.call = calls_of_events_[static_cast<std::size_t>(event)];
      if (work.call == kNotRecorded) continue;
      HostCall& call = run_.calls[static_cast<std::size_t>(work.call)];
      call.work = static_cast<std::int32_t>(i);
      if (call.waits() && call.kind != HostCall::Kind::copy) continue;
      const bool is_copy = run_.class_of(work).kind == EventKind::memory && is_copy_call(event);
      call.kind = is_copy && work.end_ns <= call.end_ns + kClockToleranceNs
                      ? HostCall::Kind::copy
                      : HostCall::Kind::launch;
    }
  }

  bool is_copy_call(std::int32_t event) const {
    const traces::StringId name = trace_.events[static_cast<std::size_t>(event)].name;
    return trace_.strings[name].find("emcpy") != std::string::npos;
  }

  // A collective of which the recording does not say how many take part is taken to be of all
  // ranks.
  void find_meetings() {
    if (run_.ranks < 2) return;
    std::vector<Event> collectives;
    std::vector<std::uint32_t> works;
    for (std::size_t i = 0; i < run_.works.size(); ++i) {
      if (run_.class_of(run_.works[i]).kind != EventKind::communication) continue;
      collectives.push_back(trace_.events[run_.works[i].event]);
      works.push_back(static_cast<std::uint32_t>(i));
    }
    const auto group_size = [&](const Event& e) -> std::int64_t {
      CostKey key;
      const bool is_known = parse_cost_key(trace_.strings[e.cost_key], key) && key.dims[1] > 0;
      return is_known ? key.dims[1] : run_.ranks;
    };
    const std::int64_t ranks = traces::integer(trace_.metadata, "ranks", run_.ranks);
    for (const Meeting& meeting : meetings_of(
             trace_, collectives, ranks, std::numeric_limits<std::int32_t>::min(), group_size)) {
      if (meeting.members.size() < 2) continue;
      RecordedMeeting& recorded = run_.meetings.emplace_back();
      for (const Event* member : meeting.members) {
        recorded.works.push_back(works[static_cast<std::size_t>(member - collectives.data())]);
        recorded.start_ns = std::max(recorded.start_ns, member->start_ns);
        run_.works[recorded.works.back()].meeting =
            static_cast<std::int32_t>(run_.meetings.size() - 1);
      }
    }
  }

  const traces::Trace& trace_;
  traces::Launches launches_;
  RecordedRun run_;
  std::unordered_map<WorkClass, ActivityId, WorkClassHash> activities_;
  std::vector<std::int32_t> calls_of_events_;
};

}  // namespace

Result<RecordedRun> recorded_run(const traces::Trace& trace, const std::string& file) {
  RecordedRun run = RunReader(trace).read();
  if (run.works.empty()) {
    return fail(
        file, "events",
        "no device does any work in this recording; expected kernels, copies or collectives "
        "to simulate again");
  }
  return run;
}

}  // namespace foreshard::simulator
