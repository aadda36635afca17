// Analysis of a trace: the time breakdown of each rank, its memory at the peak, the most expensive
// operators, and warnings about the recording.
//
// Times follow Holistic Trace Analysis. Per rank, over the events of all its streams, with U(x) the
// length of the union of the intervals of kind x:
//
//   span                    from the first device event's start to the last one's end
//   compute                 U(kernels)          communication   U(collectives)
//   memory_operation        U(copies, fills)
//   idle                    span - U(kernels, collectives, copies and fills)
//   overlap                 length of the intersection of the kernels' and the collectives' unions
//   exposed_communication   communication - overlap
//
// A stream that waits for an event does nothing: that is not a device event. Causes of idle time,
// costs of collectives and launches, stragglers and the critical path have headers of their own:
// compute_gaps, collectives, launches, critical_path.
//
// Memory: allocated is what blocks have been handed out and not been asked to be freed, reserved is
// what segments the allocator holds; both as the allocator rounds them. Over time: memory_timeline.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "models/program/cost_source.hpp"
#include "models/program/gpu_libraries.hpp"
#include "models/program/gpu_memory.hpp"
#include "models/program/oom_report.hpp"
#include "profiler/analysis/collectives.hpp"
#include "profiler/analysis/compute_gaps.hpp"
#include "profiler/analysis/critical_path.hpp"
#include "profiler/analysis/launches.hpp"
#include "profiler/analysis/memory_timeline.hpp"
#include "profiler/analysis/step_work.hpp"
#include "profiler/analysis/units.hpp"
#include "traces/meaning/steady_steps.hpp"
#include "traces/trace.hpp"

