#include "gui/models/timeline/colouring.hpp"

#include <algorithm>
#include <set>

namespace foreshard::gui {
namespace {

constexpr std::size_t kMostUnits = 160;          // told apart by colour
constexpr std::string_view kWholeStep = "step";  // a range that begins in one phase and has all

std::uint64_t name_and_phase(traces::StringId name, traces::StringId phase) {
  return (static_cast<std::uint64_t>(name) << 32) | static_cast<std::uint32_t>(phase);
}

bool is_root(const std::string& unit) {
  return unit.empty() || unit == "root" || unit == "(root)";
}

// The number in a path, such as a layer's; -1 where there is none.
long layer_number(const std::string& unit) {
  const auto end = unit.find_last_of("0123456789");
  if (end == std::string::npos) return -1;
  const auto before = unit.find_last_not_of("0123456789", end);
  const std::string digits = unit.substr(before + 1, std::min<std::size_t>(end - before, 9));
  return std::stol(digits);
}

}  // namespace

Colouring::Colouring(const traces::Trace& trace, ColourBy by) : trace_(&trace), by_(by) {
  add({});  // category 0: of what nothing is known
  of_unit_.resize(trace.strings.size(), 0);
  of_phase_.resize(trace.strings.size(), 0);
  exposed_ = add({.colour = {Role::warn}});
  for (std::size_t source = 0; source < of_source_.size(); ++source) {
    of_source_[source] = add({.colour = {role_of_cost_source(static_cast<CostSource>(source))}});
  }

  std::set<traces::StringId> units, phases;
  std::vector<std::uint64_t> pairs;  // in the order of their first event
  traces::StringId last_unit = 0;
  for (const traces::Event& event : trace.events) {
    if (event.unit != last_unit) units.insert(last_unit = event.unit);
    const std::uint64_t pair = name_and_phase(event.name, event.phase);
    if (!of_event_.try_emplace(pair, CategoryId{0}).second) continue;
    pairs.push_back(pair);
    phases.insert(event.phase);
  }
  for (const traces::StringId unit : units) {
    if (!is_root(trace.strings[unit])) units_.push_back(unit);
  }
  std::stable_sort(units_.begin(), units_.end(), [&](traces::StringId a, traces::StringId b) {
    return layer_number(trace.strings[a]) < layer_number(trace.strings[b]);
  });
  for (std::size_t n = 0; n < units_.size(); ++n) {
    const double depth =
        units_.size() < 2 ? 0.5 : static_cast<double>(n) / static_cast<double>(units_.size() - 1);
    const Fill fill{.is_unit = true, .colour = {}, .depth = depth, .is_odd = n % 2 == 1};
    of_unit_[static_cast<std::size_t>(units_[n])] =
        n < kMostUnits ? add(fill) : of_unit_[static_cast<std::size_t>(units_[kMostUnits - 1])];
  }
  for (const traces::StringId phase : phases) {
    of_phase_[static_cast<std::size_t>(phase)] =
        add({.colour = {role_of_phase(trace.strings[phase])}});
  }
  for (const std::uint64_t pair : pairs) {
    const auto name = static_cast<traces::StringId>(pair >> 32);
    const auto phase = static_cast<traces::StringId>(pair & 0xFFFFFFFF);
    if (trace.strings[name] == kWholeStep) {
      of_event_[pair] = add({.colour = {Role::host, Tint::rest}});
      continue;
    }
    // By operator the phase does not matter; what no phase colours, its name does.
    const std::string& phase_text = by == ColourBy::operators ? "forward" : trace.strings[phase];
    of_event_[pair] = add({.colour = colour_of_operator(trace.strings[name], phase_text)});
  }
}

// Equal fills share a category.
CategoryId Colouring::add(const Fill& fill) {
  const auto same = std::find_if(fills_.begin(), fills_.end(), [&](const Fill& known) {
    return known.is_unit == fill.is_unit && known.colour == fill.colour &&
           known.depth == fill.depth && known.is_odd == fill.is_odd;
  });
  if (same != fills_.end()) return static_cast<CategoryId>(same - fills_.begin());
  if (fills_.size() == 255) return 0;
  fills_.push_back(fill);
  return static_cast<CategoryId>(fills_.size() - 1);
}

CategoryId Colouring::of_unit(traces::StringId unit) const {
  return of_unit_[static_cast<std::size_t>(unit)];
}

Fill Colouring::unit_fill(traces::StringId unit) const {
  return fills_[of_unit(unit)];
}

CategoryId Colouring::category(const Row& row, std::size_t item) const {
  switch (row.kind) {
    case RowKind::phase: return of_phase_[static_cast<std::size_t>(row.phase(item))];
    case RowKind::unit: return of_unit(row.unit(item));
    case RowKind::exposed: return exposed_;
    default: break;
  }
  if (by_ == ColourBy::unit) return of_unit(row.unit(item));
  const traces::Event& event = trace_->events[static_cast<std::size_t>(row.event(item))];
  if (by_ == ColourBy::cost_source) return of_source_[static_cast<std::size_t>(event.cost_source)];
  const auto known = of_event_.find(name_and_phase(event.name, event.phase));
  return known == of_event_.end() ? 0 : known->second;
}

}  // namespace foreshard::gui
