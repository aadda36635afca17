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
  join_launches(trace, events);
  join_instructions(trace, events);
}

void OperatorPieces::add(std::vector<const Event*>& pieces) {
  if (pieces.size() < 2) return;
  const double sum = covered_ns(pieces);
  for (const Event* piece : pieces) times_[piece] = -1;
  times_[pieces.front()] = sum;
}

// A stream works on one instruction after the other.
void OperatorPieces::join_instructions(const Trace& trace, std::span<const Event> events) {
  const auto is_of_same = [](const Event& a, const Event& b) {
    return a.lane == b.lane && a.step == b.step && a.instruction == b.instruction;
  };
  std::vector<const Event*> pieces;
  for (const Event& event : events) {
    const bool is_of_device = trace.lanes[static_cast<std::size_t>(event.lane)].device;
    if (!is_of_device || event.instruction < 0 || !is_device_work(event.kind)) continue;
    if (!pieces.empty() && !is_of_same(*pieces.back(), event)) {
      add(pieces);
      pieces.clear();
    }
    pieces.push_back(&event);
  }
  add(pieces);
}

void OperatorPieces::join_launches(const Trace& trace, std::span<const Event> events) {
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
  for (auto& [owner, of_one] : pieces) add(of_one);
}

}  // namespace foreshard::simulator
