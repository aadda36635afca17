#include "traces/nsys/context.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "traces/fsdp_scopes.hpp"
#include "traces/launches.hpp"
#include "traces/named_steps.hpp"
#include "traces/nsys/classify_range.hpp"

namespace foreshard::traces::nsys {
namespace {

// What a name means, with its words as text of the trace.
struct Meaning {
  StringId phase = 0, unit = 0;
  std::int32_t step = kNone;
  Annotation::Scope scope = Annotation::Scope::none;
};

struct Span {
  std::int64_t start_ns = 0, end_ns = 0;
  StringId phase = 0;
};

// The phase of the span a moment lies in, 0 where it lies in none.
StringId phase_at(const std::vector<Span>& spans, std::int64_t time_ns) {
  auto next = std::upper_bound(spans.begin(), spans.end(), time_ns,
                               [](std::int64_t t, const Span& s) { return t < s.start_ns; });
  if (next == spans.begin()) return 0;
  --next;
  return time_ns <= next->end_ns ? next->phase : 0;
}

class Phases {
 public:
  explicit Phases(Trace& trace) : trace_(trace) {}

  void assign() {
    const auto by_lane = [](const Event& e, std::int32_t lane) { return e.lane < lane; };
    for (std::size_t lane = 0; lane < trace_.lanes.size(); ++lane) {
      if (trace_.lanes[lane].device) continue;
      const auto id = static_cast<std::int32_t>(lane);
      const auto first = std::lower_bound(trace_.events.begin(), trace_.events.end(), id, by_lane);
      const auto last = std::lower_bound(first, trace_.events.end(), id + 1, by_lane);
      from_ranges_around(static_cast<std::size_t>(first - trace_.events.begin()),
                         static_cast<std::size_t>(last - trace_.events.begin()),
                         trace_.lanes[lane].rank);
    }
    make_steps();
    from_times();
    from_launches();
  }

 private:
  using Scope = Annotation::Scope;
  struct Open {
    std::int64_t end_ns = 0;
    StringId phase = 0, unit = 0;
  };

  const Meaning& meaning(StringId name) {
    const auto [found, is_new] = meanings_.try_emplace(name);
    if (is_new) {
      const std::string text = trace_.strings[name];
      const Annotation range = classify_range(text);
      found->second = {trace_.strings.intern(range.phase), trace_.strings.intern(range.unit),
                       range.step.value_or(kNone), range.scope};
    }
    return found->second;
  }

  void from_ranges_around(std::size_t first, std::size_t last, std::int32_t rank) {
    std::vector<Open> open;
    FsdpScopes<StringId> scopes;
    for (std::size_t n = first; n < last; ++n) {
      const Event e = trace_.events[n];
      while (!open.empty() && open.back().end_ns <= e.start_ns) open.pop_back();
      Open around = open.empty() ? Open() : open.back();
      if (around.phase == 0) around.phase = scopes.current().phase;
      if (around.unit == 0) around.unit = scopes.current().unit;
      Open own{e.end_ns, around.phase, around.unit};
      if (e.kind == EventKind::range || e.kind == EventKind::host) {
        const Meaning& means = meaning(e.name);
        if (means.phase != 0) own.phase = means.phase;
        if (means.unit != 0) own.unit = means.unit;
        scopes.change(means.scope, means.unit, means.phase);
        if (means.step != kNone) {
          steps_[rank].push_back({rank, means.step, e.start_ns, e.end_ns, 0, 0, e.name});
        }
        if (means.phase != 0 && around.phase == 0 && means.scope == Scope::none) {
          phases_[rank].push_back({e.start_ns, e.end_ns, means.phase});
        }
      }
      trace_.events.update(n, [&](Event& placed) {
        placed.phase = own.phase;
        placed.unit = own.unit;
      });
      if (e.end_ns > e.start_ns) open.push_back(own);
    }
  }

  void make_steps() {
    for (auto& [rank, spans] : phases_) {
      std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
        return std::tie(a.start_ns, a.end_ns) < std::tie(b.start_ns, b.end_ns);
      });
    }
    for (auto& [rank, steps] : steps_) {
      steps = steps_of_names(std::move(steps), trace_.strings);
      trace_.steps.insert(trace_.steps.end(), steps.begin(), steps.end());
    }
  }

  // Autograd works in threads of its own: what no range is around of has the phase that another
  // thread of the rank is in. Steps are those of the rank.
  void from_times() {
    trace_.events.update_all([&](Event& e) {
      const Lane& lane = trace_.lanes[static_cast<std::size_t>(e.lane)];
      e.step = step_at(steps_[lane.rank], e.start_ns);
      if (!lane.device && e.phase == 0) e.phase = phase_at(phases_[lane.rank], e.start_ns);
    });
  }

  void from_launches() {
    const Launches launches(trace_);
    for (std::size_t i = 0; i < trace_.events.size(); ++i) {
      if (launches.of(i) == Launches::kUnknown) continue;
      const Event& call = trace_.events[static_cast<std::size_t>(launches.of(i))];
      trace_.events.update(i, [&](Event& e) {
        e.phase = call.phase;
        e.unit = call.unit;
        e.step = call.step;
      });
    }
  }

  Trace& trace_;
  std::unordered_map<StringId, Meaning> meanings_;
  std::map<std::int32_t, std::vector<Step>> steps_;  // by rank
  std::map<std::int32_t, std::vector<Span>> phases_;
};

}  // namespace

void assign_context(Trace& trace) {
  Phases(trace).assign();
}

}  // namespace foreshard::traces::nsys
