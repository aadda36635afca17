// Memory of one rank, predicted: its programs walked in host order through the caching allocator.
//
// Nothing here depends on time. The allocator is called by the host thread alone, in the order of
// the program, and its decisions depend on nothing but that order; so peaks, failures and addresses
// come out exactly as in a run. Memory that a compiler plans ahead (DeviceKind::xla) is what lives
// at a time, all of which is reserved and nothing else. The one exception are frees that
// record_stream defers, of which two bounds are told (stream_progress.hpp). What time the allocator
// costs is passed on as delays of the host. The last step stands for all that follow it: segments that it takes
// and keeps no later step takes again, and so they delay it by nothing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/allocator/caching_allocator.hpp"
#include "models/allocator/memory_peaks.hpp"
#include "models/plan/pytorch_plan.hpp"
#include "models/program/step_program.hpp"
#include "simulator/engine/engine.hpp"
#include "simulator/predict/memory_at_peak.hpp"

namespace foreshard::simulator {

constexpr int kCategories = static_cast<int>(Category::kCount);

// The moment at which most bytes were allocated; of several, the first.
struct PeakMoment {
  std::int64_t step = 0;
  std::int32_t instruction = 0;
  Phase phase = Phase::setup;
  std::int32_t unit = kNone;
  std::array<std::int64_t, static_cast<std::size_t>(kCategories)> by_category{};
};

struct MemoryFailure {
  std::int64_t step = 0;
  std::int32_t instruction = 0;
  std::int64_t requested = 0;
  std::int64_t allocated = 0;
  std::int64_t reserved = 0;
};

// What the allocator, or the host's, did on behalf of an instruction.
struct MemoryRecord {
  std::int32_t step = 0;
  std::int32_t instruction = 0;
  bool on_host = false;
  AllocatorEvent event;  // of the host: alloc and free_completed, without an address
};

struct RankMemory {
  MemoryPeaks run;                 // from the set-up on
  std::int64_t peak_host = 0;      // likewise
  std::vector<MemoryPeaks> steps;  // of step 1, 2, ...: statistics reset at the step's start
  PeakMoment peak;
  std::optional<MemoryFailure> failure;  // nothing after it was simulated
  std::vector<HostDelay> delays;
  // Only on request:
  std::vector<MemoryRecord> records;
  std::vector<SegmentState> end;  // what is reserved where the walk ends; none of planned memory
  MemoryAtPeak at_peak;
};

struct MemoryOptions {
  std::int64_t steps = 2;                // after the set-up and before the closing programs
  std::optional<std::int64_t> capacity;  // bytes of the device; nothing: unlimited
  std::int64_t segment_alloc_ns = 0;     // what the driver takes, for the delays
  std::int64_t segment_free_ns = 0;
  bool keeps_records = false;
  bool lists_peak = false;
  GpuTiming gpu_timing = GpuTiming::ready;
  // The walk goes on up to and with this instruction, for another rank failed there.
  std::optional<MemoryFailure> stop = {};
};

RankMemory simulate_memory(const RankProgram& program, const AllocatorRules& rules,
                           const MemoryOptions& options);

// Whether `memory`, the end of a walk under `options`, is that of a walk by the same rules under `other`
// too: a capacity that is never reached changes nothing.
bool walks_alike(const RankMemory& memory, const AllocatorRules& rules,
                 const MemoryOptions& options, const MemoryOptions& other);

}  // namespace foreshard::simulator