namespace foreshard::profiler {

struct TimeBreakdown {
  std::int64_t device_events = 0;
  std::int64_t span_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t communication_ns = 0;
  std::int64_t memory_operation_ns = 0;
  std::int64_t idle_ns = 0;
  std::int64_t overlap_ns = 0;
  std::int64_t exposed_communication_ns = 0;
};

inline constexpr std::array<std::int64_t TimeBreakdown::*, 8> kTimes{
    &TimeBreakdown::device_events,       &TimeBreakdown::span_ns,
    &TimeBreakdown::compute_ns,          &TimeBreakdown::communication_ns,
    &TimeBreakdown::memory_operation_ns, &TimeBreakdown::idle_ns,
    &TimeBreakdown::overlap_ns,          &TimeBreakdown::exposed_communication_ns};

// Category or owner of memory of which nothing is known.
constexpr const char* kUnknown = "unknown";

struct Owner {
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t blocks = 0;
};

struct MemoryPeak {
  std::int64_t allocated_bytes = 0;
  std::int64_t reserved_bytes = 0;
  std::int64_t host_bytes = 0;
  std::int64_t outside_bytes = 0;  // of the device, by others than the allocator
  // At the moment allocated memory first reached its peak:
  std::int64_t time_ns = 0;
  std::int64_t reserved_then_bytes = 0;
  std::int32_t step = 0;
  std::string phase;
  std::map<std::string, std::int64_t> by_category;
  std::vector<Owner> owners;  // largest first
};

struct StepAnalysis {
  std::int32_t step = 0;
  std::string label;  // what the recording calls it, empty where it has no name for it
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::int64_t host_wait_ns = 0;  // the host blocked
  bool is_whole = true;           // nothing of it was cut off: otherwise times are not known
  TimeBreakdown time;             // of the device events issued by this step
  TimeBreakdown whole;            // from the end of the step before's to the end of this one's
  std::int64_t peak_allocated_bytes = 0;
  std::int64_t peak_reserved_bytes = 0;
  std::int64_t peak_host_bytes = 0;
};

struct RankAnalysis {
  std::int32_t rank = 0;
  std::int64_t events = 0;
  TimeBreakdown time;
  ComputeGaps gaps{};
  LaunchStatistics launches;
  MemoryPeak peak;
  MemoryTimeline memory_timeline;
  std::optional<OomReport> ran_out;       // the first request for device memory that failed
  std::int64_t misfit_memory_events = 0;  // that do not fit those before them
  std::vector<StepAnalysis> steps;
};

// Why a device was idle, in a word of steady_step.hpp, and in what: a range, an operator or a call; "" where that is
// not known.
struct IdleCause {
  std::string cause, name;
  std::int64_t ns = 0;
};

// The step that takes the median time, mean of the ranks (steady_step.hpp): its parts add up to its span.
struct SteadyStep {
  TimeBreakdown time;
  std::vector<IdleCause> causes;  // of the idle time, the longest first
  std::optional<StepWork> work;   // where shapes are recorded
};

// A steady step that takes more than kSlowStep times the median of at least kStepsToCompare, in which the slowest
// rank's device counts, and what differs most from the median step.
inline constexpr double kSlowStep = 1.1;
inline constexpr std::size_t kStepsToCompare = 4;

struct SlowestStep {
  std::int32_t step = 0;
  std::int64_t duration_ns = 0, median_ns = 0;
  SteadyStep parts;
  // Compute, exposed_communication, memory_operation or a cause of idle time, and in what.
  IdleCause difference;
};

struct OperatorTotal {
  std::string name;
  std::string category;  // name(EventKind)
  bool is_on_device = false;
  std::int64_t count = 0;
  std::int64_t total_ns = 0;
  std::int64_t self_ns = 0;  // less the operators that it called on its host thread
  std::int64_t shortest_ns = 0, longest_ns = 0;
  std::set<CostSource> cost_sources;  // of a prediction: where its times come from
};

// The events of a prediction whose time comes from one source.
struct CostSourceTotal {
  CostSource source = CostSource::none;
  std::int64_t count = 0;
  std::int64_t total_ns = 0;
};

// Device memory of a process that no allocator holds, as it was predicted, and its likely range.
struct PredictedOutside {
  std::int64_t bytes = 0, low_bytes = 0, high_bytes = 0;
};

struct Analysis {
  std::string question,
      question_line;  // that the trace answers: as JSON; in words, where it is known
  bool complete = true;
  bool predicted = false;
  std::string source;  // whose recording it is: kineto, nsys, snapshot; empty: our own
  std::int64_t complete_until_ns = 0;
  std::string selection;   // in words, where this is a part of the recording (traces/meaning/selection.hpp)
  std::string end_reason;  // why it ended early, where it did
  std::string moved_clocks;  // of ranks on other hosts: "rank 1 by -4.51 ms, ..."
  std::string not_recorded;  // what the profiler could not record, where it could not all
  std::map<std::string, std::int64_t> dropped;  // records that are not in the trace, by reason
  std::int64_t dropped_records = 0;             // all of them
  std::int64_t recorded_ranks = 0;              // that the recording has, selected or not
  std::int64_t missing_ranks = 0;               // that the run has and the recording has not
  std::int64_t unknown_costs = 0;  // of a prediction: pieces of work a step of unknown duration
  std::vector<std::int32_t> steady_steps;
  std::int64_t step_time_ns = 0;            // steady_step_time
  std::optional<SteadyStep> steady_step;    // where steps and all of their device work are there
  std::optional<SlowestStep> slowest_step;  // where one stands out
  StepUnits units;                          // of the steady step
  std::vector<RankAnalysis> ranks;
  std::vector<OperatorTotal> operators;       // of all ranks, costliest first
  std::vector<CostSourceTotal> cost_sources;  // of a prediction, best source first
  std::vector<CollectiveCost> collectives;    // of all ranks, most exposed first
  std::vector<GroupWaits> groups;             // process groups
  std::vector<RankWaits> waits;               // by rank, over all groups
  CriticalPath path;            // of the last step, or of the whole where none is known
  std::vector<GpuMemory> gpus;  // that were measured, by first rank
  std::optional<GpuLibraries> gpu_libraries;
  std::optional<PredictedOutside> predicted_outside;  // of a prediction that knows its machine
};

// Ends early, with what it has until then, once a stop was requested.
Analysis analyse(const traces::Trace& trace, const std::stop_token& stop = {});

using traces::steady_step_time;
using traces::steady_steps;

}  // namespace foreshard::profiler
