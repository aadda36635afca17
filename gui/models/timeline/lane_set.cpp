#include "gui/models/timeline/lane_set.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "gui/models/base/in_parallel.hpp"
#include "gui/models/timeline/derived_rows.hpp"
#include "gui/models/timeline/row_kind.hpp"
#include "traces/metadata.hpp"

namespace foreshard::gui {
namespace {

// Ranks that the trace has, and those that each stands for.
std::map<int, std::vector<int>> ranks_drawn(const traces::Trace& trace) {
  std::map<int, std::vector<int>> drawn;
  for (const traces::Lane& lane : trace.lanes) drawn[lane.rank];
  for (const traces::MemoryEvent& event : trace.memory) drawn[event.rank];
  for (const traces::Counter& counter : trace.counters) drawn[counter.rank];
  const auto classes = trace.metadata.find("rank_classes");
  if (classes != trace.metadata.end()) {
    int rank = 0;
    std::size_t at = 0;
    while (at < classes->second.size()) {
      const std::size_t comma = std::min(classes->second.find(',', at), classes->second.size());
      const int stands_for_it = std::atoi(classes->second.substr(at, comma - at).c_str());
      if (const auto found = drawn.find(stands_for_it); found != drawn.end()) {
        found->second.push_back(rank);
      }
      ++rank;
      at = comma + 1;
    }
  }
  for (auto& [rank, others] : drawn) {
    if (std::find(others.begin(), others.end(), rank) == others.end()) {
      others.insert(others.begin(), rank);
    }
  }
  return drawn;
}

std::string title_of(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return "Rank " + std::to_string(ranks[0]);
  const bool is_run = ranks.back() - ranks.front() + 1 == static_cast<int>(ranks.size());
  if (is_run) {
    return "Ranks " + std::to_string(ranks.front()) + "\u2013" + std::to_string(ranks.back());
  }
  return "Ranks " + std::to_string(ranks.front()) + " and " + std::to_string(ranks.size() - 1) +
         " others";
}

bool is_range(const traces::Event& event) {
  return event.kind == traces::EventKind::range;
}
bool is_no_range(const traces::Event& event) {
  return !is_range(event);
}

// A lane's events that are wanted, split into rows in which none overlaps another.
std::vector<std::vector<std::int32_t>> by_depth(const traces::Trace& trace, LaneEvents events,
                                                bool (*is_wanted)(const traces::Event&)) {
  std::vector<std::vector<std::int32_t>> rows;
  std::vector<std::int64_t> free_from;
  for (std::size_t n = events.first; n < events.end; ++n) {
    const traces::Event& event = trace.events[n];
    if (!is_wanted(event)) continue;
    std::size_t depth = 0;
    while (depth < rows.size() && free_from[depth] > event.start_ns) ++depth;
    if (depth == rows.size()) {
      rows.emplace_back();
      free_from.push_back(0);
    }
    rows[depth].push_back(static_cast<std::int32_t>(n));
    free_from[depth] = std::max(event.end_ns, event.start_ns);
  }
  return rows;
}

std::string title_of_lane(const traces::Trace& trace, const traces::Lane& lane, RowKind kind) {
  const std::string& name = trace.strings[lane.name];
  if (name == "host") return "Host thread";
  if (name == "compute") return "Compute";
  if (name == "all_gather") return "All-gather";
  if (name == "reduce_scatter") return "Reduce-scatter";
  if (name == "all_reduce") return "All-reduce";
  if (name == "all_gather_copy_in" || name == "copy_in") return "Copy in";
  if (name.empty()) return kind == RowKind::host ? "Host thread" : "Stream";
  return name;
}

bool is_communication(RowKind kind) {
  return kind == RowKind::all_gather || kind == RowKind::reduce_scatter ||
         kind == RowKind::all_reduce || kind == RowKind::stream;
}

// By rank. The height of a counter's row stands for the same value on all ranks.
std::map<int, std::vector<Row>> rows_of_counters(const traces::Trace& trace) {
  constexpr double kWholePercent = 100;
  std::map<int, std::vector<Row>> rows;
  if (trace.counters.empty()) return rows;
  std::int64_t end_ns = 0;
  for (const traces::Event& event : trace.events) end_ns = std::max(end_ns, event.end_ns);
  std::map<std::pair<traces::StringId, traces::StringId>, double> highest;  // by name and unit
  for (const traces::Counter& counter : trace.counters) {
    double& top = highest[{counter.name, counter.unit}];
    if (trace.strings[counter.unit] == "%") top = std::max(top, kWholePercent);
    for (const traces::CounterSample& sample : counter.samples) top = std::max(top, sample.value);
  }
  for (const traces::Counter& counter : trace.counters) {
    if (counter.samples.empty()) continue;
    rows[counter.rank].emplace_back(trace.strings[counter.name], trace,
                                    std::make_shared<const CounterLevels>(
                                        counter, end_ns, highest[{counter.name, counter.unit}]));
  }
  return rows;
}

// Kernels, or where there is no device the host threads.
void choose_rows(const std::vector<Row>& rows, RankGroup& group) {
  std::vector<std::size_t> host;
  for (std::size_t n = group.first; n < group.first + group.count; ++n) {
    if (rows[n].kind == RowKind::compute) group.work.push_back(n);
    if (rows[n].kind == RowKind::host) host.push_back(n);
    if (is_communication(rows[n].kind)) group.communication.push_back(n);
  }
  if (group.work.empty()) group.work = std::move(host);
}

}  // namespace

LaneSet::LaneSet(std::shared_ptr<const traces::Trace> trace)
    : trace_(std::move(trace)), launches_(*trace_), alike_(*trace_) {
  const traces::Trace& t = *trace_;
  std::vector<LaneEvents> ranges(t.lanes.size());
  for (std::size_t lane = 0; lane < ranges.size(); ++lane) {
    ranges[lane] = events_of(t, static_cast<std::int32_t>(lane));
  }
  rows_of_lane_.resize(t.lanes.size());
  auto counters = rows_of_counters(t);
  for (auto& [rank, ranks] : ranks_drawn(t)) {
    RankGroup group{ranks, title_of(ranks), rows_.size(), 0, {}, {}};
    const auto add_derived = [&, rank = rank](RowKind kind, const char* title,
                                              std::vector<DerivedSpan> spans) {
      if (!spans.empty()) rows_.emplace_back(kind, rank, title, t, std::move(spans));
    };
    DerivedRows derived = derive_rows(t, rank);
    add_derived(RowKind::phase, "Phase", std::move(derived.phases));
    add_derived(RowKind::unit, "Unit", std::move(derived.units));
    // Host threads first, then streams by what they are for; recordings of others have so many calls, one in the
    // other, that their streams come first.
    const bool has_calls = t.metadata.contains("source");
    const auto place = [&](const auto& lane) {
      return std::pair(has_calls && lane.first == RowKind::host, lane.first);
    };
    std::vector<std::pair<RowKind, std::size_t>> lanes;
    for (std::size_t lane = 0; lane < t.lanes.size(); ++lane) {
      if (t.lanes[lane].rank == rank && ranges[lane].first < ranges[lane].end) {
        lanes.emplace_back(row_kind(t, t.lanes[lane], ranges[lane]), lane);
      }
    }
    std::ranges::stable_sort(lanes, {}, place);
    const auto add_exposed_and_counters = [&, rank = rank] {
      add_derived(RowKind::exposed, "Exposed", std::exchange(derived.exposed, {}));
      for (Row& row : std::exchange(counters[rank], {})) rows_.push_back(std::move(row));
    };
    for (const auto& [kind, lane] : lanes) {
      if (has_calls && kind == RowKind::host) add_exposed_and_counters();
      const auto add_rows = [&, rank = rank, at = lane](
                                RowKind row_kind, const std::string& title,
                                const std::vector<std::vector<std::int32_t>>& rows) {
        int depth = 0;
        for (const auto& events : rows) {
          rows_of_lane_[at].push_back(rows_.size());
          rows_.emplace_back(row_kind, rank, title, t, events, static_cast<int>(at), depth++);
        }
      };
      const std::string title = title_of_lane(t, t.lanes[lane], kind);
      if (kind == RowKind::host) {
        add_rows(kind, title, by_depth(t, ranges[lane], [](const auto&) { return true; }));
      } else {
        add_rows(kind, title, by_depth(t, ranges[lane], is_no_range));
        add_rows(RowKind::ranges, "Ranges", by_depth(t, ranges[lane], is_range));
      }
    }
    add_exposed_and_counters();
    group.count = rows_.size() - group.first;
    choose_rows(rows_, group);
    groups_.push_back(std::move(group));
  }
  coloured(ColourBy::phase);
}

RowPlace LaneSet::place(std::int32_t event) const {
  const auto lane = trace_->events[static_cast<std::size_t>(event)].lane;
  for (const std::size_t row : rows_of_lane_[static_cast<std::size_t>(lane)]) {
    const std::size_t item = rows_[row].item_of(event);
    if (item < rows_[row].size()) return {row, item};
  }
  return {rows_.size(), 0};
}

std::size_t LaneSet::group_of(std::size_t row) const {
  const auto after = std::upper_bound(
      groups_.begin(), groups_.end(), row,
      [](std::size_t number, const RankGroup& group) { return number < group.first; });
  return static_cast<std::size_t>(after - groups_.begin()) - 1;
}

const LaneSet::Coloured& LaneSet::coloured(ColourBy by) const {
  Lazy& made = coloured_[static_cast<std::size_t>(by)];
  std::call_once(made.once, [&] {
    made.value = std::make_unique<Coloured>(*trace_, by);
    made.value->pyramids.resize(rows_.size());
    in_parallel(rows_.size(), [&](std::size_t n) {
      made.value->pyramids[n] = Pyramid(rows_[n], made.value->colouring);
    });
  });
  return *made.value;
}

RowShapes LaneSet::shapes(std::size_t row, ColourBy by, traces::Interval window,
                          double ns_per_pixel) const {
  return shapes_of(rows_[row], coloured(by).pyramids[row], window, ns_per_pixel);
}

}  // namespace foreshard::gui
