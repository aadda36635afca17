// Which event of one trace is which of another: by rank, lane kind and stable key.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::profiler {

// For every baseline rank the candidate one that stands for it: in a prediction that simulates one
// rank of each class that one (metadata rank_classes). Recordings of one rank each are compared
// whichever ranks they are.
class RankCounterparts {
 public:
  RankCounterparts(const traces::Trace& baseline, const traces::Trace& candidate);
  std::int32_t operator()(std::int32_t rank) const;

 private:
  std::vector<std::int32_t> stands_for_;
  std::optional<std::pair<std::int32_t, std::int32_t>> only_;
};

// Of lanes and memory events, ascending.
std::set<std::int32_t> ranks_of(const traces::Trace& trace);

// An event's identity within a step: equal in both traces.
struct EventKey {
  std::int32_t rank = 0;
  bool is_device = false;
  std::string stable_key;
  auto operator<=>(const EventKey&) const = default;
};

// Work on a device, and a host's own arithmetic; the rest says how the work was issued.
bool is_compared(traces::EventKind kind);

// Of an event that is compared; nothing where it has no stable key.
std::optional<EventKey> event_key(const traces::Trace& trace, const traces::Event& event);

// Indices into Trace::events.
struct EventMatch {
  std::int32_t baseline = traces::kNone;
  std::int32_t candidate = traces::kNone;
  bool operator==(const EventMatch&) const = default;
};

struct MatchedEvents {
  // In the order of the baseline's starts. Where an instruction is several kernels in one trace, an
  // event stands in several pairs.
  std::vector<EventMatch> pairs;
  std::vector<std::int32_t> only_baseline, only_candidate;  // without a counterpart or a key
};

// What a rank of the baseline did in one step, and its counterpart in another step.
MatchedEvents matched_events(const traces::Trace& baseline, std::int32_t rank,
                             std::int32_t baseline_step, const traces::Trace& candidate,
                             std::int32_t candidate_step);

}  // namespace foreshard::profiler
