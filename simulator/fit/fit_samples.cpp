#include "simulator/fit/fit_samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/base/statistics.hpp"
#include "models/hardware/device_names.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/costs/key_facts.hpp"
#include "simulator/fit/issue.hpp"
#include "simulator/fit/meetings.hpp"
#include "simulator/fit/recorded_host.hpp"
#include "traces/meaning/collectives.hpp"
#include "traces/metadata.hpp"
#include "traces/processors.hpp"
#include "traces/trace.hpp"

namespace foreshard::simulator {
namespace {

// Device work that one operator launched as several kernels. Recordings give every kernel the cost key
// of its operator, and only the sum of them is the operator's cost. Imported recordings join them by
// the call that launched them, our own by instruction.

class OperatorPieces {
 public:
  // Of a sorted trace, of which `events` are all.
  OperatorPieces(const traces::Trace& trace, std::span<const traces::Event> events);

  // Of an operator's pieces the first stands for all. These are of the events given above.
  bool is_part_of_another(const traces::Event& event) const { return time_of(event) < 0; }
  // While any piece of the operator ran, and between them, in nanoseconds; 0 where the event is all there is.
  double time_of(const traces::Event& event) const {
    const auto found = times_.find(&event);
    return found == times_.end() ? 0 : found->second;
  }

 private:
  void join_launches(const traces::Trace& trace, std::span<const traces::Event> events);
  void join_instructions(const traces::Trace& trace, std::span<const traces::Event> events);
  void add(std::vector<const traces::Event*>& pieces);

  std::unordered_map<const traces::Event*, double> times_;
};

using traces::Event;
using traces::EventKind;
using traces::Trace;

// The outermost operator with a cost key around each call that launched something.
std::map<std::pair<std::int32_t, std::int64_t>, const Event*> owners_of_launches(
    const Trace& trace, std::span<const Event> events) {
  std::vector<std::vector<const Event*>> threads(trace.lanes.size());
  for (const Event& event : events) {
    const bool matters = event.correlation != 0 || event.cost_key != 0;
    if (matters && !trace.lanes[static_cast<std::size_t>(event.lane)].device) {
      threads[static_cast<std::size_t>(event.lane)].push_back(&event);
    }
  }
  std::map<std::pair<std::int32_t, std::int64_t>, const Event*> owners;
  for (auto& thread : threads) {
    std::stable_sort(thread.begin(), thread.end(), [](const Event* a, const Event* b) {
      return std::pair(a->start_ns, -a->end_ns) < std::pair(b->start_ns, -b->end_ns);
    });
    const Event* owner = nullptr;
    for (const Event* event : thread) {
      if (owner != nullptr && event->start_ns >= owner->end_ns) owner = nullptr;
      if (owner == nullptr && event->cost_key != 0) owner = event;
      if (owner == nullptr || event->correlation == 0) continue;
      owners[{trace.lanes[static_cast<std::size_t>(event->lane)].rank, event->correlation}] = owner;
    }
  }
  return owners;
}

// With what a stream takes from one kernel to the next; longer gaps are the host's.
double covered_ns(std::vector<const Event*>& pieces) {
  constexpr std::int64_t kLongestGapNs = 2000;
  std::sort(pieces.begin(), pieces.end(),
            [](const Event* a, const Event* b) { return a->start_ns < b->start_ns; });
  std::int64_t sum = 0, until = INT64_MIN;
  for (const Event* piece : pieces) {
    const bool follows = until != INT64_MIN && piece->start_ns > until;
    if (follows && piece->start_ns - until <= kLongestGapNs) sum += piece->start_ns - until;
    sum += std::max<std::int64_t>(0, piece->end_ns - std::max(until, piece->start_ns));
    until = std::max(until, piece->end_ns);
  }
  return static_cast<double>(sum);
}

OperatorPieces::OperatorPieces(const Trace& trace, std::span<const Event> events) {
  join_launches(trace, events);
  join_instructions(trace, events);
}

void OperatorPieces::add(std::vector<const Event*>& pieces) {
  if (pieces.size() < 2) return;
  const double sum = covered_ns(pieces);
  for (const Event* piece : pieces) times_[piece] = -1;
  times_[pieces.front()] = sum;
}

// A stream works on one instruction after the other.
void OperatorPieces::join_instructions(const Trace& trace, std::span<const Event> events) {
  const auto is_of_same = [](const Event& a, const Event& b) {
    return a.lane == b.lane && a.step == b.step && a.instruction == b.instruction;
  };
  std::vector<const Event*> pieces;
  for (const Event& event : events) {
    const bool is_of_device = trace.lanes[static_cast<std::size_t>(event.lane)].device;
    if (!is_of_device || event.instruction < 0 || !is_device_work(event.kind)) continue;
    if (!pieces.empty() && !is_of_same(*pieces.back(), event)) {
      add(pieces);
      pieces.clear();
    }
    pieces.push_back(&event);
  }
  add(pieces);
}

void OperatorPieces::join_launches(const Trace& trace, std::span<const Event> events) {
  const auto owners = owners_of_launches(trace, events);
  if (owners.empty()) return;
  std::unordered_map<const Event*, std::vector<const Event*>> pieces;
  for (const Event& event : events) {
    const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
    if (!lane.device || event.cost_key == 0 || event.correlation == 0) continue;
    const auto owner = owners.find({lane.rank, event.correlation});
    if (owner == owners.end() || owner->second->cost_key != event.cost_key) continue;
    pieces[owner->second].push_back(&event);
  }
  for (auto& [owner, of_one] : pieces) add(of_one);
}

// How many bytes all tasks of a recording read and wrote between two moments: the integral of their
// rates, as a broken line.

class MemoryTraffic {
 public:
  // A task moved so many bytes per nanosecond from one moment to the other.
  void add(std::int64_t start_ns, std::int64_t end_ns, double bytes_per_ns);

