#include "traces/meaning/attribution.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/meaning/annotations.hpp"
#include "traces/meaning/communication.hpp"
#include "traces/meaning/device_calls.hpp"
#include "traces/meaning/fsdp_scopes.hpp"
#include "traces/meaning/launches.hpp"
#include "traces/meaning/module_units.hpp"
#include "traces/meaning/named_steps.hpp"

namespace foreshard::traces {
namespace {

// What the names of a recording mean, each looked into once.

struct Meaning {
  StringId unit = 0, phase = 0;
  Annotation::Scope scope = Annotation::Scope::none;
  std::int32_t step = kNone;
  bool launches = false;      // a call that launches a kernel
  bool communicates = false;  // an operator whose own kernels do
  bool is_known = false;      // looked into
};

class Meanings {
 public:
  explicit Meanings(Strings& strings) : strings_(strings) {}

  const Meaning& operator[](StringId name) {
    const auto index = static_cast<std::size_t>(name);
    if (index >= meanings_.size()) meanings_.resize(strings_.size());
    if (!meanings_[index].is_known) look_into(name);
    return meanings_[index];
  }

 private:
  void look_into(StringId name) {
    const std::string text = strings_[name];
    const Annotation annotation = annotation_of(text);
    meanings_[static_cast<std::size_t>(name)] = {strings_.intern(annotation.unit),
                                                 strings_.intern(annotation.phase),
                                                 annotation.scope,
                                                 annotation.step.value_or(kNone),
                                                 launches_kernel(text),
                                                 is_communication_operator(text),
                                                 true};
  }

  Strings& strings_;
  std::vector<Meaning> meanings_;
};

// Goes through the host threads of one rank in the order of time and keeps, at each moment, what is
// open there.

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

// A thread is in this phase.
struct PhaseSpan {
  std::int64_t start_ns = 0, end_ns = 0;
  StringId phase = 0;
};

class HostSweep {
 public:
  // `steps`: of the rank. `modules`: see module_units.hpp; none where ranges name units.
  HostSweep(ImportedEvents& imported, Meanings& meanings, std::span<const Step> steps,
            const std::unordered_map<StringId, StringId>& modules)
      : imported_(imported), meanings_(meanings), steps_(steps), modules_(modules) {}

  // `moments`: indices of the thread's moments, by time.
  void sweep(std::size_t lane, std::span<const std::uint32_t> order,
             std::span<const Moment> moments, std::vector<MomentContext>& contexts);

  std::vector<Reference> launches;          // by the calls that have a correlation
  std::vector<std::uint32_t> kernel_calls;  // owners of the calls that launch kernels
  std::vector<PhaseSpan> phases;            // of ranges

  // Those that have a number. Few recordings need any: sorted once asked for.
  const std::vector<Reference>& sorted_operators() {
    if (!std::exchange(are_sorted_, true)) std::ranges::sort(operators_);
    return operators_;
  }

 private:
  struct Open {
    std::int64_t end_ns;
    StringId unit, phase, name;
    std::uint32_t owner;
  };
  static constexpr Open kNothing{0, 0, 0, 0, kNoEvent};

  Open around(std::int64_t time_ns);
  void visit(std::uint32_t index);
  void use_meaning(const Event& event, Open& now);
  StringId module_unit(const Event& event, const EventLinks& links) const;

