#include "traces/kineto/event_context.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "traces/kineto/background_collectives.hpp"
#include "traces/kineto/host_sweep.hpp"
#include "traces/kineto/kernel_costs.hpp"
#include "traces/kineto/name_info.hpp"

namespace foreshard::traces::kineto {
namespace {

// Longer first among equal starts: what encloses stands before what it encloses.
bool stands_before(const Event& a, const Event& b) {
  return std::pair(a.start_ns, -a.end_ns) < std::pair(b.start_ns, -b.end_ns);
}

// In place, for the sake of memory: an order first, then each cycle of it once around.
void sort_lane(Collected& recording, std::size_t lane) {
  const std::size_t begin = recording.lane_begin[lane], end = recording.lane_begin[lane + 1];
  Event* events = recording.events.data() + begin;
  EventLinks* links = recording.links.data() + begin;
  if (std::is_sorted(events, events + (end - begin), stands_before)) return;
  std::vector<std::uint32_t> from(end - begin);
  std::iota(from.begin(), from.end(), 0U);
  std::stable_sort(from.begin(), from.end(), [events](std::uint32_t a, std::uint32_t b) {
    return stands_before(events[a], events[b]);
  });
  for (std::uint32_t first = 0; first < from.size(); ++first) {
    const Event event = events[first];
    const EventLinks link = links[first];
    std::uint32_t at = first;
    while (from[at] != first) {
      const std::uint32_t next = std::exchange(from[at], at);
      events[at] = events[next];
      links[at] = links[next];
      at = next;
    }
    from[at] = at;
    events[at] = event;
    links[at] = link;
  }
}

class Attributor {
 public:
  explicit Attributor(Collected& recording)
      : recording_(recording), names_(recording.strings), sweep_(recording, names_, out_) {}

  EventContexts run() {
    for (std::size_t lane = 0; lane < recording_.lanes.size(); ++lane) sort_lane(recording_, lane);
    find_steps();
    sweep_threads();
    out_.unrelated_collectives = relate_background_collectives(recording_);
    std::sort(sweep_.launches.begin(), sweep_.launches.end());
    std::sort(sweep_.operators.begin(), sweep_.operators.end());
    each_event(true, [this](Event& event) { link(event); });
    share_costs(recording_, std::move(launched_), std::move(sweep_.kernel_calls));
    count_costs();
    return std::move(out_);
  }

 private:
  template <typename Use>
  void each_event(bool on_device, Use use) {
    for (std::size_t lane = 0; lane < recording_.lanes.size(); ++lane) {
      if (recording_.lanes[lane].device != on_device) continue;
      for (std::size_t i = recording_.lane_begin[lane]; i < recording_.lane_begin[lane + 1]; ++i) {
        use(recording_.events[i]);
      }
    }
  }

  void find_steps() {
    each_event(false, [this](const Event& event) {
      if (event.kind != EventKind::range || names_[event.name].step < 0) return;
      Step step;
      step.step = names_[event.name].step;
      step.start_ns = event.start_ns;
      step.end_ns = event.end_ns;
      out_.steps.push_back(step);
    });
    auto& steps = out_.steps;
    std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
      return std::tie(a.step, a.start_ns) < std::tie(b.step, b.start_ns);
    });
    const auto is_same = [](const Step& a, const Step& b) { return a.step == b.step; };
    steps.erase(std::unique(steps.begin(), steps.end(), is_same), steps.end());
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Step& a, const Step& b) { return a.start_ns < b.start_ns; });
  }

  void sweep_threads() {
    const auto& memory = recording_.memory;
    out_.memory.resize(memory.size());
    std::vector<std::uint32_t> instants(memory.size());
    std::iota(instants.begin(), instants.end(), 0U);
    std::stable_sort(instants.begin(), instants.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(memory[a].lane, memory[a].time_ns) <
             std::tie(memory[b].lane, memory[b].time_ns);
    });
    auto first = instants.begin();
    for (std::size_t lane = 0; lane < recording_.lanes.size(); ++lane) {
      const auto last = std::find_if(first, instants.end(), [&](std::uint32_t i) {
        return memory[i].lane != static_cast<std::int32_t>(lane);
      });
      if (!recording_.lanes[lane].device) sweep_.sweep(lane, {first, last});
      first = last;
    }
  }

  static const Reference* find(const std::vector<Reference>& all, std::int64_t key) {
    const auto found = std::lower_bound(all.begin(), all.end(), Reference{key, 0, 0});
    return key != 0 && found != all.end() && found->key == key ? &*found : nullptr;
  }

  void link(Event& event) {
    const auto index = static_cast<std::uint32_t>(&event - recording_.events.data());
    const Reference* cause = find(sweep_.launches, event.correlation);
    const bool has_call = cause != nullptr;
    if (!has_call) cause = find(sweep_.operators, recording_.links[index].external_id);
    if (event.kind == EventKind::range) {
      const NameInfo& info = names_[event.name];
      event.unit = info.unit;
      event.phase = info.phase;
    }
    if (cause == nullptr) {
      event.step = out_.step_at(event.start_ns);
      return;
    }
    const Event& host = recording_.events[cause->event];
    if (event.unit == 0) event.unit = host.unit;
    if (event.phase == 0) event.phase = host.phase;
    event.step = host.step;
    const bool is_kernel =
        event.kind == EventKind::compute || event.kind == EventKind::communication;
    if (is_kernel && cause->owner != kNoEvent) launched_.push_back({cause->owner, index, has_call});
  }

  void count_costs() {
    each_event(true, [this](const Event& event) {
      if (is_device_work(event.kind)) count(event);
    });
    each_event(false, [this](const Event& event) {
      if (event.cost_key != 0 || (event.kind == EventKind::host && names_[event.name].has_cost)) {
        count(event);
      }
    });
  }

  void count(const Event& event) {
    ++(event.cost_key != 0 ? out_.cost_keys_mapped : out_.cost_keys_unmapped);
  }

  Collected& recording_;
  EventContexts out_;
  NameTable names_;
  HostSweep sweep_;
  std::vector<LaunchedKernel> launched_;
};

}  // namespace

std::int32_t EventContexts::step_at(std::int64_t time_ns) const {
  const auto next =
      std::upper_bound(steps.begin(), steps.end(), time_ns,
                       [](std::int64_t time, const Step& step) { return time < step.start_ns; });
  if (next == steps.begin()) return 0;
  const Step& step = *std::prev(next);
  return time_ns < step.end_ns ? step.step : 0;
}

EventContexts attribute(Collected& recording) {
  return Attributor(recording).run();
}

}  // namespace foreshard::traces::kineto
