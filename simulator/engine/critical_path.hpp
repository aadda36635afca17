// Why a predicted step takes as long as it does: the work on its critical path, which nothing beside
// it could have made shorter, and how much later everything else could have ended without any rank's
// step taking longer.
//
// Parts carry the names and kinds that `inspect` gives those of a recording: operators by their
// names with the kind of their events, and waiting for the time between two pieces of work. What is
// no operator stands in parentheses.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/engine/engine.hpp"

namespace foreshard::simulator {

struct PathPart {
  std::string name;       // of an operator or an FSDP unit; "(host)", "(waiting)"
  std::string_view kind;  // name(traces::EventKind), or "waiting"
  std::int64_t count = 0;
  std::int64_t ns = 0;
  bool operator==(const PathPart&) const = default;
};

// The least of all work of that name in the step.
struct Slack {
  std::string name;
  std::int64_t ns = 0;
  bool operator==(const Slack&) const = default;
};

struct StepPath {
  std::int64_t length_ns = 0;         // of the step
  std::vector<PathPart> parts;        // longest first; they add up to the length
  std::vector<PathPart> units;        // the work of units among them, longest first
  std::int64_t communication_ns = 0;  // collectives among them
  std::vector<Slack> slack;  // least first; collectives and copies by unit, other work by operator
  bool operator==(const StepPath&) const = default;
};

// Of the rank whose step takes longest. `timelines[r]` is that of `ranks[r]`, as simulate() returned
// it with these options.
StepPath step_path(std::span<const SimulatedRank> ranks, std::span<const RankTimeline> timelines,
                   std::int64_t step, const EngineOptions& options);

}  // namespace foreshard::simulator
