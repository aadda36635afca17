#include "simulator/fit/meetings.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace foreshard::simulator {
namespace {

using traces::Event;
using traces::Trace;

using Members = std::vector<const Event*>;

bool ran_together(const Members& members) {
  std::int64_t last_start = INT64_MIN, first_end = INT64_MAX;
  for (const Event* event : members) {
    last_start = std::max(last_start, event->start_ns);
    first_end = std::min(first_end, event->end_ns);
  }
  return last_start <= first_end;
}

// From the first member's end to the last one's, over all groups: real groups end together.
std::int64_t spread_of_ends(const std::vector<Members>& groups) {
  std::int64_t sum = 0;
  for (const Members& group : groups) {
    const auto [first, last] =
        std::minmax_element(group.begin(), group.end(),
                            [](const Event* a, const Event* b) { return a->end_ns < b->end_ns; });
    sum += (*last)->end_ns - (*first)->end_ns;
  }
  return sum;
}

class Grouping {
 public:
  Grouping(const Trace& trace, std::int64_t ranks) : trace_(trace), ranks_(ranks) {
    std::set<std::int32_t> recorded;
    for (const traces::Lane& lane : trace.lanes) recorded.insert(lane.rank);
    for (const std::int32_t rank : recorded) ranks_ = std::max<std::int64_t>(ranks_, rank + 1);
    has_all_ranks_ = std::ssize(recorded) == ranks_;
  }

  bool is_complete(const Members& group, std::int64_t size) const {
    return std::ssize(group) == size && (has_all_ranks_ || size == 1);
  }

  std::vector<Members> groups(const Members& all, std::int64_t size) const {
    if (std::ssize(all) <= size) return {all};
    const std::int64_t stride = std::max<std::int64_t>(1, ranks_ / size);
    auto consecutive = split(all, [&](std::int64_t rank) { return rank / size; });
    auto strided = split(all, [&](std::int64_t rank) { return rank % stride; });
    return spread_of_ends(strided) < spread_of_ends(consecutive) ? strided : consecutive;
  }

 private:
  template <typename GroupOf>
  std::vector<Members> split(const Members& all, GroupOf group_of) const {
    std::map<std::int64_t, Members> groups;
    for (const Event* event : all) {
      groups[group_of(trace_.lanes[static_cast<std::size_t>(event->lane)].rank)].push_back(event);
    }
    std::vector<Members> result;
    for (auto& [which, members] : groups) result.push_back(std::move(members));
    return result;
  }

  const Trace& trace_;
  std::int64_t ranks_;
  bool has_all_ranks_ = true;
};

}  // namespace

std::vector<Meeting> meetings_of(const Trace& trace, std::span<const Event> events,
                                 std::int64_t ranks, std::int32_t first_step,
                                 const std::function<std::int64_t(const Event&)>& group_size) {
  // Step, instruction, process group, number in it, cost key.
  using Place =
      std::tuple<std::int32_t, std::int32_t, traces::StringId, std::int64_t, traces::StringId>;
  std::map<std::pair<Place, std::int64_t>, Members> places;  // and occurrence
  std::map<std::pair<std::int32_t, Place>, std::int64_t> occurrences;
  std::vector<const Event*> collectives;
  for (const Event& event : events) {
    const bool is_whole = event.step >= first_step && event.end_ns >= event.start_ns;
    if (is_whole && group_size(event) > 0) collectives.push_back(&event);
  }
  std::stable_sort(collectives.begin(), collectives.end(),
                   [](const Event* a, const Event* b) { return a->start_ns < b->start_ns; });
  for (const Event* event : collectives) {
    const bool is_numbered = event->group != 0 && event->sequence > 0;
    const Place place{is_numbered ? 0 : event->step, event->instruction, event->group,
                      is_numbered ? event->sequence : 0, event->cost_key};
    std::int64_t occurrence = 0;
    if (event->instruction < 0) {
      const std::int32_t rank = trace.lanes[static_cast<std::size_t>(event->lane)].rank;
      occurrence = occurrences[{rank, place}]++;
    }
    places[{place, occurrence}].push_back(event);
  }

  const Grouping grouping(trace, ranks);
  std::vector<Meeting> meetings;
  for (const auto& [place, members] : places) {
    const std::int64_t size = group_size(*members.front());
    for (Members& group : grouping.groups(members, size)) {
      if (ran_together(group)) {
        const bool is_complete = grouping.is_complete(group, size);
        meetings.push_back({std::move(group), is_complete});
        continue;
      }
      for (const Event* event : group) meetings.push_back({{event}, size == 1});
    }
  }
  return meetings;
}

}  // namespace foreshard::simulator
