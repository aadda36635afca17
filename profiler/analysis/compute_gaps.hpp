// Time in which a rank's device did not compute, by cause. The causes add up to the rank's span
// minus its compute time.
//
//   communication    a collective ran and no kernel: exposed communication
//   copies           only copies and fills ran
//   and while nothing ran, by what came next:
//   host_blocked     it was launched too late: the host thread that launched it had been blocked,
//                    waiting for the device
//   launch_bound     it was launched too late: the host thread was busy with other things, or the launch itself
//                    took that long
//   other_ranks      a collective, launched in time, of a device on which one begins when all ranks
//                    have come to it: it waited for the other ranks. A kernel of NCCL's does so
//                    while it runs
//   between_kernels  a kernel, launched in time, within kShortGap
//   dependency       anything else launched in time: it waited for another stream
//   unknown          its launch is not in the trace
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "profiler/analysis/launches.hpp"
#include "traces/intervals.hpp"
#include "traces/trace.hpp"

namespace foreshard::profiler {

enum class GapCause : std::uint8_t {
  communication,
  copies,
  host_blocked,
  launch_bound,
  other_ranks,
  between_kernels,
  dependency,
  unknown,
  kCount
};
constexpr std::size_t kGapCauses = static_cast<std::size_t>(GapCause::kCount);
std::string_view name(GapCause cause);

constexpr std::int64_t kShortGapNs = 10'000;

// Nanoseconds by GapCause.
using ComputeGaps = std::array<std::int64_t, kGapCauses>;

// A stretch in which nothing ran, and why.
struct IdleGap {
  std::int64_t begin_ns = 0, end_ns = 0;
  GapCause cause = GapCause::unknown;
  std::int32_t lane = traces::kNone;  // the host's thread that launched too late what came next
};

struct RankGaps {
  ComputeGaps sums{};
  std::vector<IdleGap> idle;  // within the stretch that was asked for
};

// Of each rank that has device events; `within`: a stretch of each rank of which the gaps are kept one by one.
std::map<std::int32_t, RankGaps> compute_gaps(
    const traces::Trace& trace, const Launches& launches,
    const std::map<std::int32_t, traces::Interval>& within);

}  // namespace foreshard::profiler