  ImportedEvents& imported_;
  Meanings& meanings_;
  std::span<const Step> steps_;
  const std::unordered_map<StringId, StringId>& modules_;
  std::vector<Reference> operators_;
  bool are_sorted_ = false;
  std::vector<Open> open_;
  FsdpScopes<StringId> scopes_;
};

void HostSweep::sweep(std::size_t lane, std::span<const std::uint32_t> order,
                      std::span<const Moment> moments, std::vector<MomentContext>& contexts) {
  open_.clear();
  scopes_.clear();
  auto next = order.begin();
  const auto place_until = [&](std::int64_t time_ns) {
    for (; next != order.end() && moments[*next].time_ns < time_ns; ++next) {
      const Open now = around(moments[*next].time_ns);
      contexts[*next] = {now.unit, now.phase, now.name};
    }
  };
  for (std::size_t i = imported_.lane_begin[lane]; i < imported_.lane_begin[lane + 1]; ++i) {
    place_until(imported_.events[i].start_ns);
    visit(static_cast<std::uint32_t>(i));
  }
  place_until(INT64_MAX);
}

// What is open at this moment, with the unit's own work where nothing else names a unit.
HostSweep::Open HostSweep::around(std::int64_t time_ns) {
  while (!open_.empty() && open_.back().end_ns <= time_ns) open_.pop_back();
  Open out = open_.empty() ? kNothing : open_.back();
  if (out.unit == 0) out.unit = scopes_.current().unit;
  if (out.phase == 0) out.phase = scopes_.current().phase;
  return out;
}

void HostSweep::use_meaning(const Event& event, Open& now) {
  const Meaning& means = meanings_[event.name];
  if (means.phase != 0 && now.phase == 0 && means.scope == Annotation::Scope::none) {
    phases.push_back({event.start_ns, event.end_ns, means.phase});
  }
  if (means.unit != 0) now.unit = means.unit;
  if (means.phase != 0) now.phase = means.phase;
  scopes_.change(means.scope, means.unit, means.phase);
}

StringId HostSweep::module_unit(const Event& event, const EventLinks& links) const {
  if (links.forward != 0) return imported_.events[links.forward - 1].unit;
  const auto found = event.kind == EventKind::stack ? modules_.find(event.name) : modules_.end();
  return found == modules_.end() ? 0 : found->second;
}

void HostSweep::visit(std::uint32_t index) {
  Event& event = imported_.events[index];
  EventLinks& links = imported_.links[index];
  // Steps begin and end within other ranges, too, and have no unit or phase of their own.
  const bool is_step = event.kind == EventKind::range && meanings_[event.name].step != kNone;
  Open now = is_step ? kNothing : around(event.start_ns);
  if (event.kind == EventKind::range || event.kind == EventKind::host) use_meaning(event, now);
  if (!modules_.empty() && now.unit == 0) now.unit = module_unit(event, links);
  if (event.kind == EventKind::stack && now.phase == 0) now.phase = meanings_[event.name].phase;
  event.unit = now.unit;
  event.phase = now.phase;
  event.step = step_at(steps_, event.start_ns);
  if (links.cost_key_in_backward != 0 && imported_.strings[now.phase] == "backward") {
    event.cost_key = links.cost_key_in_backward;
  }
  const bool is_part = now.owner != kNoEvent && imported_.events[now.owner].cost_key != 0;
  if (!is_part && (event.cost_key != 0 || event.bytes != 0)) now.owner = index;
  if (event.kind == EventKind::runtime && now.owner != kNoEvent && meanings_[event.name].launches) {
    kernel_calls.push_back(now.owner);
  }
  links.communicates =
      meanings_[event.kind == EventKind::runtime ? now.name : event.name].communicates;
  if (can_launch(event)) launches.push_back({event.correlation, index, now.owner});
  if (links.external_id != 0 && event.correlation == 0) {
    operators_.push_back({links.external_id, index, now.owner});
  }
  now.end_ns = event.end_ns;
  if (event.kind != EventKind::runtime && event.kind != EventKind::stack) now.name = event.name;
  if (!is_step && event.end_ns > event.start_ns) open_.push_back(now);
}

// Gives kernels the cost keys of the operators that launched them.

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
void share_costs(std::vector<Event>& events, std::vector<LaunchedKernel> kernels,
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
    const Event& from = events[owner];
    if (last - first == 1) {
      Event& only = events[first->kernel];
      if (only.bytes == 0) only.bytes = from.bytes;
      if (only.group == 0 && only.kind == EventKind::communication) {
        only.group = from.group;
        only.sequence = from.sequence;
      }
    }
    if (are_all({first, last}, past - call)) {
      for (auto k = first; k != last; ++k) {
        Event& to = events[k->kernel];
        if (to.cost_key == 0) to.cost_key = from.cost_key;
      }
    }
    first = last;
    call = past;
  }
}

class Attributor {
 public:
  Attributor(ImportedEvents& imported, std::span<const Moment> moments)
      : imported_(imported),
        moments_(moments),
        order_(moments.size()),
        meanings_(imported.strings) {
    std::iota(order_.begin(), order_.end(), 0U);
    std::ranges::stable_sort(order_, {}, [&](std::uint32_t i) {
      return std::pair(moments_[i].lane, moments_[i].time_ns);
    });
    out_.moments.resize(moments.size());
  }

  Attribution run() {
    struct Lanes {
      std::vector<std::size_t> threads, streams;
    };
    std::map<std::int32_t, Lanes> ranks;
    for (std::size_t i = 0; i < imported_.lanes.size(); ++i) {
      const Lane& lane = imported_.lanes[i];
      Lanes& lanes = ranks[lane.rank];
      (lane.device ? lanes.streams : lanes.threads).push_back(i);
    }
    for (const auto& [rank, lanes] : ranks) attribute_rank(rank, lanes.threads, lanes.streams);
    return std::move(out_);
  }

 private:
  std::span<Event> events_of(std::size_t lane) {
    return {imported_.events.data() + imported_.lane_begin[lane],
            imported_.events.data() + imported_.lane_begin[lane + 1]};
  }

  // In the order of time, as indices.
  std::span<const std::uint32_t> moments_of(std::int32_t lane) const {
    const auto lane_of = [&](std::uint32_t i) { return moments_[i].lane; };
    return {std::ranges::lower_bound(order_, lane, {}, lane_of),
            std::ranges::upper_bound(order_, lane, {}, lane_of)};
  }

