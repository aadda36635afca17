// Where the ranks of a run agree how far to go after one is out of memory: every other rank goes on
// until it has passed that instruction or fails itself, and the smallest (step, instruction, rank)
// is the one reported.
//
// Ranks of one process share this object. Processes tell each other how far to run with their
// heartbeats (watchdog.hpp) and settle the point when their ranks have ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "executor/run_control.hpp"
#include "executor/transport.hpp"
#include "models/caching_allocator.hpp"

namespace foreshard::executor {

struct OutOfMemoryPoint {
  std::int64_t step = 0;
  std::int32_t instruction = 0;
  std::int32_t rank = 0;
  OutOfMemory request;
};

class OutOfMemoryAgreement {
 public:
  // A place in the run, ordered by step and instruction.
  using Position = std::uint64_t;
  static constexpr Position kEnd = ~Position{0};

  // `transport`: to the other processes, each of which runs one rank; nullptr: there are none.
  OutOfMemoryAgreement(int ranks, Transport* transport);

  // Called by a rank before each instruction; false when it has to stop.
  bool may_run(int rank, std::int64_t step, std::int32_t instruction);
  void report(const OutOfMemoryPoint& point);
  // The last instruction that anybody needs to run; another process may have a smaller one.
  Position limit() const { return limit_.load(std::memory_order_relaxed); }
  void lower_limit(Position limit);
  // Called by each rank that will pass no further instruction and has not failed otherwise. Where
  // memory ran out it blocks until no rank can fail before the point reported; throws Aborted.
  void settle(int rank, RunControl& run);
  // A rank that has failed in another way.
  void leave(int rank);
  std::optional<OutOfMemoryPoint> first() const;

 private:
  struct alignas(64) Reached {
    std::atomic<Position> position{0};
  };
  void settle_among_processes(RunControl& run);

  Transport* const transport_;
  std::vector<Reached> reached_;  // by the ranks of this process
  std::atomic<Position> limit_{kEnd};
  mutable std::mutex mutex_;
  std::optional<OutOfMemoryPoint> first_;
};

// Thrown by a rank that has stopped because some rank is out of memory.
struct StoppedOutOfMemory {};

}  // namespace foreshard::executor
