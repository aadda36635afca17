// The engine: walks step programs on a modelled device and computes when everything happens.
//
// Each simulated rank has a host thread that walks its program in order. An instruction costs the
// host its issue time; host_wait blocks it until an event is reached. Streams are queues: their
// tasks run one after the other, each once the host has issued it and the stream has passed every
// event it was told to wait for; latencies are minima, so a task starts at the latest of
//
//   its issue + launch_latency,  the end of the task before + stream_gap,
//   each event that kept the stream waiting + event_latency
//
// A collective starts when every simulated rank of its group has
// reached it and its communicator is free; the collectives of one communicator run in the order in
// which they were issued, whatever their streams, and end together on all ranks.
//
// Two ways to the same answer:
//   in order   where tasks do not slow each other down, everything an instruction depends on stands
//              before it in the program, so one pass in program order gives every time. Ranks are
//              taken from collective to collective in turn.
//   shared     tasks that run at the same time share cores and memory bandwidth by max-min fairness
//              (max_min.hpp); an event loop recomputes the rates whenever the set of running tasks
//              changes.
//
// Memory takes no part here: what allocations cost the host comes in as a list of delays.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "models/program/step_program.hpp"

namespace foreshard::simulator {

// What the tasks of all ranks share.
enum class Resource : std::uint8_t { cores, memory, kCount };
constexpr int kResources = static_cast<int>(Resource::kCount);

// What transfers - collectives, and copies over the host link - take of a device and its node while they
// run (contention.hpp): multiprocessors and memory bandwidth, which kernels then lack; the links inside of a
// node, the node's network cards and both directions of the link to the host, which transfers share.
enum class Part : std::uint8_t {
  multiprocessors,
  memory,
  links,
  cards,
  from_host,
  to_host,
  kCount
};
using Demand =
    std::array<float, static_cast<std::size_t>(Part::kCount)>;  // shares of what there is

// Duration of a task that has the machine to itself; what it uses of each resource meanwhile: cores,
// bytes per nanosecond. Where tasks share nothing of these: what a transfer takes, and of which part a
// kernel does without what transfers take.
struct TaskCost {
  std::int64_t ns = 0;
  std::array<float, kResources> uses{};
  Demand takes{};
  Part lacks = Part::kCount;  // none
};

struct HostCosts {
  std::array<std::int64_t, kKinds> issue_ns{};  // by Kind; of host_wait: one that need not wait
  std::int64_t launch_latency_ns = 0;           // from the end of the issue to the start, at least
  std::int64_t stream_gap_ns = 0;     // from a task's end to the start of the stream's next
  std::int64_t event_latency_ns = 0;  // from an event to the work of a stream that waited for it
  std::int64_t wait_latency_ns = 0;   // from an event to the end of the host's wait for it
  std::int64_t rendezvous_ns = 0;     // from the last arrival at a collective to its start
  bool uses_core = false;             // host threads share the cores with the tasks
};

// Time an instruction takes the host beyond its issue time: segments from the device.
struct HostDelay {
  std::int32_t step = 0;
  std::int32_t instruction = 0;
  std::int64_t ns = 0;
  bool drains = false;  // the device is idle before it returns, as cudaFree makes it
  bool operator==(const HostDelay&) const = default;
};

// Costs of a key, by where the work is done: on a stream, by the host itself, or by a collective of
// one of the groups, whose ranks may be spread over more nodes than those of another.
constexpr std::size_t kHostPlace = 1, kFirstGroupPlace = 2;
constexpr std::size_t cost_places(const RankPlace& place) {
  return kFirstGroupPlace + place.groups.size();
}

// Where an instruction's cost stands in a list with so many places for each cost key.
constexpr std::size_t cost_index(const Instruction& i, std::size_t places) {
  const std::size_t place = i.kind == Kind::collective
                                ? kFirstGroupPlace + static_cast<std::size_t>(i.group)
                            : i.kind == Kind::host_compute ? kHostPlace
                                                           : 0;
  return static_cast<std::size_t>(i.cost_key) * places + place;
}

// Host nanoseconds of each of a program's instructions.
using IssueTimes = std::vector<std::int64_t>;

// A rank and its programs. The ranks of a simulation have as many closing programs each.
struct SimulatedRank {
  const RankProgram* program = nullptr;
  std::span<const TaskCost> costs;      // by cost_index, with the places of the program
  std::span<const HostDelay> delays;    // by step, then instruction
  RankPlace place;                      // of this rank; the program may be that of its class
  std::span<const IssueTimes> issue{};  // by program; empty: those of HostCosts, by kind