  void attribute_rank(std::int32_t rank, std::vector<std::size_t> threads,
                      std::span<const std::size_t> streams) {
    const auto [steps, has_units] = named_by_ranges(rank, threads);
    std::unordered_map<StringId, StringId> modules;
    if (!has_units) modules = module_units(imported_, threads);
    if (!modules.empty()) put_backward_last(threads);
    HostSweep sweep(imported_, meanings_, steps, modules);
    for (const std::size_t lane : threads) {
      const auto of_lane = moments_of(static_cast<std::int32_t>(lane));
      sweep.sweep(lane, of_lane, moments_, out_.moments);
    }
    set_phases_by_time(threads, std::move(sweep.phases));
    std::ranges::sort(sweep.launches);
    std::vector<LaunchedKernel> launched;
    for (const std::size_t lane : streams) {
      for (Event& event : events_of(lane)) link(event, sweep, steps, launched);
    }
    share_costs(imported_.events, std::move(launched), std::move(sweep.kernel_calls));
    std::ranges::move(steps, std::back_inserter(out_.steps));
  }

  // What the ranges of a rank name.
  struct Named {
    std::vector<Step> steps;
    bool has_units = false;
  };
  Named named_by_ranges(std::int32_t rank, std::span<const std::size_t> threads) {
    Named named;
    for (const std::size_t lane : threads) {
      for (const Event& event : events_of(lane)) {
        if (event.kind != EventKind::range) continue;
        const Meaning& means = meanings_[event.name];
        named.has_units = named.has_units || means.unit != 0;
        if (means.step == kNone) continue;
        named.steps.push_back({rank, means.step, event.start_ns, event.end_ns, 0, 0, event.name});
      }
    }
    named.steps = steps_of_names(std::move(named.steps), imported_.strings);
    return named;
  }

  // Units of forward operators are known before those of their backward.
  void put_backward_last(std::vector<std::size_t>& threads) {
    std::stable_partition(threads.begin(), threads.end(), [&](std::size_t lane) {
      const auto first = imported_.links.begin();
      return std::all_of(first + static_cast<std::ptrdiff_t>(imported_.lane_begin[lane]),
                         first + static_cast<std::ptrdiff_t>(imported_.lane_begin[lane + 1]),
                         [](const EventLinks& links) { return links.forward == 0; });
    });
  }

  void set_phases_by_time(std::span<const std::size_t> threads, std::vector<PhaseSpan> spans) {
    if (spans.empty()) return;
    std::ranges::sort(spans, {},
                      [](const PhaseSpan& s) { return std::pair(s.start_ns, s.end_ns); });
    for (const std::size_t lane : threads) {
      auto next = spans.begin();  // the first that begins later
      for (Event& event : events_of(lane)) {
        while (next != spans.end() && next->start_ns <= event.start_ns) ++next;
        if (event.phase != 0 || event.kind == EventKind::range || next == spans.begin()) continue;
        if (event.start_ns <= std::prev(next)->end_ns) event.phase = std::prev(next)->phase;
      }
    }
  }

  static const Reference* find(const std::vector<Reference>& all, std::int64_t key) {
    const auto found = std::lower_bound(all.begin(), all.end(), Reference{key, 0, 0});
    return key != 0 && found != all.end() && found->key == key ? &*found : nullptr;
  }

  void link(Event& event, HostSweep& sweep, std::span<const Step> steps,
            std::vector<LaunchedKernel>& launched) {
    const auto index = static_cast<std::uint32_t>(&event - imported_.events.data());
    const Reference* cause = find(sweep.launches, event.correlation);
    const bool has_call = cause != nullptr;
    if (!has_call && imported_.links[index].external_id != 0) {
      cause = find(sweep.sorted_operators(), imported_.links[index].external_id);
    }
    if (event.kind == EventKind::range) {
      const Meaning& means = meanings_[event.name];
      event.unit = means.unit;
      event.phase = means.phase;
    }
    if (cause == nullptr) {
      event.step = step_at(steps, event.start_ns);
      return;
    }
    const Event& host = imported_.events[cause->event];
    if (event.kind == EventKind::compute && imported_.links[cause->event].communicates) {
      event.kind = EventKind::communication;
    }
    if (event.unit == 0) event.unit = host.unit;
    if (event.phase == 0) event.phase = host.phase;
    event.step = host.step;
    const bool is_kernel =
        event.kind == EventKind::compute || event.kind == EventKind::communication;
    if (is_kernel && cause->owner != kNoEvent) launched.push_back({cause->owner, index, has_call});
  }

  ImportedEvents& imported_;
  std::span<const Moment> moments_;
  std::vector<std::uint32_t> order_;  // of the moments, by lane and time
  Attribution out_;
  Meanings meanings_;
};

}  // namespace

Attribution attribute(ImportedEvents& imported, std::span<const Moment> moments) {
  return Attributor(imported, moments).run();
}

void attribute(Trace& trace) {
  ImportedEvents imported = take_events(trace);
  trace.steps = attribute(imported).steps;
  put_events(trace, std::move(imported));
}

}  // namespace foreshard::traces
