// Where the ranks of a run agree how far to go after one is out of memory: what was issued before
// that instruction finishes, every other rank goes on until it has passed it or fails itself, and
// the smallest (step, instruction, rank) is the one reported.
//
// A place in the run is what its instructions' tags are: step and instruction. A rank is *done* with
// a place when its host has passed it and its streams have finished all that came before. Once every
// rank is done with the limit nobody can fail before it any more, and nobody is needed any longer:
// the run can end. Ranks that have gone further wait for collectives that will never be completed;
// ending the run wakes them.
//
// Ranks of one process share this object. Processes exchange with their heartbeats how far
// their ranks are done and what limit they have learnt of.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "executor/communication/transport.hpp"
#include "executor/device/run_control.hpp"
#include "executor/device/watchdog.hpp"
#include "models/allocator/caching_allocator.hpp"

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
  static constexpr Position kEnd = ~Position{0};  // behind every instruction
  static constexpr Position kNone = kEnd - 1;     // the limit while nobody is out of memory

  explicit OutOfMemoryAgreement(int ranks);

  // Called by a rank before each instruction; false when it has to stop.
  bool may_run(int rank, std::int64_t step, std::int32_t instruction);
  void report(const OutOfMemoryPoint& point);
  // A rank of this process that will run no further instruction, after its report if it makes one.
  void leave(int rank);
  // A rank of this process that has run all of its instructions and whose streams are idle.
  void finish(int rank);

  // The last instruction that anybody needs to run, as far as is known.
  Position limit() const { return limit_.load(std::memory_order_acquire); }
  // Whether memory has run out.
  bool has_limit() const { return limit() != kNone; }
  // Everything before this place is done.
  Position done(int rank) const;
  // To be called again and again for each rank of this process: finds out whether it is done.
  // `has_finished(last)`: whether its streams have finished what was issued up to a place.
  void look(int rank, const std::function<bool(Position last)>& has_finished);
  // What a process has sent of its rank; it had this limit when the rank was done so far.
  void hear(int rank, Position done, Position limit);
  // Every rank is done with the limit. All processes come to this, and to the same limit.
  bool is_settled() const;
  // While memory has run out: those who are done wait for those who are not, not the other way round.
  void correct(std::vector<Wait>& waits) const;

  // The points that the processes have, together: afterwards `first` is the same in all of them.
  void share(RunControl& run, Transport& transport);
  std::optional<OutOfMemoryPoint> first() const;

 private:
  struct alignas(64) Rank {
    std::atomic<Position> reached{0};  // by its host
    std::atomic<Position> done{0};
  };
  Rank& rank(int number) { return ranks_[static_cast<std::size_t>(number)]; }
  void lower_limit(Position limit);

  std::vector<Rank> ranks_;
  std::atomic<Position> limit_{kNone};
  mutable std::mutex mutex_;
  std::optional<OutOfMemoryPoint> first_;
};

// Thrown by a rank that has stopped because some rank is out of memory.
struct StoppedOutOfMemory {};

}  // namespace foreshard::executor