  // Call once all tasks are added, before any question.
  void finish();

  // Bytes moved from `start_ns` to `end_ns`.
  double between(std::int64_t start_ns, std::int64_t end_ns) const {
    return until(end_ns) - until(start_ns);
  }

 private:
  double until(std::int64_t at) const;

  std::vector<std::pair<std::int64_t, double>> changes_;  // of the rate
  std::vector<std::int64_t> times_;
  std::vector<double> moved_;  // by each of the times
};

void MemoryTraffic::add(std::int64_t start_ns, std::int64_t end_ns, double bytes_per_ns) {
  if (end_ns <= start_ns) return;
  changes_.emplace_back(start_ns, bytes_per_ns);
  changes_.emplace_back(end_ns, -bytes_per_ns);
}

void MemoryTraffic::finish() {
  std::sort(changes_.begin(), changes_.end());
  double rate = 0, sum = 0;
  for (const auto& [at, change] : changes_) {
    if (!times_.empty()) sum += rate * static_cast<double>(at - times_.back());
    rate += change;
    if (!times_.empty() && times_.back() == at) continue;
    times_.push_back(at);
    moved_.push_back(sum);
  }
}

double MemoryTraffic::until(std::int64_t at) const {
  const auto next = std::upper_bound(times_.begin(), times_.end(), at) - times_.begin();
  if (next == 0) return 0;
  const auto i = static_cast<std::size_t>(next) - 1;
  if (i + 1 == times_.size()) return moved_[i];
  const double share =
      static_cast<double>(at - times_[i]) / static_cast<double>(times_[i + 1] - times_[i]);
  return moved_[i] + share * (moved_[i + 1] - moved_[i]);
}

using traces::Event;
using traces::EventKind;
using traces::Trace;

// The last steps are steady; the first two create state and touch memory for the first time.
constexpr std::int32_t kFirstSteadyStep = 2;

bool is_task(EventKind kind) {
  return is_device_work(kind) || kind == EventKind::host_compute;
}

// The kind of instruction behind an event of a host thread.
std::optional<Kind> instruction_kind(const Trace& trace, const Event& event, Operator op) {
  if (event.kind == EventKind::host_compute) return Kind::host_compute;
  if (event.kind == EventKind::host_wait) return Kind::host_wait;
  if (event.kind != EventKind::host) return {};
  if (op == Operator::kCount) {
    const std::string& word = trace.strings[event.name];
    for (int k = 0; k < kKinds; ++k) {
      if (word == name(static_cast<Kind>(k))) return static_cast<Kind>(k);
    }
    return {};
  }
  if (is_collective(op)) return Kind::collective;
  if (is_host_copy(op)) return Kind::copy;
  return Kind::launch;
}

class Reader {
 public:
  Reader(const Trace& trace, RunSamples& out)
      : trace_(trace),
        out_(out),
        events_(trace.events.begin(), trace.events.end()),
        pieces_(trace, events_),
        part_(machine_reported_as(out.machine_name)) {
    by_lane_.resize(trace.lanes.size());
    for (const Event& event : events_) {
      if (event.end_ns >= event.start_ns)
        by_lane_[static_cast<std::size_t>(event.lane)].push_back(&event);
    }
    for (auto& lane : by_lane_) {
      std::stable_sort(lane.begin(), lane.end(),
                       [](const Event* a, const Event* b) { return a->start_ns < b->start_ns; });
    }
  }

