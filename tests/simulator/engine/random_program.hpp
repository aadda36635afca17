// Random step programs and latencies, for laws that hold of every schedule.
#pragma once

#include <array>
#include <vector>

#include <rapidcheck.h>

#include "tests/simulator/small_program.hpp"

namespace foreshard::simulator {

// More than our own lowering makes.
constexpr int kStreams = 12, kGroups = 6;

// What happens, on which stream, and a number of nanoseconds or of an event.
using RandomScript = std::vector<std::array<int, 3>>;

inline RandomScript random_script() {
  return *rc::gen::container<RandomScript>(rc::gen::apply(
      [](int a, int b, int c) {
        return std::array{a, b, c};
      },
      rc::gen::inRange(0, 7), rc::gen::inRange(0, kStreams), rc::gen::inRange(1, 500)));
}

// Work, events that are recorded before they are waited for, collectives and allocations. Ranks of
// one script meet at the same collectives and differ in how long their tasks take.
inline SmallProgram random_program(int rank, int ranks, const RandomScript& script) {
  SmallProgram p(rank, ranks);
  p.program.streams.resize(kStreams);
  p.program.groups.resize(kGroups, p.program.groups[0]);
  p.program.place = place_in(p.program.groups, rank);
  EventId events = 0;
  for (const auto& [what, where, ns] : script) {
    const auto stream = static_cast<Stream>(where % kStreams);
    switch (what) {
      case 0:
      case 1: p.launch(stream, ns + rank * (ns % 3)); break;
      case 2:
        p.collective(stream, ns, static_cast<Group>(ns % 5 == 0 ? ns / 5 % kGroups : 0));
        break;
      case 3:
        // Sometimes one that was recorded before.
        p.record(stream, events > 0 && ns % 4 == 0 ? ns % events : events++);
        break;
      case 4:
        if (events > 0) p.wait(stream, ns % events);
        break;
      case 5:
        if (events > 0) p.host_wait(ns % events);
        break;
      default: p.add(Kind::alloc, stream, 0);
    }
  }
  return p;
}

// What the allocations of a program cost its host; some wait for an idle device.
inline std::vector<HostDelay> random_delays(const SmallProgram& program,
                                            const RandomScript& script) {
  std::vector<HostDelay> delays;
  const auto& instructions = program.program.programs[1].instructions;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (instructions[i].kind != Kind::alloc) continue;
    const int ns = script[i % script.size()][2];
    if (ns % 3 == 0) continue;
    delays.push_back({1, static_cast<std::int32_t>(i), ns % 70, ns % 2 == 0});
  }
  return delays;
}

// Two ranks that run one script in every step.
class RandomRanks {
 public:
  explicit RandomRanks(const RandomScript& script) {
    for (int rank = 0; rank < 2; ++rank) {
      programs_.push_back(random_program(rank, 2, script));
      programs_.back().program.programs[2] = programs_.back().program.programs[1];
    }
    for (const SmallProgram& p : programs_) delays_.push_back(random_delays(p, script));
  }

  std::vector<SimulatedRank> simulated() const {
    std::vector<SimulatedRank> ranks;
    for (std::size_t r = 0; r < programs_.size(); ++r) {
      ranks.push_back(programs_[r].simulated(&delays_[r]));
    }
    return ranks;
  }

 private:
  std::vector<SmallProgram> programs_;
  std::vector<std::vector<HostDelay>> delays_;
};

inline HostCosts random_host_costs() {
  HostCosts host;
  host.issue_ns.fill(*rc::gen::inRange(0, 30));
  host.launch_latency_ns = *rc::gen::inRange(0, 100);
  host.stream_gap_ns = *rc::gen::inRange(0, 100);
  host.event_latency_ns = *rc::gen::inRange(0, 100);
  host.wait_latency_ns = *rc::gen::inRange(0, 100);
  host.rendezvous_ns = *rc::gen::inRange(0, 100);
  return host;
}

}  // namespace foreshard::simulator
