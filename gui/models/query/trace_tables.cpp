#include "gui/models/query/trace_tables.hpp"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>
#include <string_view>

#include "gui/models/base/units_text.hpp"
#include "gui/models/base/words.hpp"
#include "gui/models/timeline/lane_events.hpp"
#include "traces/query/builtin_queries.hpp"

namespace foreshard::gui {
namespace {

constexpr Words words("TraceTables");

// What a column counts: `start` and the like in nanoseconds, or in what its name ends in.
struct Unit {
  std::string_view quantity;  // "start", "duration"
  double ns = 1;
  bool is_in_name = false;
};

Unit unit_of(std::string_view column) {
  for (const auto& [ending, ns] : {std::pair<std::string_view, double>{"_ms", 1e6}, {"_us", 1e3}}) {
    if (column.ends_with(ending)) {
      column.remove_suffix(ending.size());
      return {column, ns, true};
    }
  }
  return {column};
}

bool is_moment(std::string_view quantity) {
  return quantity == "start" || quantity == "from" || quantity == "end";
}

bool is_time(std::string_view quantity) {
  constexpr std::string_view kTimes[] = {"duration", "exposed", "waited",
                                         "spread",   "idle",    "total"};
  return std::ranges::find(kTimes, quantity) != std::end(kTimes);
}

std::optional<double> number(const traces::QueryCell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  return {};
}

// What the first column of those quantities says, times in nanoseconds.
std::optional<double> value_of(const TraceTable& table, std::size_t row,
                               std::initializer_list<std::string_view> quantities) {
  for (const std::string_view quantity : quantities) {
    for (std::size_t n = 0; n < table.columns.size(); ++n) {
      const Unit unit = unit_of(table.columns[n]);
      const auto value = unit.quantity == quantity ? number(table.rows[row][n]) : std::nullopt;
      if (value) return *value * unit.ns;
    }
  }
  return {};
}

std::optional<std::int32_t> event_at(const traces::Trace& trace, const TablePlace& place) {
  for (std::size_t lane = 0; lane < trace.lanes.size(); ++lane) {
    if (place.rank && trace.lanes[lane].rank != *place.rank) continue;
    const LaneEvents its = events_of(trace, static_cast<std::int32_t>(lane));
    const auto begin = trace.events.begin();
    const auto first = std::lower_bound(
        begin + static_cast<std::ptrdiff_t>(its.first),
        begin + static_cast<std::ptrdiff_t>(its.end), place.span.start_ns,
        [](const traces::Event& event, std::int64_t ns) { return event.start_ns < ns; });
    for (auto n = static_cast<std::size_t>(first - begin); n < its.end; ++n) {
      const traces::Event event = trace.events[n];
      if (event.start_ns != place.span.start_ns) break;
      if (event.end_ns == place.span.end_ns) return static_cast<std::int32_t>(n);
    }
  }
  return {};
}

}  // namespace

const std::vector<NamedTable>& named_tables() {
  static const std::vector<NamedTable> all = [] {
    std::vector<NamedTable> tables{
        {words("Exposed communication"),
         QStringLiteral("SELECT * FROM exposed_collectives WHERE exposed > 0")},
        {words("Idle gaps"), QStringLiteral("SELECT * FROM idle_gaps")},
        {words("Steps, the longest first"),
         QStringLiteral(
             "SELECT rank, step, \"end\" - start AS duration, round(100.0 * (\"end\" - start) / "
             "(avg(\"end\" - start) OVER (PARTITION BY rank)) - 100, 1) AS percentOverMean, "
             "start, loss FROM STEPS ORDER BY duration DESC")},
        {words("Arrival of ranks"),
         QStringLiteral(
             "SELECT step, name, unit, spread, rank AS lastRank, rank, start, duration FROM "
             "collective_waits WHERE arrivedLast")}};
    for (const traces::BuiltinQuery& query : traces::builtin_queries()) {
      const QString name = QString::fromUtf8(query.name.data(), std::ssize(query.name));
      tables.push_back({name, QStringLiteral("SELECT * FROM ") + name});
    }
    return tables;
  }();
  return all;
}

TraceTable ask(const DocumentPtr& document, TraceDatabase known, const QString& sql,
               const std::atomic<bool>& is_unwanted) {
  TraceTable table;
  table.of = std::move(known);
  if (table.of.document != document) {
    auto made = traces::QueryDatabase::create(*document->trace);
    if (!made) {
      table.error = QString::fromStdString(made.error().text());
      return table;
    }
    table.of = {document, std::make_shared<traces::QueryDatabase>(*std::move(made))};
  }
  const auto done = table.of.database->run(
      sql.toStdString(), [&](const auto& columns) { table.columns = columns; },
      [&](const traces::QueryRow& row) {
        table.is_cut = table.rows.size() == TraceTable::kMostRows;
        if (!table.is_cut) table.rows.push_back(row);
        return !table.is_cut && !is_unwanted;
      });
  if (!done) table.error = QString::fromStdString(done.error().message);
  return table;
}

QString cell_text(const TraceTable& table, std::size_t row, std::size_t column) {
  const traces::QueryCell& cell = table.rows[row][column];
  if (const auto* text = std::get_if<std::string>(&cell)) return QString::fromStdString(*text);
  const auto value = number(cell);
  if (!value) return {};
  const Unit unit = unit_of(table.columns[column]);
  if (is_moment(unit.quantity)) {
    const double ns = *value * unit.ns;
    const StepSpan* step = table.of.document->step_at(std::llround(ns));
    const double origin = step == nullptr ? 0 : static_cast<double>(step->span.start_ns);
    return time_figure(ns - origin).text();
  }
  if (unit.is_in_name || is_time(unit.quantity)) return time_figure(*value * unit.ns).text();
  if (unit.quantity == "bytes" || unit.quantity.ends_with("Bytes") ||
      unit.quantity.ends_with("_bytes"))
    return bytes_figure(std::llround(*value)).text();
  return QString::number(*value, 'g', 15);
}

std::optional<TablePlace> place_of(const TraceTable& table, std::size_t row,
                                   const Document& document) {
  const auto start = value_of(table, row, {"start", "from"});
  if (!start) return {};
  const auto duration = value_of(table, row, {"duration", "idle"});
  const double end = duration ? *start + *duration : value_of(table, row, {"end"}).value_or(*start);
  const auto first = static_cast<double>(document.extent.start_ns);
  const auto last = static_cast<double>(document.extent.end_ns), length = last - first;
  const bool is_there = *start <= end && end >= first && *start <= last &&
                        *start >= first - length && end <= last + length;
  if (!is_there) return {};
  TablePlace place{{std::llround(*start), std::llround(end)}, {}, {}};
  for (const profiler::RankAnalysis& one : document.analysis->ranks) {
    if (value_of(table, row, {"rank"}) == static_cast<double>(one.rank)) place.rank = one.rank;
  }
  place.event = event_at(*document.trace, place);
  return place;
}

}  // namespace foreshard::gui