  void read() {
    find_steady_step();
    for (std::size_t lane = 0; lane < by_lane_.size(); ++lane) {
      if (!trace_.lanes[lane].device) index_host(lane);
    }
    find_demands();
    if (!out_.is_accelerator) read_traffic();
    for (const auto& lane : by_lane_) {
      for (const Event* event : lane) read_task(*event);
    }
    for (std::size_t lane = 0; lane < by_lane_.size(); ++lane) {
      if (trace_.lanes[lane].device) {
        read_stream(lane);
      } else {
        read_host(lane);
      }
    }
    read_meetings();
    if (out_.is_accelerator) {
      out_.segments = segment_samples(trace_);
      out_.rank_steps = rank_step_times(trace_);
    }
    read_steps();
  }

 private:
  // Short runs have no steady steps; then the last one must do.
  void find_steady_step() {
    std::int32_t last = 0;
    for (const auto& step : trace_.steps) last = std::max(last, step.step);
    if (trace_.steps.empty()) {
      for (const Event& event : events_) last = std::max(last, event.step);
    }
    first_step_ = std::min(kFirstSteadyStep, last);
  }

  std::int32_t key_of(const Event& event) {
    if (event.cost_key == 0) return -1;
    const auto known = keys_.find(event.cost_key);
    if (known != keys_.end()) return known->second;
    CostKey key;
    std::int32_t index = -1;
    if (parse_cost_key(trace_.strings[event.cost_key], key)) {
      index = static_cast<std::int32_t>(out_.keys.size());
      out_.keys.push_back(key);
    }
    keys_[event.cost_key] = index;
    return index;
  }

  // A task's own time: that of the processor which its stream's thread used. Threads that help it
  // share its work piece by piece until nothing is left, so it is busy as long as they are.
  double time_of(const Event& event) const {
    if (const double all = pieces_.time_of(event); all > 0) return all;
    return static_cast<double>(event.cpu_ns >= 0 ? event.cpu_ns : event.end_ns - event.start_ns);
  }

  // What each key would move per nanosecond undisturbed: in its quickest runs.
  void find_demands() {
    std::vector<std::vector<double>> times;
    for (const auto& lane : by_lane_) {
      for (const Event* event : lane) {
        const std::int32_t key = is_task(event->kind) ? key_of(*event) : -1;
        if (key < 0 || pieces_.is_part_of_another(*event)) continue;
        if (times.size() <= static_cast<std::size_t>(key))
          times.resize(static_cast<std::size_t>(key) + 1);
        times[static_cast<std::size_t>(key)].push_back(time_of(*event));
      }
    }
    times.resize(out_.keys.size());
    for (std::size_t k = 0; k < times.size(); ++k) {
      const CostKey& key = out_.keys[k];
      demands_.push_back(bytes_moved(key) / std::max(1.0, quantile(times[k], 0.1)));
    }
  }

