#include "gui/models/timeline/alike_events.hpp"

#include <algorithm>
#include <set>

#include "gui/models/timeline/lane_events.hpp"

namespace foreshard::gui {
namespace {

constexpr std::size_t kEventsOfStretch = 256;

}  // namespace

AlikeEvents::AlikeEvents(const traces::Trace& trace) : trace_(&trace) {
  steps_.reserve(trace.events.size() / kEventsOfStretch + 1);
  for (std::size_t n = 0; n < trace.events.size(); ++n) {
    const std::int32_t step = trace.events[n].step;
    if (n % kEventsOfStretch == 0) steps_.push_back({step, step});
    steps_.back().first = std::min(steps_.back().first, step);
    steps_.back().last = std::max(steps_.back().last, step);
  }
}

// The lane's events of that step, in their order.
template <typename Visit>
void AlikeEvents::visit(std::int32_t lane, std::int32_t step, const Visit& visit) const {
  const LaneEvents events = events_of(*trace_, lane);
  std::size_t n = events.first;
  while (n < events.end) {
    const std::size_t stretch = n / kEventsOfStretch;
    const std::size_t end = std::min((stretch + 1) * kEventsOfStretch, events.end);
    if (steps_[stretch].first <= step && step <= steps_[stretch].last) {
      for (; n < end; ++n) {
        const traces::Event event = trace_->events[n];
        if (event.step == step) visit(n, event);
      }
    }
    n = end;
  }
}

std::vector<std::int32_t> AlikeEvents::of(std::int32_t lane, const Trait& trait) const {
  std::vector<std::int32_t> alike;
  visit(lane, trait.step, [&](std::size_t n, const traces::Event& event) {
    if (event.name == trait.name && event.kind == trait.kind) {
      alike.push_back(static_cast<std::int32_t>(n));
    }
  });
  return alike;
}

std::vector<AlikeEvents::Trait> AlikeEvents::traits(std::int32_t lane, std::int32_t step) const {
  std::set<Trait> traits;
  visit(lane, step,
        [&](std::size_t, const traces::Event& event) { traits.insert(trait_of(event)); });
  return {traits.begin(), traits.end()};
}

}  // namespace foreshard::gui
