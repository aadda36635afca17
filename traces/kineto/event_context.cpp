#include "traces/kineto/event_context.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "traces/fsdp_scopes.hpp"
#include "traces/kineto/background_collectives.hpp"
#include "traces/kineto/collected.hpp"
#include "traces/kineto/flow_links.hpp"
#include "traces/kineto/name_info.hpp"
#include "traces/launches.hpp"
#include "traces/named_steps.hpp"

namespace foreshard::traces::kineto {
namespace {

// Goes through one host thread in the order of time and keeps, at each moment, what is open there.

// A host event that others refer to.
struct Reference {
  std::int64_t key = 0;     // correlation, or number of the operator
  std::uint32_t event = 0;  // index
  // The outermost event around it, or itself, that has a cost key; without any, the innermost that
  // states how large it is.
  std::uint32_t owner = 0;
  auto operator<=>(const Reference&) const = default;
};

constexpr std::uint32_t kNoEvent = ~std::uint32_t{0};

class HostSweep {
 public:
  HostSweep(Collected& recording, NameTable& names, EventContexts& out)
      : recording_(recording), names_(names), out_(out) {}

  // `instants`: indices of the thread's instants of the allocator, by time.
  void sweep(std::size_t lane, std::span<const std::uint32_t> instants);

  std::vector<Reference> launches;          // by the calls that have a correlation
  std::vector<Reference> operators;         // that have a number
  std::vector<std::uint32_t> kernel_calls;  // owners of the calls that launch kernels

 private:
  struct Open {
    std::int64_t end_ns;
    StringId unit, phase, name;
    std::uint32_t owner;
  };

  Open around(std::int64_t time_ns);
  void place(std::uint32_t instant);
  void visit(std::uint32_t index);
  void rename_cost(Event& event, Operator op);

