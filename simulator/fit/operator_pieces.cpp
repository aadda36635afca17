#include "simulator/fit/operator_pieces.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace foreshard::simulator {
namespace {

using traces::Event;
using traces::EventKind;
using traces::Trace;

// The outermost operator with a cost key around each call that launched something.
std::map<std::pair<std::int32_t, std::int64_t>, const Event*> owners_of_launches(
    const Trace& trace, std::span<const Event> events) {
  std::vector<std::vector<const Event*>> threads(trace.lanes.size());
  for (const Event& event : events) {
    const bool matters = event.correlation != 0 || event.cost_key != 0;
    if (matters && !trace.lanes[static_cast<std::size_t>(event.lane)].device) {
      threads[static_cast<std::size_t>(event.lane)].push_back(&event);
    }
  }
  std::map<std::pair<std::int32_t, std::int64_t>, const Event*> owners;
  for (auto& thread : threads) {
    std::stable_sort(thread.begin(), thread.end(), [](const Event* a, const Event* b) {
      return std::pair(a->start_ns, -a->end_ns) < std::pair(b->start_ns, -b->end_ns);
    });
    const Event* owner = nullptr;
    for (const Event* event : thread) {
      if (owner != nullptr && event->start_ns >= owner->end_ns) owner = nullptr;
      if (owner == nullptr && event->cost_key != 0) owner = event;
      if (owner == nullptr || event->correlation == 0) continue;
      owners[{trace.lanes[static_cast<std::size_t>(event->lane)].rank, event->correlation}] = owner;
    }
  }
  return owners;
}

double covered_ns(std::vector<const Event*>& pieces) {
  std::sort(pieces.begin(), pieces.end(),
            [](const Event* a, const Event* b) { return a->start_ns < b->start_ns; });
  std::int64_t sum = 0, until = INT64_MIN;
  for (const Event* piece : pieces) {
    sum += std::max<std::int64_t>(0, piece->end_ns - std::max(until, piece->start_ns));
    until = std::max(until, piece->end_ns);
  }
  return static_cast<double>(sum);
}

}  // namespace

OperatorPieces::OperatorPieces(const Trace& trace, std::span<const Event> events) {
  const auto owners = owners_of_launches(trace, events);
  if (owners.empty()) return;
  std::unordered_map<const Event*, std::vector<const Event*>> pieces;
  for (const Event& event : events) {
    const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(event.lane)];
    if (!lane.device || event.cost_key == 0 || event.correlation == 0) continue;
    const auto owner = owners.find({lane.rank, event.correlation});
    if (owner == owners.end() || owner->second->cost_key != event.cost_key) continue;
    pieces[owner->second].push_back(&event);
  }
  for (auto& [owner, of_one] : pieces) {
    if (of_one.size() < 2) continue;
    const double sum = covered_ns(of_one);
    for (const Event* piece : of_one) times_[piece] = -1;
    times_[of_one.front()] = sum;
  }
}

}  // namespace foreshard::simulator
