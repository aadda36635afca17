// Comparison of two allocation histories, a baseline and a candidate, such as a recording and a
// prediction: what the programs requested, in order, whatever their allocators made of it.
//
// Requests, frees and failures are equal where action, size and stream are. Streams that both
// histories call by the same name are the same; others correspond in the order of their appearance.
// Segments and addresses follow from the requests, and are compared by their peaks alone.
//
// A snapshot's history may begin in the middle of a run. Histories that start from different states are
// compared from the longest run of equal actions and sizes on that both have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "profiler/replay/memory_growth.hpp"
#include "traces/allocator/labelled_history.hpp"

namespace foreshard::profiler {

// A request, a free or a failure, with the labels of the request.
struct ComparedEvent {
  std::size_t event = 0;  // its number in the history
  traces::AllocatorAction action = traces::AllocatorAction::alloc;
  std::int64_t bytes = 0;
  std::string stream;
  std::int32_t step = traces::kNone;  // of the event itself, like the phase
  std::string phase, module, call, op, category;
};

struct EventPair {
  std::optional<ComparedEvent> baseline, candidate;
};

struct HistorySide {
  std::string file;
  std::size_t events = 0;                      // of the history
  std::size_t compared = 0;                    // those of them that are compared, from `first` on
  std::size_t first = 0;                       // number of the event at which the comparison begins
  std::optional<std::int64_t> peak_allocated;  // nothing where events contradict one another
  std::int64_t peak_reserved = 0;
};

// Requests of one size for one operator that one history has more often than the other.
struct RequestSurplus {
  bool is_of_candidate = false;
  std::int64_t bytes = 0;
  std::string op;      // where it is unknown, the category
  std::string module;  // of the first one
  std::int64_t count = 0;
};

struct HistoryComparison {
  HistorySide baseline, candidate;
  // They start from different states; this is where the comparison begins.
  std::optional<EventPair> aligned_at;
  std::size_t equal = 0;  // events before the first difference
  // Where both have events left after those.
  std::optional<EventPair> first_difference;
  std::vector<EventPair> before, after;  // around it, or around the end of the shorter one
  // Of equal frees, those that do not free the same request.
  std::size_t frees_of_other_requests = 0;
  std::optional<EventPair> first_free_of_other_request;
  std::map<std::string, std::string> streams;  // of the baseline: what the candidate calls them
  std::vector<RequestSurplus> surplus;         // most bytes first
  // Of two snapshots; `compare_histories` leaves it out.
  std::optional<std::vector<RankGrowth>> growth;

  bool is_identical() const {
    return !aligned_at && equal == baseline.compared && equal == candidate.compared &&
           frees_of_other_requests == 0;
  }
};

HistoryComparison compare_histories(const traces::LabelledHistory& baseline,
                                    const traces::LabelledHistory& candidate);

// The object of `foreshard compare --json` for two histories, and the text.
std::string to_json(const HistoryComparison& comparison);
std::string report_text(const HistoryComparison& comparison);

}  // namespace foreshard::profiler