  Collected& recording_;
  NameTable& names_;
  EventContexts& out_;
  std::vector<Open> open_;
  FsdpScopes<StringId> scopes_;
};

void HostSweep::sweep(std::size_t lane, std::span<const std::uint32_t> instants) {
  open_.clear();
  scopes_.clear();
  std::size_t next = 0;
  for (std::size_t i = recording_.lane_begin[lane]; i < recording_.lane_begin[lane + 1]; ++i) {
    const std::int64_t start = recording_.events[i].start_ns;
    while (next < instants.size() && recording_.memory[instants[next]].time_ns < start) {
      place(instants[next++]);
    }
    visit(static_cast<std::uint32_t>(i));
  }
  while (next < instants.size()) place(instants[next++]);
}

// What is open at this moment, with the unit's own work where nothing else names a unit.
HostSweep::Open HostSweep::around(std::int64_t time_ns) {
  while (!open_.empty() && open_.back().end_ns <= time_ns) open_.pop_back();
  Open out = open_.empty() ? Open{0, 0, 0, 0, kNoEvent} : open_.back();
  if (out.unit == 0) out.unit = scopes_.current().unit;
  if (out.phase == 0) out.phase = scopes_.current().phase;
  return out;
}

void HostSweep::place(std::uint32_t instant) {
  const Open now = around(recording_.memory[instant].time_ns);
  out_.memory[instant] = {now.unit, now.phase, now.name};
}

void HostSweep::visit(std::uint32_t index) {
  Event& event = recording_.events[index];
  EventLinks& links = recording_.links[index];
  Open now = around(event.start_ns);
  if (event.kind == EventKind::range || event.kind == EventKind::host) {
    const NameInfo& info = names_[event.name];
    if (info.unit != 0) now.unit = info.unit;
    if (info.phase != 0) now.phase = info.phase;
    scopes_.change(info.scope, info.unit, info.phase);
  }
  event.unit = now.unit;
  event.phase = now.phase;
  event.step = step_at(out_.steps, event.start_ns);
  if (links.in_backward != Operator::kCount && recording_.strings[now.phase] == "backward") {
    rename_cost(event, links.in_backward);
  }
  const bool is_part = now.owner != kNoEvent && recording_.events[now.owner].cost_key != 0;
  if (!is_part && (event.cost_key != 0 || event.bytes != 0)) now.owner = index;
  if (event.kind == EventKind::runtime && now.owner != kNoEvent && names_[event.name].launches) {
    kernel_calls.push_back(now.owner);
  }
  links.communicates =
      names_[event.kind == EventKind::runtime ? now.name : event.name].communicates;
  if (can_launch(event)) launches.push_back({event.correlation, index, now.owner});
  if (links.external_id != 0 && event.correlation == 0) {
    operators.push_back({links.external_id, index, now.owner});
  }
  now.end_ns = event.end_ns;
  if (event.kind != EventKind::runtime && event.kind != EventKind::stack) now.name = event.name;
  if (event.end_ns > event.start_ns) open_.push_back(now);
}

void HostSweep::rename_cost(Event& event, Operator op) {
  CostKey key;
  if (!parse_cost_key(recording_.strings[event.cost_key], key)) return;
  event.cost_key = recording_.strings.intern(text(in_backward(key, op)));
}

// Gives kernels the cost keys of the operators that launched them.
//
// An operator may launch several kernels: all have its key, and only their sum is its cost. None has
// it where one of them is missing from the recording, or may be.

struct LaunchedKernel {
  std::uint32_t owner = 0, kernel = 0;  // indices of events
  bool has_call = false;                // its launch is recorded
  auto operator<=>(const LaunchedKernel&) const = default;
};

// Whether these are all kernels that the owner of so many calls launched.
bool are_all(std::span<const LaunchedKernel> kernels, std::ptrdiff_t calls) {
  if (std::ssize(kernels) < calls) return false;
  return kernels.size() == 1 || std::all_of(kernels.begin(), kernels.end(),
                                            [](const LaunchedKernel& k) { return k.has_call; });
}

// `calls`: owners of the calls that launch kernels, one of each call.
void share_costs(Collected& recording, std::vector<LaunchedKernel> kernels,
                 std::vector<std::uint32_t> calls) {
  // Most often they are sorted: streams and threads go on in the order of time.
  if (!std::is_sorted(kernels.begin(), kernels.end())) std::sort(kernels.begin(), kernels.end());
  if (!std::is_sorted(calls.begin(), calls.end())) std::sort(calls.begin(), calls.end());
  auto call = calls.begin();
  for (auto first = kernels.begin(); first != kernels.end();) {
    const std::uint32_t owner = first->owner;
    const auto last = std::find_if(first, kernels.end(),
                                   [&](const LaunchedKernel& k) { return k.owner != owner; });
    while (call != calls.end() && *call < owner) ++call;
    const auto past =
        std::find_if(call, calls.end(), [=](std::uint32_t of) { return of != owner; });
    const Event& from = recording.events[owner];
    if (last - first == 1) {
      Event& only = recording.events[first->kernel];
      if (only.bytes == 0) only.bytes = from.bytes;
      if (only.group == 0 && only.kind == EventKind::communication) {
        only.group = from.group;
        only.sequence = from.sequence;
      }
    }
    if (are_all({first, last}, past - call)) {
      for (auto k = first; k != last; ++k) {
        Event& to = recording.events[k->kernel];
        if (to.cost_key == 0) to.cost_key = from.cost_key;
      }
    }
    first = last;
    call = past;
  }
}

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
    link_by_flows(recording_);
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
      out_.steps.push_back(
          {0, names_[event.name].step, event.start_ns, event.end_ns, 0, 0, event.name});
    });
    out_.steps = steps_of_names(std::move(out_.steps), recording_.strings);
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
      event.step = step_at(out_.steps, event.start_ns);
      return;
    }
    const Event& host = recording_.events[cause->event];
    if (event.kind == EventKind::compute && recording_.links[cause->event].communicates) {
      event.kind = EventKind::communication;
    }
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

EventContexts attribute(Collected& recording) {
  return Attributor(recording).run();
}

}  // namespace foreshard::traces::kineto