  // Bytes per nanosecond while it ran; less where it had to leave its core to others.
  double traffic_of(const Event& event, std::int32_t key) const {
    const double wall = std::max<double>(1.0, static_cast<double>(event.end_ns - event.start_ns));
    return demands_[static_cast<std::size_t>(key)] * std::min(1.0, time_of(event) / wall);
  }

  void read_traffic() {
    for (const auto& lane : by_lane_) {
      for (const Event* event : lane) {
        const std::int32_t key = is_task(event->kind) ? key_of(*event) : -1;
        if (key >= 0) traffic_.add(event->start_ns, event->end_ns, traffic_of(*event, key));
      }
    }
    traffic_.finish();
  }

  void read_task(const Event& event) {
    if (!is_task(event.kind)) return;
    const std::int32_t key = key_of(event);
    if (key < 0) return void(++out_.tasks_without_key);
    if (pieces_.is_part_of_another(event)) return;
    if (event.cpu_ns < 0 && group_size(event) > 0) return;  // most of it is waiting: read_meetings
    const bool is_setup_work = event.step == 0 && event.kind == EventKind::host_compute;
    if (event.step < first_step_ && !is_setup_work) return;
    const auto wall = static_cast<double>(event.end_ns - event.start_ns);
    TaskSample sample;
    sample.key = key;
    sample.on_host = event.kind == EventKind::host_compute;
    sample.ns = time_of(event);
    if (!out_.is_accelerator) sample.bytes_per_ns = demands_[static_cast<std::size_t>(key)];
    if (wall > 0 && !out_.is_accelerator) {
      const double all = traffic_.between(event.start_ns, event.end_ns) / wall;
      sample.beside = std::max(0.0, all - traffic_of(event, key));
    }
    out_.tasks.push_back(sample);
  }

  // --- the host ---------------------------------------------------------------------------------

  void index_host(std::size_t lane) {
    for (const Event* event : by_lane_[lane]) {
      if (event->instruction < 0 || event->kind == EventKind::range) continue;
      issued_[{trace_.lanes[lane].rank, event->step, event->instruction}] = event;
    }
  }

  void read_host(std::size_t lane) {
    const auto& events = by_lane_[lane];
    std::int64_t issued_until = INT64_MIN;  // an operator's parts are not instructions
    for (const Event* event : events) {
      if (event->kind == EventKind::range || event->step < first_step_) continue;
      if (event->start_ns >= issued_until) {
        read_issue(*event);
        if (event->cost_key != 0) issued_until = event->end_ns;
      }
      if (event->kind == EventKind::host_wait && event->end_ns > event->start_ns) {
        read_wake_up(lane, *event, out_.wait_latency);
      }
    }
  }

  void read_issue(const Event& event) {
    const std::int32_t key = key_of(event);
    const Operator op = key < 0 ? Operator::kCount : out_.keys[static_cast<std::size_t>(key)].op;
    const auto kind = instruction_kind(trace_, event, op);
    if (!kind || *kind == Kind::host_compute || *kind == Kind::host_wait) return;
    const auto ns = static_cast<double>(event.end_ns - event.start_ns);
    out_.issue[static_cast<std::size_t>(*kind)].push_back(ns);
  }

  // --- latencies --------------------------------------------------------------------------------

  // The end of the last task that another stream of the rank finished in (after, until]; -1 without
  // one. It is what a thread that began to work at `until` had most likely waited for: a trace does
  // not name it.
  std::int64_t likely_trigger(std::size_t lane, std::int64_t after, std::int64_t until) const {
    std::int64_t trigger = -1;
    for (std::size_t other = 0; other < by_lane_.size(); ++other) {
      if (other == lane || !trace_.lanes[other].device ||
          trace_.lanes[other].rank != trace_.lanes[lane].rank) {
        continue;
      }
      const auto& events = by_lane_[other];
      auto at = std::upper_bound(events.begin(), events.end(), until,
                                 [](std::int64_t t, const Event* e) { return t < e->start_ns; });
      constexpr int kLookBack = 4;
      for (int back = 0; back < kLookBack && at != events.begin(); ++back) {
        const Event& event = **--at;
        if (!is_device_work(event.kind) || event.end_ns > until) continue;
        if (event.end_ns > after) trigger = std::max(trigger, event.end_ns);
        break;
      }
    }
    return trigger;
  }

