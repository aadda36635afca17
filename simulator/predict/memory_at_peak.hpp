// What an allocator holds at a moment of which it is only known later that it was the peak.
//
// A walk reaches thousands of new peaks, of which the last one counts. So it writes down what is
// allocated and freed, and how far that list went at the peak so far; what was held there follows once a
// step is over, by going through the step's list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/allocator/caching_allocator.hpp"
#include "models/program/step_program.hpp"

namespace foreshard::simulator {

// A buffer of the device that holds memory, and in which phase it was allocated.
struct LiveBuffer {
  BufferId buffer = kNone;
  std::int64_t bytes = 0;  // of its block
  Phase allocated_in = Phase::setup;
};

// The memory that the allocator keeps for one stream, in bytes.
struct StreamMemory {
  std::int64_t reserved = 0;
  std::int64_t allocated = 0;
  std::int64_t awaiting_free = 0;  // freed, but another stream has not passed its last use yet

  std::int64_t unused() const { return reserved - allocated - awaiting_free; }
};

struct MemoryAtPeak {
  std::vector<LiveBuffer> alive;
  std::vector<StreamMemory> streams;  // by their numbers
};

class PeakRecorder {
 public:
  PeakRecorder(const CachingAllocator& allocator, std::size_t streams)
      : allocator_(allocator), reserved_(streams), now_{{}, std::vector<StreamMemory>(streams)} {}

  // Right after the allocator served a request of `i`, and before it frees a block.
  void allocated(const Instruction& i, const Buffer& buffer, const Allocation& allocation);
  void freed(BlockId block) { changes_.push_back({0, block, kNone, 0, Change::Kind::freed}); }
  // What was allocated last led to the highest peak so far.
  void note_peak();
  void end_step();
  // After the last step.
  MemoryAtPeak take();

 private:
  struct Change {
    enum class Kind : std::uint8_t { allocated, freed, reserved };
    std::int64_t bytes = 0;  // that a stream has reserved from now on
    BlockId block = kNoBlock;
    BufferId buffer = kNone;
    std::int32_t stream = 0;
    Kind kind = Kind::allocated;
    Phase phase = Phase::setup;
  };
  struct Block {
    LiveBuffer live;  // no buffer: free
    std::size_t stream = 0;
  };
  struct Held {
    std::vector<Block> blocks;  // by their numbers
    std::vector<StreamMemory> streams;
  };

  void note_segments(std::size_t stream);
  void apply(std::size_t begin, std::size_t end);

  const CachingAllocator& allocator_;
  AllocatorStatistics before_;               // at the last request
  std::vector<std::int64_t> reserved_;       // by stream, now
  std::vector<Change> changes_;              // of the step
  std::optional<std::size_t> peak_;          // of them, so many until the peak
  std::vector<std::int64_t> awaiting_free_;  // there, by stream; empty: none
  Held now_, at_peak_;                       // before the step's changes
};

}  // namespace foreshard::simulator
