#include "simulator/fit/segment_samples.hpp"

#include <unordered_map>

#include "simulator/fit/issue.hpp"

namespace foreshard::simulator {
namespace {

struct Segments {
  int taken = 0, released = 0;
};
using SegmentsOfIssues = std::unordered_map<Issue, Segments, IssueHash>;

SegmentsOfIssues segments_of(const traces::Trace& trace) {
  SegmentsOfIssues segments;
  for (const traces::MemoryEvent& event : trace.memory) {
    if (event.on_host || event.instruction < 0) continue;
    const bool is_taken = event.action == traces::MemoryAction::segment_alloc;
    if (!is_taken && event.action != traces::MemoryAction::segment_free) continue;
    Segments& of_issue = segments[{event.rank, event.step, event.instruction}];
    ++(is_taken ? of_issue.taken : of_issue.released);
  }
  return segments;
}

}  // namespace

SegmentSamples segment_samples(const traces::Trace& trace) {
  SegmentSamples samples;
  const SegmentsOfIssues segments = segments_of(trace);
  for (const traces::Event& event : trace.events) {
    const auto ns = static_cast<double>(event.end_ns - event.start_ns);
    if (event.kind == traces::EventKind::runtime) {
      const std::string& call = trace.strings[event.name];
      if (call == "cudaMalloc") samples.alloc_ns.push_back(ns);
      if (call == "cudaFree") samples.free_ns.push_back(ns);
    }
    if (event.kind != traces::EventKind::host || event.instruction < 0) continue;
    const std::int32_t rank = trace.lanes[static_cast<std::size_t>(event.lane)].rank;
    const auto found = segments.find({rank, event.step, event.instruction});
    if (found == segments.end() || found->second.released > 0) continue;
    samples.alloc_ns.push_back(ns / found->second.taken);
  }
  return samples;
}

}  // namespace foreshard::simulator