  void read_wake_up(std::size_t lane, const Event& wait, std::vector<double>& latencies) {
    const std::int64_t trigger = likely_trigger(lane, wait.start_ns, wait.end_ns);
    if (trigger >= 0) latencies.push_back(static_cast<double>(wait.end_ns - trigger));
  }

  void read_stream(std::size_t lane) {
    const Event* previous = nullptr;
    for (const Event* event : by_lane_[lane]) {
      if (event->step < first_step_ || !is_device_work(event->kind)) continue;
      if (previous != nullptr && event->kind != EventKind::communication) {
        read_start(lane, *event, *previous);
      }
      previous = event;
    }
  }

  // Why a task began when it did: its issue woke the stream up, an event did, or the task before it
  // was over.
  void read_start(std::size_t lane, const Event& event, const Event& previous) {
    const auto found = issued_.find({trace_.lanes[lane].rank, event.step, event.instruction});
    if (found == issued_.end()) return;
    const Event& issue = *found->second;
    const std::int64_t free = std::max(previous.end_ns, issue.end_ns);
    const std::int64_t trigger = likely_trigger(lane, free, event.start_ns);
    const auto since = [&](std::int64_t moment) {
      return std::max(0.0, static_cast<double>(event.start_ns - moment));
    };
    if (trigger >= 0) {
      out_.event_latency.push_back(since(trigger));
    } else if (previous.end_ns < issue.start_ns) {
      out_.launch_latency.push_back(since(issue.end_ns));
    } else if (previous.end_ns > issue.end_ns && previous.step == event.step) {
      out_.stream_gap.push_back(since(previous.end_ns));
    }
  }

  // --- collectives ------------------------------------------------------------------------------

  // Ranks that take part; 0 where it is not a collective or is not described well enough.
  std::int64_t group_size(const Event& event) {
    if (event.kind != EventKind::communication) return 0;
    const std::int32_t key = key_of(event);
    if (key < 0 || pieces_.is_part_of_another(event)) return 0;
    const CostKey& of = out_.keys[static_cast<std::size_t>(key)];
    return is_collective(of.op) ? of.dims[1] : 0;
  }

  void read_meetings() {
    const auto size_of = [&](const Event& event) { return group_size(event); };
    for (const Meeting& meeting : meetings_of(trace_, events_, out_.ranks, first_step_, size_of)) {
      if (meeting.members.front()->cpu_ns < 0) {
        read_last_arrival(meeting);
      } else if (meeting.is_complete && meeting.members.size() > 1) {
        read_rendezvous(meeting);
      }
    }
  }

  // Without processor times, the shortest of the ranks' times is that of the last to arrive.
  void read_last_arrival(const Meeting& meeting) {
    TaskSample sample;
    sample.key = key_of(*meeting.members.front());
    sample.ns = time_of(*meeting.members.front());
    for (const Event* event : meeting.members) sample.ns = std::min(sample.ns, time_of(*event));
    sample.may_have_waited = !meeting.is_complete;
    sample.nodes = nodes_of(meeting);
    out_.tasks.push_back(sample);
  }

  // Of the group, whose ranks the recording names, or holds all of.
  std::int64_t nodes_of(const Meeting& meeting) const {
    if (!part_) return 0;
    const Event& first = *meeting.members.front();
    std::vector<std::int32_t> ranks = traces::process_group(trace_.strings[first.group]).ranks;
    if (ranks.empty() && meeting.is_complete) {
      for (const Event* event : meeting.members) {
        ranks.push_back(trace_.lanes[static_cast<std::size_t>(event->lane)].rank);
      }
    }
    return traces::nodes_holding(ranks, part_->gpus_per_node);
  }

