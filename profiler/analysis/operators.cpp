#include "profiler/analysis/operators.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "models/program/operators.hpp"
#include "traces/input/bounded_sum.hpp"

namespace foreshard::profiler {
namespace {

using traces::bounded_sum;
using traces::Event;
using traces::EventKind;

bool is_on_host(EventKind kind) {
  return kind == EventKind::host || kind == EventKind::runtime || kind == EventKind::host_wait;
}

// Our own recordings have a program, whose host events only issue what a stream then does.
bool is_recording_of_others(const traces::Trace& trace) {
  const auto hash = trace.metadata.find("program_hash");
  return hash == trace.metadata.end() || hash->second.empty();
}

// How long each event was alone on its host thread: less the time of the operators that it called.
// Events come by lane and start, an enclosing one before what it encloses; calls that overlap count
// once.
std::vector<std::int64_t> self_times(const traces::Trace& trace) {
  struct Open {
    std::size_t event;
    std::int64_t counted_until;  // by the operators it called so far
  };
  std::vector<std::int64_t> self(trace.events.size());
  std::vector<Open> open;  // those that enclose the event at hand, outermost first
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    if (!is_on_host(e.kind)) continue;
    self[i] = e.end_ns - e.start_ns;
    while (!open.empty() && (trace.events[open.back().event].lane != e.lane ||
                             trace.events[open.back().event].end_ns < e.end_ns)) {
      open.pop_back();
    }
    if (!open.empty()) {
      Open& caller = open.back();
      const std::int64_t begin = std::max(e.start_ns, caller.counted_until);
      if (begin < e.end_ns) self[caller.event] -= e.end_ns - begin;
      caller.counted_until = std::max(caller.counted_until, e.end_ns);
    }
    open.push_back({i, e.start_ns});
  }
  return self;
}

bool has_operator(const Event& e) {
  return e.instruction != traces::kNone && e.cost_key != 0;
}

bool are_of_one_instruction(const Event& a, const Event& b) {
  return std::tie(a.lane, a.step, a.instruction) == std::tie(b.lane, b.step, b.instruction);
}

}  // namespace

std::string operator_name(const traces::Trace& trace, const Event& event) {
  CostKey key;
  const bool is_known = has_operator(event) && parse_cost_key(trace.strings[event.cost_key], key);
  return is_known ? std::string(name(key.op)) : trace.strings[event.name];
}

std::vector<OperatorTotal> operator_totals(const traces::Trace& trace, OperatorNames names) {
  const bool counts_host = is_recording_of_others(trace);
  const std::vector<std::int64_t> self =
      counts_host ? self_times(trace) : std::vector<std::int64_t>();
  std::map<std::tuple<EventKind, bool, traces::StringId>, OperatorTotal> operators;
  Event last;  // that was counted
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& e = trace.events[i];
    const bool is_host = is_on_host(e.kind);
    if (is_host ? !counts_host
                : !traces::is_device_work(e.kind) && e.kind != EventKind::host_compute) {
      continue;
    }
    const bool is_by_instruction = names == OperatorNames::of_instructions && has_operator(e);
    OperatorTotal& total =
        operators[{e.kind, is_by_instruction, is_by_instruction ? e.cost_key : e.name}];
    if (total.count == 0) {
      total.name = is_by_instruction ? operator_name(trace, e) : trace.strings[e.name];
    }
    const std::int64_t ns = e.end_ns - e.start_ns;
    total.longest_ns = std::max(total.longest_ns, ns);
    total.shortest_ns = total.count == 0 ? ns : std::min(total.shortest_ns, ns);
    const bool goes_on = is_by_instruction && total.count > 0 && are_of_one_instruction(last, e);
    if (!goes_on) ++total.count;
    last = e;
    if (e.cost_source != CostSource::none) total.cost_sources.insert(e.cost_source);
    total.total_ns = bounded_sum(total.total_ns, ns);
    total.self_ns = bounded_sum(total.self_ns, is_host ? self[i] : ns);
  }
  std::vector<OperatorTotal> result;
  for (auto& [key, total] : operators) {
    total.category = name(std::get<0>(key));
    total.is_on_device = traces::is_device_work(std::get<0>(key));
    result.push_back(std::move(total));
  }
  std::sort(result.begin(), result.end(), [](const OperatorTotal& a, const OperatorTotal& b) {
    return std::tie(b.total_ns, a.name, a.category) < std::tie(a.total_ns, b.name, b.category);
  });
  return result;
}

}  // namespace foreshard::profiler
