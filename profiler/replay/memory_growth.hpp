// What a rank holds at the end of one recording and does not hold at the end of another, such as of two snapshots of
// a process some steps apart: where memory leaks.
//
// Blocks are the same by what requested them, not by their addresses: what a step frees and requests again is no
// growth. What requested a block is its category and its stack or, where the recording has none, its owner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::profiler {

struct HeldBlocks {
  std::int64_t blocks = 0, bytes = 0;
};

struct HolderGrowth {
  std::string category, owner;  // the owner without its unit where blocks are of several
  std::string stack;            // a frame a line, innermost first; empty where it is not recorded
  HeldBlocks baseline, candidate;
  std::int64_t bytes() const { return candidate.bytes - baseline.bytes; }
};

struct RankGrowth {
  std::int32_t rank = 0;
  std::int64_t baseline_bytes = 0, candidate_bytes = 0;  // allocated at the end
  std::vector<HolderGrowth> holders;                     // that differ, the most grown first
};

// Of the ranks that both recordings have.
std::vector<RankGrowth> memory_growth(const traces::Trace& baseline,
                                      const traces::Trace& candidate);

// The object of `foreshard compare --json` for the snapshots of several ranks, and the text.
std::string to_json(const std::vector<RankGrowth>& growth);
std::string report_text(const std::vector<RankGrowth>& growth);

}  // namespace foreshard::profiler
