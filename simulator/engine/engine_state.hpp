// What the shared engine (engine_shared.cpp) keeps of ranks, lanes and communicators, and how tasks
// become consumers of the resources they share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "simulator/engine/engine.hpp"
#include "simulator/engine/max_min.hpp"

namespace foreshard::simulator::shared_engine {

// A moment at which an event was recorded: an index into Rank::reached, which has the time. An event
// that is recorded twice has two; who waits for it means the last one issued before.
using RecordId = std::int32_t;
constexpr RecordId kNeverRecorded = -1;
constexpr double kNotYet = -1;

// What a host has put on a stream: an instruction of the step it was in at that moment.
struct Item {
  const Instruction* instruction = nullptr;
  std::size_t span = 0;
  double issued = 0;  // when the host was done with issuing it
  std::size_t event = 0;
  RecordId record = kNeverRecorded;  // that it makes, or waits for
};

struct Event {
  RecordId last_issued = kNeverRecorded;
  std::vector<std::uint16_t> waiters;  // lanes that wait for it
};

enum class LaneState : std::uint8_t { idle, running, waits_for_event, waits_for_ranks };

// A host or stream with the task it is at: first a latency in which it uses nothing, then work.
struct LaneTask {
  LaneState state = LaneState::idle;
  double latency = 0;
  double work = 0;
  // Streams only: what the host has put there, when it was done with all before `head`, and when
  // the next task can start.
  std::vector<Item> queue;
  std::size_t head = 0;
  double passed = 0, ready = 0;

  void end_task(double time, const HostCosts& host) {
    passed = time;
    ready = time + static_cast<double>(host.stream_gap_ns);
  }
  void pass_event(double time, const HostCosts& host) {
    if (time <= passed) return;
    passed = time;
    ready = std::max(ready, time + static_cast<double>(host.event_latency_ns));
  }
  // When the task at the head starts, if nobody else has to be waited for.
  double start(const HostCosts& host) const {
    return std::max(ready, queue[head].issued + static_cast<double>(host.launch_latency_ns));
  }
};

struct Communicator {
  std::int64_t id = 0;
  std::vector<std::int32_t> members;  // index of the rank
  std::vector<std::int32_t> at;       // by member: lane that waits with this communicator, or -1
  std::int32_t running = 0;           // members whose part is not done
};

struct Rank {
  explicit Rank(const SimulatedRank& of)
      : input(&of),
        lanes(of.streams() + 1),
        communicators(of.place.groups.size()),
        issued(communicators.size()),
        next_issued(communicators.size()),
        places(cost_places(of.program->place)) {}

  const SimulatedRank* input = nullptr;
  RankTimeline timeline;
  std::vector<LaneTask> lanes;  // its streams, then its host thread
  std::vector<Event> events;
  std::vector<double> reached;              // by RecordId: when, or kNotYet
  std::vector<std::int32_t> communicators;  // by group
  // Collectives of a communicator run in issue order: per group, streams in that order.
  std::vector<std::vector<std::uint8_t>> issued;
  std::vector<std::size_t> next_issued;
  std::size_t places = 0;  // of the costs of a key
  std::int64_t step = 0;
  const Program* program = nullptr;
  std::size_t pc = 0, end = 0, span = 0, delay = 0, first_event = 0;
  std::int64_t delay_ns = 0;  // that follows once the device is idle
  RecordId awaited = kNeverRecorded;
  double waits_since = 0;
  enum class Host : std::uint8_t {
    issuing,
    draining,
    delayed,
    computing,
    waiting,
    done
  } host = Host::issuing;

  bool is_reached(RecordId record) const {
    return record == kNeverRecorded || reached[static_cast<std::size_t>(record)] != kNotYet;
  }
  double time_of(RecordId record) const {
    return record == kNeverRecorded ? kNotYet : reached[static_cast<std::size_t>(record)];
  }

  std::size_t host_lane() const { return lanes.size() - 1; }
  LaneTask& host_task() { return lanes.back(); }
  bool is_busy() const {
    return std::any_of(lanes.begin(), lanes.end() - 1,
                       [](const LaneTask& lane) { return lane.state != LaneState::idle; });
  }

  const TaskCost& cost(const Instruction& i) const { return input->costs[cost_index(i, places)]; }

  // What the allocator costs the host at the instruction that it is at; null: nothing.
  const HostDelay* take_delay() {
    if (delay == input->delays.size()) return nullptr;
    const HostDelay& next = input->delays[delay];
    if (next.step != step || next.instruction != static_cast<std::int32_t>(pc)) return nullptr;
    ++delay;
    return &next;
  }

  // The lane on which it stands at a communicator's next collective, or -1.
  std::int32_t lane_at_next(std::int32_t communicator) const {
    for (std::size_t g = 0; g < communicators.size(); ++g) {
      if (communicators[g] != communicator || next_issued[g] >= issued[g].size()) continue;
      const std::size_t lane = issued[g][next_issued[g]];
      const LaneTask& task = lanes[lane];
      if (task.state != LaneState::waits_for_ranks) return -1;
      const Instruction& i = *task.queue[task.head].instruction;
      return static_cast<std::size_t>(i.group) == g ? static_cast<std::int32_t>(lane) : -1;
    }
    return -1;
  }

  void open_timeline(std::int64_t last_step, std::int64_t steps) {
    std::size_t spans = 0;
    for (std::int64_t s = 0; s <= last_step; ++s)
      spans += input->program_of(s, steps).instructions.size();
    timeline.spans.resize(spans);
    timeline.first_span.push_back(0);
  }

  // Cuts off what was never reached.
  void close_timeline(std::int64_t last_step, std::int64_t now) {
    timeline.spans.resize(span);
    timeline.first_span.resize(static_cast<std::size_t>(last_step) + 2, span);
    timeline.step_end_ns.resize(static_cast<std::size_t>(last_step) + 1, now);
  }
};

// Makes a rank a member of the communicators of its groups, new ones where it is the first.
inline void join_communicators(std::vector<Communicator>& communicators, Rank& rank,
                               std::int32_t index, Simulated simulated) {
  for (std::size_t g = 0; g < rank.communicators.size(); ++g) {
    const auto id = communicator_id(rank.input->place, static_cast<Group>(g), simulated);
    std::size_t c = 0;
    while (c < communicators.size() && communicators[c].id != id) ++c;
    if (c == communicators.size()) communicators.emplace_back().id = id;
    communicators[c].members.push_back(index);
    communicators[c].at.push_back(-1);
    rank.communicators[g] = static_cast<std::int32_t>(c);
  }
}

// A lane whose task is under way.
struct Active {
  std::int32_t rank = 0;
  std::int32_t lane = 0;
  bool is_host = false;
};

inline Consumer issuing_host(const HostCosts& host) {
  Consumer consumer;
  if (host.uses_core) consumer.use(static_cast<int>(Resource::cores), 1);
  return consumer;
}

static_assert(kResources <= kMaxUses);

inline Consumer running_task(const TaskCost& cost) {
  Consumer consumer;
  for (int k = 0; k < kResources; ++k) {
    consumer.use(k, static_cast<double>(cost.uses[static_cast<std::size_t>(k)]));
  }
  return consumer;
}

}  // namespace foreshard::simulator::shared_engine
