#include "traces/nsys/context.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "traces/fsdp_scopes.hpp"
#include "traces/launches.hpp"
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
  std::int32_t value = 0;  // a phase or a step
};

// The value of the span a moment lies in, `fallback` where it lies in none.
std::int32_t at(const std::vector<Span>& spans, std::int64_t time_ns, std::int32_t fallback) {
  auto next = std::upper_bound(spans.begin(), spans.end(), time_ns,
                               [](std::int64_t t, const Span& s) { return t < s.start_ns; });
  if (next == spans.begin()) return fallback;
  --next;
  return time_ns <= next->end_ns ? next->value : fallback;
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
    from_other_threads();
    from_launches();
  }

 private:
  using Scope = Annotation::Scope;
  struct Open {
    std::int64_t end_ns = 0;
    StringId phase = 0, unit = 0;
    std::int32_t step = kNone;
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
      Open own{e.end_ns, around.phase, around.unit, around.step};
      if (e.kind == EventKind::range || e.kind == EventKind::host) {
        const Meaning& means = meaning(e.name);
        if (means.phase != 0) own.phase = means.phase;
        if (means.unit != 0) own.unit = means.unit;
        if (means.step != kNone) own.step = means.step;
        scopes.change(means.scope, means.unit, means.phase);
        if (means.step != kNone && around.step != means.step) {
          steps_[rank].push_back({e.start_ns, e.end_ns, means.step});
        }
        if (means.phase != 0 && around.phase == 0 && means.scope == Scope::none) {
          phases_[rank].push_back({e.start_ns, e.end_ns, means.phase});
        }
      }
      trace_.events.update(n, [&](Event& placed) {
        placed.phase = own.phase;
        placed.unit = own.unit;
        placed.step = std::max(own.step, 0);
      });
      if (e.end_ns > e.start_ns) open.push_back(own);
    }
  }

  void make_steps() {
    for (auto* spans : {&steps_, &phases_}) {
      for (auto& [rank, of_rank] : *spans) {
        std::sort(of_rank.begin(), of_rank.end(), [](const Span& a, const Span& b) {
          return std::tie(a.start_ns, a.end_ns) < std::tie(b.start_ns, b.end_ns);
        });
      }
    }
    for (const auto& [rank, spans] : steps_) {
      std::map<std::int32_t, Step> steps;
      for (const Span& s : spans) {
        steps.try_emplace(s.value, Step{rank, s.value, s.start_ns, s.end_ns, 0, 0});
      }
      for (const auto& [number, step] : steps) trace_.steps.push_back(step);
    }
  }

  // Autograd works in threads of its own: what no range is around of has the step and phase that
  // another thread of the rank is in.
  void from_other_threads() {
    trace_.events.update_all([&](Event& e) {
      const Lane& lane = trace_.lanes[static_cast<std::size_t>(e.lane)];
      if (e.step == 0) e.step = std::max(at(steps_[lane.rank], e.start_ns, 0), 0);
      if (!lane.device && e.phase == 0) e.phase = at(phases_[lane.rank], e.start_ns, 0);
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
  std::map<std::int32_t, std::vector<Span>> steps_, phases_;  // by rank
};

}  // namespace

void assign_context(Trace& trace) {
  Phases(trace).assign();
}

}  // namespace foreshard::traces::nsys
