// What the shared engine (engine_shared.cpp) keeps of ranks, lanes and communicators, and how tasks
// become consumers of the resources they share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "simulator/engine.hpp"
#include "simulator/max_min.hpp"

namespace foreshard::simulator::shared_engine {

constexpr int kHostLane = kStreams;  // lanes of a rank: its streams, then its host thread
constexpr int kLanes = kStreams + 1;

// What a host has put on a stream: an instruction of the step it was in at that moment. `count` is
// for waits: how often the event had been recorded when the wait was issued.
struct Item {
  const Instruction* instruction = nullptr;
  std::size_t span = 0;
  std::size_t event = 0;
  std::int32_t count = 0;
};

struct Event {
  std::int32_t issued = 0, reached = 0;  // records of it
  std::uint8_t waiters = 0;              // lanes that wait for it
};
static_assert(kLanes <= 8);

enum class LaneState : std::uint8_t { idle, running, waits_for_event, waits_for_ranks };

// A host or stream with the task it is at: first a latency in which it uses nothing, then work.
struct LaneTask {
  LaneState state = LaneState::idle;
  double latency = 0;
  double work = 0;
  std::vector<Item> queue;  // streams only
  std::size_t head = 0;
};

struct Communicator {
  std::int32_t id = 0;
  std::vector<std::int32_t> members;  // index of the rank
  std::vector<std::int32_t> at;       // by member: lane that waits with this communicator, or -1
  std::int32_t running = 0;           // members whose part is not done
};

struct Rank {
  const SimulatedRank* input = nullptr;
  RankTimeline timeline;
  std::array<LaneTask, kLanes> lanes;
  std::vector<Event> events;
  std::array<std::int32_t, static_cast<std::size_t>(Group::kCount)> communicators{};
  // Collectives of a communicator run in issue order: per group, streams in that order.
  std::array<std::vector<std::uint8_t>, static_cast<std::size_t>(Group::kCount)> issued;
  std::array<std::size_t, static_cast<std::size_t>(Group::kCount)> next_issued{};
  std::int64_t step = 0;
  const Program* program = nullptr;
  std::size_t pc = 0, end = 0, span = 0, delay = 0, first_event = 0;
  std::int64_t delay_ns = 0;  // of the instruction that waits for the device to be idle
  enum class Host : std::uint8_t {
    issuing,
    computing,
    draining,
    waiting,
    done
  } host = Host::issuing;

  bool is_busy() const {
    return std::any_of(lanes.begin(), lanes.begin() + kStreams,
                       [](const LaneTask& lane) { return lane.state != LaneState::idle; });
  }

  const TaskCost& cost(const Instruction& i) const { return input->costs[cost_index(i)]; }

  // Cuts off what was never reached.
  void close_timeline(std::int64_t last_step, std::int64_t now) {
    timeline.spans.resize(span);
    timeline.first_span.resize(static_cast<std::size_t>(last_step) + 2, span);
    timeline.step_end_ns.resize(static_cast<std::size_t>(last_step) + 1, now);
  }
};

// A lane whose task is under way.
struct Active {
  std::int32_t rank = 0;
  std::int32_t lane = 0;
};

// Cores and memory are one for all ranks; the other resources exist once per rank.
constexpr int kCommonResources = 2;

inline std::vector<double> shared_capacities(std::size_t ranks, const EngineOptions& options) {
  const auto begin = options.capacities.begin();
  std::vector<double> result(begin, begin + kCommonResources);
  for (std::size_t r = 0; r < ranks; ++r) {
    result.insert(result.end(), begin + kCommonResources, options.capacities.end());
  }
  return result;
}

inline Consumer issuing_host(const HostCosts& host) {
  Consumer consumer;
  if (host.uses_core) consumer.use(static_cast<int>(Resource::cores), 1);
  return consumer;
}

inline Consumer running_task(const TaskCost& cost, std::size_t rank) {
  Consumer consumer;
  const auto own = static_cast<std::int32_t>(rank) * (kResources - kCommonResources);
  for (int k = 0; k < kResources && consumer.count < kMaxUses; ++k) {
    const auto amount = static_cast<double>(cost.uses[static_cast<std::size_t>(k)]);
    consumer.use(k < kCommonResources ? k : own + k, amount);
  }
  return consumer;
}

}  // namespace foreshard::simulator::shared_engine
