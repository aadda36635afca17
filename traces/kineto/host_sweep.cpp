#include "traces/kineto/host_sweep.hpp"

#include <algorithm>

#include "traces/launches.hpp"

namespace foreshard::traces::kineto {

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
  const EventLinks& links = recording_.links[index];
  Open now = around(event.start_ns);
  if (event.kind == EventKind::range || event.kind == EventKind::host) {
    const NameInfo& info = names_[event.name];
    if (info.unit != 0) now.unit = info.unit;
    if (info.phase != 0) now.phase = info.phase;
    scopes_.change(info.scope, info.unit, info.phase);
  }
  event.unit = now.unit;
  event.phase = now.phase;
  event.step = out_.step_at(event.start_ns);
  if (links.in_backward != Operator::kCount && recording_.strings[now.phase] == "backward") {
    rename_cost(event, links.in_backward);
  }
  const bool is_part = now.owner != kNoEvent && recording_.events[now.owner].cost_key != 0;
  if (!is_part && (event.cost_key != 0 || event.bytes != 0)) now.owner = index;
  if (event.kind == EventKind::runtime && now.owner != kNoEvent && names_[event.name].launches) {
    kernel_calls.push_back(now.owner);
  }
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

}  // namespace foreshard::traces::kineto
