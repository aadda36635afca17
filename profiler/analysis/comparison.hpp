// Comparison of two traces, a baseline and a candidate, such as a measurement and a prediction: step
// time, memory, and event by event. Recordings without a program have no keys to match events by;
// their operators are compared by name: which appeared, vanished, grew.
//
// Events are matched by rank, lane kind and stable key within one steady step; a baseline event's
// duration is its median over the steady steps. Where the prediction simulates one rank of each
// class, a baseline rank is compared with the one that stands for it (metadata rank_classes).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/analysis/analysis.hpp"
#include "traces/trace.hpp"

namespace foreshard::profiler {

struct CategoryDifference {
  std::string category;  // compute, communication, memory_operation, idle, exposed_communication
  std::int64_t baseline_ns = 0;  // in a steady step, mean over ranks
  std::int64_t candidate_ns = 0;
};

struct OperatorDifference {
  std::string name;
  std::string category;
  std::int64_t events = 0;  // matched ones, in a steady step of all ranks
  std::int64_t baseline_ns = 0;
  std::int64_t candidate_ns = 0;
};

// One operator in both traces, on average over each trace's steps, or over the whole trace where it
// has none.
struct OperatorChange {
  std::string name;
  std::string category;
  double baseline_count = 0, candidate_count = 0;
  std::int64_t baseline_ns = 0, candidate_ns = 0;  // by itself, see OperatorTotal::self_ns

  // "appeared", "vanished", "grew", "shrank" or "same" (within 1 % of its time).
  std::string_view what() const;
};

struct RankMemoryDifference {
  std::int32_t rank = 0;
  std::int64_t baseline_allocated_bytes = 0, candidate_allocated_bytes = 0;
  std::int64_t baseline_reserved_bytes = 0, candidate_reserved_bytes = 0;
};

struct Comparison {
  std::int64_t baseline_step_ns = 0;
  std::int64_t candidate_step_ns = 0;
  double step_time_error = 0;  // |candidate - baseline| / baseline; -1 where one has no steps
  // Candidate minus baseline, of the rank where it is furthest from zero:
  std::int64_t peak_allocated_error_bytes = 0;
  std::int64_t peak_reserved_error_bytes = 0;
  std::vector<RankMemoryDifference> ranks;
  std::vector<CategoryDifference> by_category;
  std::vector<OperatorDifference> operators;  // of matched events, largest difference first
  std::vector<OperatorChange> changes;        // of all operators, largest difference first
  // Of a steady step of all ranks; those without a counterpart are in one of the two only.
  std::int64_t events_matched = 0;
  std::int64_t events_only_baseline = 0, events_only_candidate = 0;
  bool same_program = false;    // equal program hashes
  bool has_prediction = false;  // the second one is a prediction
  std::vector<std::int32_t>
      missing_ranks;  // in the first trace, without a counterpart in the second
  Analysis baseline, candidate;

  std::int64_t events_unmatched() const { return events_only_baseline + events_only_candidate; }
};

Comparison compare(const traces::Trace& baseline, const traces::Trace& candidate);
// The same, where both are analysed already.
Comparison compare(const traces::Trace& baseline, Analysis of_baseline,
                   const traces::Trace& candidate, Analysis of_candidate);

std::vector<OperatorChange> operator_changes(const traces::Trace& baseline,
                                             const traces::Trace& candidate);

}  // namespace foreshard::profiler