  // From the last rank's arrival at a collective to its end, beyond the processor time it took.
  void read_rendezvous(const Meeting& meeting) {
    std::int64_t last_start = INT64_MIN;
    for (const Event* event : meeting.members) last_start = std::max(last_start, event->start_ns);
    double least = std::numeric_limits<double>::infinity();
    for (const Event* event : meeting.members) {
      const auto beyond = static_cast<double>(event->end_ns - last_start - event->cpu_ns);
      least = std::min(least, std::max(0.0, beyond));
    }
    out_.rendezvous.push_back(least);
  }

  void read_steps() {
    std::vector<double> durations;
    for (const auto& step : trace_.steps) {
      if (step.rank == 0 && step.step > first_step_) {
        durations.push_back(static_cast<double>(step.end_ns - step.start_ns));
      }
    }
    // Predictions are of runs that are not recorded.
    out_.step_ns = std::llround(median(std::move(durations)) * (1 - out_.recorder_share));
  }

  const Trace& trace_;
  RunSamples& out_;
  const std::vector<Event> events_;  // of the trace; what follows points to them
  OperatorPieces pieces_;
  std::vector<std::vector<const Event*>> by_lane_;
  std::unordered_map<traces::StringId, std::int32_t> keys_;
  std::unordered_map<Issue, const Event*, IssueHash> issued_;
  std::vector<double> demands_;  // by key
  MemoryTraffic traffic_;
  std::optional<Machine> part_;  // of the catalogue
  std::int32_t first_step_ = 0;
};

std::string text_of(const Trace& trace, const std::string& key) {
  const auto found = trace.metadata.find(key);
  return found == trace.metadata.end() ? "" : found->second;
}

}  // namespace

double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

Result<RunSamples> samples_of(const traces::Trace& trace, const std::string& file) {
  if (text_of(trace, "predicted") == "1") {
    return fail(file, "predicted", "is a prediction; expected a recording of a real run");
  }
  RunSamples out;
  out.file = file;
  out.model_json = text_of(trace, "model");
  out.plan_toml = text_of(trace, "plan");
  out.machine_name = text_of(trace, "cpu_model");
  // Recordings of accelerators name them, where they were imported not always.
  const std::string source = text_of(trace, "source");
  const auto device = trace.metadata.lower_bound("device.");
  const bool is_named = device != trace.metadata.end() && device->first.starts_with("device.");
  out.is_accelerator = is_named || source == "kineto" || source == "nsys";
  if (out.is_accelerator) out.machine_name = is_named ? device->second : "";
  std::optional<Error> error;
  const auto count = [&](const char* key, int fallback, int most) {
    const auto number = traces::integer_between(trace.metadata, key, 1, most, fallback, file);
    if (!number && !error) error = number.error();
    return number ? static_cast<int>(*number) : fallback;
  };
  out.ranks = count("ranks", 1, kMaxRanks);
  // An accelerator's work does not depend on its host's threads and cores.
  out.threads = out.is_accelerator ? 1 : count("threads_per_rank", 1, kMaxThreads);
  out.cores = out.is_accelerator ? 1 : count("cores", traces::cores(), kMaxCores);
  if (error) return tl::unexpected<Error>(*error);
  const auto traits = traces::recorded_device(trace.metadata, file);
  if (!traits) return tl::unexpected(traits.error());
  out.device = *traits;
  std::set<std::int32_t> recorded;
  for (const traces::Lane& lane : trace.lanes) recorded.insert(lane.rank);
  out.has_all_ranks = std::ssize(recorded) >= out.ranks;
  // CUPTI may take longer than a small model's step; larger values are not plausible.
  constexpr double kMaxRecording = 0.95;
  out.recorder_share = std::clamp(traces::number(trace.metadata, "recorder_overhead_fraction", 0),
                                  0.0, kMaxRecording);
  Reader(trace, out).read();
  // Not where the host computes itself, nor of our own executor's host.
  const bool is_of_pytorch = is_named && out.device.kind == DeviceKind::cpu;
  if (is_of_pytorch) out.pytorch_host = recorded_host(trace);
  return out;
}

}  // namespace foreshard::simulator