  std::size_t streams() const { return program->streams.size(); }
  // What it runs in that step, of so many, behind which the closing programs count on.
  const Program& program_of(std::int64_t step, std::int64_t steps) const {
    return program->programs[program->number_of(step, steps)];
  }
  // Of that program's instructions; nullptr: by their kinds.
  const std::int64_t* issue_of(std::int64_t step, std::int64_t steps) const {
    return issue.empty() ? nullptr : issue[program->number_of(step, steps)].data();
  }
};

// Which ranks are simulated: all of them; or one of each class, which stands for it, in every group that its
// ranks are in; or one of each class where it is, as a stage of a pipeline that other stages wait for, with
// those of its groups that are simulated too.
enum class Simulated : std::uint8_t { all_ranks, one_per_class, one_per_class_in_place };

struct EngineOptions {
  std::int64_t steps = 2;  // after the set-up, which is step 0, and before the closing programs
  HostCosts host;
  bool shares = false;                          // tasks slow each other down
  std::array<double, kResources> capacities{};  // 0: unlimited
  Simulated simulated = Simulated::one_per_class;
  std::int64_t first_step =
      0;  // those before it are left out, and it begins at 0 with an idle device
  std::int64_t stop_step = -1;  // simulate up to this instruction only (out of memory); -1: all
  std::int32_t stop_instruction = 0;
};

// What a rank's host pays for the `n`-th instruction of a step.
inline std::int64_t issue_ns(const SimulatedRank& rank, std::int64_t step, std::size_t n,
                             const EngineOptions& options) {
  if (const std::int64_t* times = rank.issue_of(step, options.steps)) return times[n];
  const Instruction& i = rank.program_of(step, options.steps).instructions[n];
  return options.host.issue_ns[static_cast<std::size_t>(i.kind)];
}

// Closing programs counted.
inline std::int64_t last_simulated_step(const SimulatedRank& rank, const EngineOptions& options) {
  return options.stop_step >= 0 ? options.stop_step
                                : options.steps + static_cast<std::int64_t>(rank.program->closing);
}

// When one instruction happened. The host begins with it at `issue`; `start` and `end` are those of
// the work: on the stream for launches, collectives and copies, on the host for everything else.
struct Span {
  std::int64_t issue = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

// Copies of a program's repetition that did what the one before them did, only later: from copy to copy
// the host and the streams each take an amount of time of their own.
struct RepeatedSpans {
  std::size_t first = 0, count = 0;  // spans of the copy that stands for those that follow it
  std::int64_t times = 0;            // how many follow
  std::int64_t host_ns = 0, stream_ns = 0;
};

struct RankTimeline {
  // Of all steps, one after the other; in a step whose program has a repetition, of all its copies but
  // those in `repeated`.
  std::vector<Span> spans;
  std::vector<std::size_t> first_span;    // by step; one more entry for the end
  std::vector<std::int64_t> step_end_ns;  // when the host was done with the step
  std::vector<RepeatedSpans> repeated;    // in the order of their spans

  std::span<const Span> step(std::size_t n) const {
    return std::span(spans).subspan(first_span[n], first_span[n + 1] - first_span[n]);
  }
  // The end of an instruction's span, or of its step where it has none; 0 in a step that was not
  // simulated.
  std::int64_t done_ns(std::size_t n, std::size_t instruction) const {
    if (n + 1 >= first_span.size()) return 0;
    const auto of_step = step(n);
    return instruction < of_step.size() ? of_step[instruction].end : step_end_ns[n];
  }
};

// The timeline of the unrolled program.
RankTimeline unrolled(const RankTimeline& timeline, const RankProgram& program);

// Programs with repetitions only where tasks do not share. Throws std::logic_error when a program can
// never finish (ranks wait for each other). `memory`: timelines that are no longer wanted, whose memory
// these take over.
std::vector<RankTimeline> simulate(std::span<const SimulatedRank> ranks,
                                   const EngineOptions& options,
                                   std::vector<RankTimeline> memory = {});

// Whether an instruction is work of a stream.
constexpr bool runs_on_stream(Kind kind) {
  return kind == Kind::launch || kind == Kind::collective || kind == Kind::copy;
}

// Whether an instruction takes the host its issue time and does nothing else that has a time.
constexpr bool takes_issue_time_only(Kind kind) {
  const bool uses_events =
      kind == Kind::record_event || kind == Kind::wait_event || kind == Kind::host_wait;
  return !runs_on_stream(kind) && !uses_events && kind != Kind::host_compute;
}

// A number for the communicator that `group` is for the rank at `place`: equal on its members. Groups
// of all ranks stand in the same rows.
std::int64_t communicator_id(const RankPlace& place, Group group, Simulated simulated);

}  // namespace foreshard::simulator
