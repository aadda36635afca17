// One rank's walk through its programs, in the engine without sharing (engine.hpp): every time follows
// from what stands before it, but for collectives, at which the walk stops until its caller has settled
// with the other members when they start.
//
// The copies of a repetition are walked until they repeat (copy_times.hpp), where no other rank takes
// part: ranks that wait for each other do not begin a copy together.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/engine/contention.hpp"
#include "simulator/engine/copy_times.hpp"
#include "simulator/engine/engine.hpp"

namespace foreshard::simulator {

struct CommunicatorClock {
  std::int64_t id = 0;
  std::size_t members = 0;
  std::int64_t free_at = 0;
};

class RankWalk {
 public:
  // `alone`: the communicators, where there is no other rank. `memory`: a timeline that is no longer
  // wanted, whose memory this one takes over.
  RankWalk(const SimulatedRank& rank, const EngineOptions& options, RankTimeline memory,
           std::vector<CommunicatorClock>* alone);

  // Goes on to the next collective, or the end.
  void advance();

  bool at_collective() const { return at_collective_; }
  std::int64_t communicator() const { return communicator_; }
  std::int64_t arrival() const { return arrival_; }
  // When its part of the collective ends, if that starts then.
  std::int64_t end_of_collective(std::int64_t start) const {
    return transfers_.end_of_transfer(start, cost(*current_));
  }
  // The collective this rank stands at runs from `start` to `end`.
  void pass_collective(std::int64_t start, std::int64_t end);

  RankTimeline take();

 private:
  std::int64_t last_step() const { return last_simulated_step(rank_, options_); }
  const TaskCost& cost(const Instruction& i) const {
    return rank_.costs[cost_index(i, cost_places_)];
  }

  void enter_step();
  void enter(std::size_t begin, std::size_t end);
  bool enter_next_stretch();
  const Instruction* next_delay() const;
  void issue_host_only();
  // Used in rank_walk.cpp alone, once for each instruction.
  inline bool issue(const Instruction& i);
  inline std::int64_t issue_ns(const Instruction& i) const;
  inline void pay_delay(std::int32_t instruction);
  inline std::int64_t stream_start(std::size_t stream);
  inline void finish_task(std::size_t stream, std::int64_t end);
  inline std::int64_t end_of_task(std::size_t stream, std::int64_t start, const TaskCost& cost);
  inline std::int64_t pass_copy(std::int64_t start, const TaskCost& cost);

  // The copies of a repetition (rank_walk_copies.cpp).
  bool begin_copy();
  void hand_over_events();
  void find_awaited_events();
  CopyTimes times() const;
  bool is_without_delays() const;
  bool skip_copies(const CopyPeriod& period, const CopyTimes& now);

  const SimulatedRank& rank_;
  const EngineOptions& options_;
  std::vector<CommunicatorClock>* alone_;
  RankTimeline timeline_;
  const std::size_t cost_places_;
  std::vector<StreamTimes> streams_;
  TransfersUnderWay transfers_;
  std::vector<std::int64_t> events_;
  const Program* program_ = nullptr;           // of the step
  const Instruction* begin_ = nullptr;         // of the program
  const std::int64_t* issue_times_ = nullptr;  // of its instructions; nullptr: by kind
  const Instruction* current_ = nullptr;
  const Instruction* end_ = nullptr;  // of the stretch at hand
  std::size_t delay_ = 0;
  // Of the step's repetition: copies begun or skipped, and by how much numbers of instructions are
  // higher than where they are written down.
  std::int32_t copies_ = 0, skipped_ = 0;
  bool is_last_stretch_ = true;
  CopyTimes copy_began_;       // the copy at hand
  bool host_decided_ = false;  // in it
  std::size_t delay_before_copy_ = 0;
  std::vector<EventId> awaited_;      // by a copy, which others recorded
  std::vector<std::int64_t> growth_;  // of a copy's events since the copy before
  std::int64_t step_ = 0;
  std::int64_t host_ = 0, issued_ = 0, arrival_ = 0;
  std::int64_t communicator_ = 0;
  bool at_collective_ = false;
};

}  // namespace foreshard::simulator
