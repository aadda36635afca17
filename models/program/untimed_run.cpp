#include "models/program/untimed_run.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace foreshard {
namespace {

using Communicator = std::pair<std::size_t, int>;  // a group's row and its first rank

// A rank: its host goes through the steps, its streams through what the host issued.
class Rank {
 public:
  Rank(const RankProgram& program, int rank)
      : program_(program),
        place_(place_in(program.groups, rank)),
        streams_(program.streams.size()) {
    open_step();
  }

  const RankPlace& place() const { return place_; }

  // Goes on until nothing can be done without other ranks. False where nothing was done at all.
  bool advance() {
    bool has_moved = false;
    for (bool moves = true; moves; has_moved |= moves) {
      moves = issue();
      for (std::size_t s = 0; s < streams_.size(); ++s) moves |= run(s);
    }
    return has_moved;
  }

  bool stands_at(const Communicator& communicator) const {
    const auto next = issued_.find(communicator);
    if (next == issued_.end() || next->second.empty()) return false;
    const auto& stream = streams_[next->second.front()];
    return is_at_collective(stream) && communicator_of(*stream.front().instruction) == communicator;
  }

  void pass(const Communicator& communicator) {
    auto& next = issued_.at(communicator);
    streams_[next.front()].pop_front();
    next.pop_front();
  }

  // Of the first of its streams that has not come to an end.
  struct Place {
    std::size_t step = 0, instruction = 0;
  };
  std::optional<Place> waits_at() const {
    for (const auto& stream : streams_) {
      if (is_at_collective(stream)) return stream.front().at;
    }
    return std::nullopt;
  }

 private:
  using Record = std::size_t;
  struct Item {
    const Instruction* instruction = nullptr;
    std::optional<Record> record;  // of events; none: it was not recorded when it was issued
    Place at;
  };

  static bool is_at_collective(const std::deque<Item>& stream) {
    return !stream.empty() && stream.front().instruction->kind == Kind::collective;
  }

  Communicator communicator_of(const Instruction& i) const {
    return {static_cast<std::size_t>(i.group), place_[i.group].first_rank};
  }

  void open_step() {
    for (; at_.step < program_.programs.size(); ++at_.step) {
      const Program& step = program_.programs[at_.step];
      records_.assign(static_cast<std::size_t>(step.events), std::nullopt);
      if (!step.instructions.empty()) return;
    }
  }

  bool is_reached(const std::optional<Record>& record) const {
    return !record || reached_[*record];
  }

  bool issue() {
    bool has_issued = false;
    while (at_.step < program_.programs.size()) {
      const auto& instructions = program_.programs[at_.step].instructions;
      const Instruction& i = instructions[at_.instruction];
      if (i.kind == Kind::host_wait && !is_reached(record_of(i))) break;
      put(i);
      has_issued = true;
      if (++at_.instruction < instructions.size()) continue;
      at_ = {at_.step + 1, 0};
      open_step();
    }
    return has_issued;
  }

  std::optional<Record>& record_of(const Instruction& i) {
    return records_[static_cast<std::size_t>(i.target)];
  }

  void put(const Instruction& i) {
    const auto s = static_cast<std::size_t>(i.stream);
    switch (i.kind) {
      case Kind::record_event:
        record_of(i) = reached_.size();
        reached_.push_back(false);
        [[fallthrough]];
      case Kind::wait_event: streams_[s].push_back({&i, record_of(i), at_}); break;
      case Kind::collective:
        streams_[s].push_back({&i, std::nullopt, at_});
        issued_[communicator_of(i)].push_back(s);
        break;
      default: break;
    }
  }

  bool run(std::size_t s) {
    std::deque<Item>& stream = streams_[s];
    const std::size_t before = stream.size();
    while (!stream.empty() && !is_at_collective(stream)) {
      const Item& item = stream.front();
      if (item.instruction->kind == Kind::record_event) {
        reached_[*item.record] = true;
      } else if (!is_reached(item.record)) {
        break;
      }
      stream.pop_front();
    }
    return stream.size() != before;
  }

  const RankProgram& program_;
  RankPlace place_;
  Place at_;                                                // of the host
  std::vector<std::optional<Record>> records_;              // by event of the step: the last one
  std::vector<bool> reached_;                               // by record
  std::vector<std::deque<Item>> streams_;                   // what has a meaning without times
  std::map<Communicator, std::deque<std::size_t>> issued_;  // streams, in the order of collectives
};

}  // namespace

std::optional<EndlessWait> endless_wait(const RankPrograms& set) {
  std::vector<Rank> ranks;
  std::map<Communicator, std::vector<Rank*>> members;
  ranks.reserve(set.programs.size());
  for (std::size_t p = 0; p < set.programs.size(); ++p) {
    const auto lowest = std::ranges::find(set.class_of_rank, static_cast<int>(p));
    Rank& rank =
        ranks.emplace_back(set.programs[p], static_cast<int>(lowest - set.class_of_rank.begin()));
    for (std::size_t g = 0; g < rank.place().groups.size(); ++g) {
      members[{g, rank.place().groups[g].first_rank}].push_back(&rank);
    }
  }
  for (bool moves = true; moves;) {
    moves = false;
    for (Rank& rank : ranks) moves |= rank.advance();
    for (const auto& row : members) {
      const Communicator& communicator = row.first;
      const auto stands = [&](const Rank* rank) { return rank->stands_at(communicator); };
      while (std::ranges::all_of(row.second, stands)) {
        for (Rank* const rank : row.second) rank->pass(communicator);
        for (Rank* const rank : row.second) rank->advance();
        moves = true;
      }
    }
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (const auto at = ranks[r].waits_at()) return EndlessWait{r, at->step, at->instruction};
  }
  return std::nullopt;
}

}  // namespace foreshard
