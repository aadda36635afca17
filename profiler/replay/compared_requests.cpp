#include "profiler/replay/compared_requests.hpp"

#include <unordered_map>

namespace foreshard::profiler {
namespace {

using traces::AllocatorAction;

bool is_compared(AllocatorAction action) {
  return action == AllocatorAction::alloc || action == AllocatorAction::free_requested ||
         action == AllocatorAction::oom;
}

}  // namespace

ComparedRequests::ComparedRequests(const traces::LabelledHistory& history) : history_(history) {
  std::unordered_map<Address, std::size_t> live;
  const auto& events = history.history.events;
  for (std::size_t n = 0; n < events.size(); ++n) {
    if (!is_compared(events[n].action)) continue;
    std::size_t requested = numbers_.size();
    if (events[n].action == AllocatorAction::alloc) live[events[n].address] = requested;
    if (events[n].action == AllocatorAction::free_requested) {
      const auto block = live.find(events[n].address);
      requested = block == live.end() ? kUnknown : block->second;
      if (block != live.end()) live.erase(block);
    }
    numbers_.push_back(n);
    requested_.push_back(requested);
  }
}

std::vector<std::uint64_t> ComparedRequests::actions_and_sizes() const {
  std::vector<std::uint64_t> values;
  values.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) {
    const auto action = static_cast<std::uint64_t>(event(i).action);
    values.push_back(static_cast<std::uint64_t>(event(i).bytes) << 4 | action);
  }
  return values;
}

ComparedEvent ComparedRequests::shown(std::size_t i) const {
  const traces::EventLabels& own = labels(i);
  const traces::EventLabels& of = requested_[i] == kUnknown ? own : labels(requested_[i]);
  return {numbers_[i],     event(i).action, event(i).bytes, stream(i),   own.step,
          text(own.phase), text(of.module), text(own.call), text(of.op), text(of.category)};
}

}  // namespace foreshard::profiler
