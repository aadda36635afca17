#include "traces/fst/fst_reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "traces/fst/fst_file.hpp"
#include "traces/fst/fst_schema.hpp"
#include "traces/import_options.hpp"
#include "traces/input/limits.hpp"
#include "traces/intervals.hpp"
#include "traces/memory_before.hpp"
#include "traces/sqlite/untrusted_database.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {
namespace {

constexpr const char* kExpected =
    "a trace (.fst) written by foreshard; convert other recordings with `foreshard import`";

// Reads the tables one after another into a trace, leaving out and counting what is damaged.
class Reader {
 public:
  Reader(const UntrustedDatabase& file, const std::string& path, const ImportOptions& options)
      : file_(file), path_(path), options_(options) {}

  Result<Trace> read() {
    if (auto read = metadata(); !read) return tl::unexpected(read.error());
    records_ = rows_of("EVENT_RECORDS") + rows_of("MEMORY_RECORDS");
    if (!options_.steps) {
      trace_.events.reserve(likely_rows("EVENT_RECORDS"));
      trace_.memory.reserve(likely_rows("MEMORY_RECORDS"));
    }
    strings();
    lanes();
    attributes();
    events();
    memory();
    packed();
    steps();
    dropped();
    dropped_ranges();
    counters();
    if (options_.stop.stop_requested()) return reading_stopped(path_);
    begin_with_memory_before();
    if (unreadable_ > 0) trace_.dropped["truncated tables (damaged file)"] += unreadable_;
    if (invalid_ > 0) trace_.dropped["impossible records (damaged file)"] += invalid_;
    if (unreadable_ > 0 || invalid_ > 0) {
      trace_.complete = false;
      trace_.complete_until_ns = 0;
    }
    sort(trace_);
    return std::move(trace_);
  }

 private:
  // The steps that are read, and of the records of memory also those before them.
  std::pair<std::int32_t, std::int32_t> wanted(const std::string& table) const {
    const StepRange all{0, std::numeric_limits<std::int32_t>::max()};
    const StepRange steps = options_.steps.value_or(all);
    return {table == "MEMORY_RECORDS" ? all.first : steps.first, steps.last};
  }

  // What there is of a table at most, by the number of its last row.
  std::int64_t rows_of(const std::string& table) const {
    Statement last = file_.select(table, {"rowid"}, " ORDER BY rowid DESC LIMIT 1");
    return last.step() == SQLITE_ROW ? std::clamp<std::int64_t>(last.integer(0), 0, file_.bytes())
                                     : 0;
  }

  // The same for making room: a damaged file must not have more made than it can fill.
  std::size_t likely_rows(const std::string& table) const {
    constexpr std::int64_t kLeastBytes = 16;  // of a row
    return static_cast<std::size_t>(std::min(rows_of(table), file_.bytes() / kLeastBytes));
  }

  // As each(), of the steps that are wanted; the rest of the rows is passed over by SQLite.
  template <typename Row>
  void each_record(const std::string& table, Row&& row) {
    constexpr std::int64_t kRowsBetween = 1 << 14;
    std::int64_t rows = 0;
    const auto [first, last] = wanted(table);
    each(
        table,
        [&](Statement& record) {
          if (++rows % kRowsBetween == 0 && options_.on_progress) {
            options_.on_progress(records_read_ + rows, records_);
          }
          row(record);
        },
        options_.steps
            ? " WHERE step BETWEEN " + std::to_string(first) + " AND " + std::to_string(last)
            : "");
    records_read_ += rows_of(table);
  }

  // Calls `row` for each row, its columns in the schema's order, until one makes no sense to SQLite;
  // what is left then is lost. Rows with an `id` come in its order: SQLite keeps them by it. `rest`
  // selects among them.
  template <typename Row>
  bool each(const std::string& table, Row&& row, const std::string& rest = "") {
    const bool is_added = added_tables().contains(table);
    if (is_added && !file_.has(table)) return true;
    std::vector<std::string> columns = (is_added ? added_tables() : required_columns()).at(table);
    const std::vector<std::string>& added = added_columns(table);
    columns.insert(columns.end(), added.begin(), added.end());
    Statement statement = file_.select(table, columns, rest);
    // A row takes several bytes, so more rows than bytes means a page that is its own descendant.
    std::int64_t rows_left = file_.bytes();
    int status = SQLITE_OK;
    while ((status = statement.step()) == SQLITE_ROW && rows_left-- > 0) row(statement);
    if (status == SQLITE_DONE) return true;
    ++unreadable_;
    return false;
  }

  Result<void> metadata() {
    if (file_.is_schema_whole() && !file_.has("EVENT_RECORDS") && !file_.has("EVENT_FACTS")) {
      return fail(
          path_, "",
          std::string("is an SQLite database, but not a foreshard trace; expected ") + kExpected);
    }
    for (const auto& [table, columns] : required_columns()) {
      if (!file_.has(table)) {
        return fail(path_, "",
                    (file_.is_schema_whole() ? "is an SQLite database without the table "
                                             : "is damaged and lacks the table ") +
                        table + "; expected " + kExpected);
      }
      for (const std::string& column : columns) {
        if (file_.has(table, column)) continue;
        return fail(path_, table + "." + column,
                    std::string("is missing or not a plain column; expected ") + kExpected);
      }
    }
    if (!each("META_DATA_EXPORT", [&](Statement& row) {
          const std::string key = continued_key(row.text(0));
          const auto begun = key.empty() ? trace_.metadata.end() : trace_.metadata.find(key);
          if (begun == trace_.metadata.end())
            trace_.metadata[std::string(row.text(0))] = row.text(1);
          else
            begun->second += row.text(1);
        })) {
      return fail(path_, "META_DATA_EXPORT", std::string("is damaged; expected ") + kExpected);
    }
    const std::int64_t version = integer(trace_.metadata, "format_version", 0);
    if (version != kFormatVersion) {
      return fail(path_, "format_version",
                  "is " + std::to_string(version) + "; expected " + std::to_string(kFormatVersion) +
                      ", the version that this foreshard reads");
    }
    trace_.metadata.erase("format_version");
    trace_.complete = trace_.metadata["complete"] == "1";
    trace_.complete_until_ns = integer(trace_.metadata, "complete_until_ns", 0);
    return {};
  }

  void strings() {
    // Ids are dense: one that is not next has lost those before it, which then read as empty.
    constexpr std::int64_t kMaxLost = 1 << 16;  // a few pages
    std::int64_t rows = 0;
    each("StringIds", [&](Statement& row) {
      const std::int64_t id = row.integer(0);
      if (id < 0 || id > rows++ + kMaxLost) return void(++invalid_);
      text_.resize(std::max(text_.size(), static_cast<std::size_t>(id) + 1), 0);
      text_[static_cast<std::size_t>(id)] = trace_.strings.intern(row.text(1));
    });
  }

  void lanes() {
    each("LANES", [&](Statement& row) {
      const std::int64_t id = row.integer(0), rank = row.integer(1);
      if (id != static_cast<std::int64_t>(trace_.lanes.size()) || rank < 0 || rank >= kMaxRanks) {
        return void(++invalid_);
      }
      trace_.lanes.push_back(
          {static_cast<std::int32_t>(rank), row.integer(2) != 0, string(row, 3)});
    });
  }

  void attributes() {
    each("EVENT_FACTS", [&](Statement& row) {
      const std::int64_t kind = row.integer(1);
      if (row.integer(0) != static_cast<std::int64_t>(event_attributes_.size()) || kind < 0 ||
          kind >= static_cast<std::int64_t>(EventKind::kCount) ||
          !fits<std::int16_t>(row.integer(2)) || !fits<std::int32_t>(row.integer(8))) {
        return void(++invalid_);
      }
      event_attributes_.push_back({static_cast<EventKind>(kind),
                                   static_cast<std::int16_t>(row.integer(2)), string(row, 3),
                                   string(row, 4), string(row, 5), string(row, 6), string(row, 7),
                                   static_cast<std::int32_t>(row.integer(8)), bytes(row.integer(9)),
                                   cost_source(row.integer(10)), cost_error(row.real(11)),
                                   string(row, 12), std::max<std::int64_t>(row.integer(13), 0)});
    });
    each("MEMORY_FACTS", [&](Statement& row) {
      const std::int64_t lane = row.integer(3);
      if (row.integer(0) != static_cast<std::int64_t>(memory_attributes_.size()) ||
          (lane != kNone && !is_lane(lane)) || !fits<std::int32_t>(row.integer(7))) {
        return void(++invalid_);
      }
      memory_attributes_.push_back({row.integer(1) != 0, bytes(row.integer(2)),
                                    static_cast<std::int32_t>(lane), string(row, 4), string(row, 5),
                                    string(row, 6), static_cast<std::int32_t>(row.integer(7)),
                                    string(row, 8)});
    });
  }

  void events() {
    each_record("EVENT_RECORDS", [&](Statement& row) {
      add_event(row.integer(0), row.integer(1), row.integer(2), row.integer(3), row.integer(4),
                row.integer(5), row.integer(6));
    });
  }

  void memory() {
    each_record("MEMORY_RECORDS", [&](Statement& row) {
      add_memory(row.integer(0), row.integer(1), row.integer(2), row.integer(3), row.integer(4),
                 row.integer(5), row.integer(6));
    });
  }

  void packed() {
    std::vector<PackedRecord> records;
    each("PACKED_RECORDS", [&](Statement& row) {
      records.clear();
      if (!unpack(row.blob(1), records)) ++invalid_;
      for (const PackedRecord& r : records) {
        if (!is_lane(r.lane)) {
          ++invalid_;
        } else if (!is_wanted(r)) {
          continue;
        } else if (r.action == PackedRecord::kEvent) {
          add_event(r.start_ns, r.end_ns, r.lane, r.step, r.attributes, r.value, 0);
        } else {
          add_memory(r.start_ns, trace_.lanes[static_cast<std::size_t>(r.lane)].rank, r.action,
                     r.step, r.end_ns, r.value, r.attributes);
        }
      }
    });
  }

  void steps() {
    each("STEPS", [&](Statement& row) {
      const std::int64_t rank = row.integer(0), step = row.integer(1), start = row.integer(2),
                         end = row.integer(3);
      if (rank < 0 || rank >= kMaxRanks || !is_step(step) || !is_interval(start, end)) {
        return void(++invalid_);
      }
      if (options_.steps && !options_.steps->contains(static_cast<std::int32_t>(step))) return;
      trace_.steps.push_back({static_cast<std::int32_t>(rank), static_cast<std::int32_t>(step),
                              start, end, real(row, 4), real(row, 5), string(row, 6)});
    });
  }

  void dropped() {
    each("DROPPED", [&](Statement& row) {
      trace_.dropped[std::string(row.text(0))] =
          std::clamp(row.integer(1), std::int64_t{0}, kMaxBytes);
    });
  }

  // Of the steps that are wanted, which are there.
  Interval wanted_time() const {
    if (!options_.steps) return {-kLatestNs, kLatestNs};
    Interval span{kLatestNs, -kLatestNs};
    for (const Step& step : trace_.steps) {
      span.start_ns = std::min(span.start_ns, step.start_ns);
      span.end_ns = std::max(span.end_ns, step.end_ns);
    }
    return span;
  }

  // Files of earlier writers have them in LOSSES, which is a view in today's.
  void dropped_ranges() {
    const Interval wanted = wanted_time();
    each(file_.has("DROPPED_RANGES") ? "DROPPED_RANGES" : "LOSSES", [&](Statement& row) {
      const std::int64_t rank = row.integer(0), start = row.integer(2), end = row.integer(3),
                         records = row.integer(4);
      if (rank < kNone || rank >= kMaxRanks || !is_interval(start, end) || records < 1 ||
          records > kMaxBytes) {
        return void(++invalid_);
      }
      if (start > wanted.end_ns || end < wanted.start_ns) return;
      trace_.dropped_ranges.push_back(
          {static_cast<std::int32_t>(rank), row.integer(1) != 0, start, end, records});
    });
  }

  void counters() {
    std::map<std::int64_t, std::size_t> places;  // by the file's ids
    each("COUNTERS", [&](Statement& row) {
      const std::int64_t rank = row.integer(1);
      if (rank < 0 || rank >= kMaxRanks) return void(++invalid_);
      if (!places.try_emplace(row.integer(0), trace_.counters.size()).second) {
        return void(++invalid_);
      }
      trace_.counters.push_back(
          {static_cast<std::int32_t>(rank), string(row, 2), string(row, 3), {}});
    });
    each("COUNTER_SAMPLES", [&](Statement& row) {
      const auto place = places.find(row.integer(0));
      const std::int64_t time = row.integer(1);
      const double value = real(row, 2);
      if (place == places.end() || !is_interval(time, time) || !std::isfinite(value)) {
        return void(++invalid_);
      }
      trace_.counters[place->second].samples.push_back({time, value});
    });
    if (!options_.steps) return;
    for (Counter& counter : trace_.counters) {
      sort(counter);
      cut(counter, wanted_time());
    }
  }

  void add_event(std::int64_t start, std::int64_t end, std::int64_t lane, std::int64_t step,
                 std::int64_t attributes, std::int64_t cpu, std::int64_t correlation) {
    if (!is_interval(start, end) || !is_lane(lane) || !is_step(step) || attributes < 0 ||
        attributes >= static_cast<std::int64_t>(event_attributes_.size())) {
      return void(++invalid_);
    }
    const EventAttributes& f = event_attributes_[static_cast<std::size_t>(attributes)];
    trace_.events.push_back({start, end, std::clamp(cpu, std::int64_t{-1}, kLatestNs),
                             static_cast<std::int32_t>(lane), static_cast<std::int32_t>(step),
                             f.kind, f.cost_source, f.micro_step, f.name, f.phase, f.unit,
                             f.stable_key, f.cost_key, f.instruction, f.cost_error, f.bytes,
                             correlation, f.group, f.sequence});
  }

  void add_memory(std::int64_t time, std::int64_t rank, std::int64_t action, std::int64_t step,
                  std::int64_t address, std::int64_t size, std::int64_t attributes) {
    if (!is_interval(time, time) || rank < 0 || rank >= kMaxRanks || action < 0 ||
        action >= static_cast<std::int64_t>(MemoryAction::kCount) || !is_step(step) || size < 0 ||
        size > kMaxBytes || attributes < 0 ||
        attributes >= static_cast<std::int64_t>(memory_attributes_.size())) {
      return void(++invalid_);
    }
    const MemoryAttributes& f = memory_attributes_[static_cast<std::size_t>(attributes)];
    const MemoryEvent event{time,
                            static_cast<std::int32_t>(rank),
                            static_cast<MemoryAction>(action),
                            f.on_host,
                            static_cast<std::int32_t>(step),
                            address,
                            size,
                            f.requested,
                            f.lane,
                            f.category,
                            f.owner,
                            f.phase,
                            f.instruction,
                            f.stack};
    if (options_.steps && event.step < options_.steps->first) {
      memory_before_.apply(event);
    } else {
      trace_.memory.push_back(event);
    }
  }

  bool is_wanted(const PackedRecord& record) const {
    const auto [first, last] =
        wanted(record.action == PackedRecord::kEvent ? "EVENT_RECORDS" : "MEMORY_RECORDS");
    return first <= record.step && record.step <= last;
  }

  void begin_with_memory_before() {
    if (!options_.steps) return;
    std::int64_t start = std::numeric_limits<std::int64_t>::max();
    for (const Step& step : trace_.steps) start = std::min(start, step.start_ns);
    for (const Event& event : trace_.events) start = std::min(start, event.start_ns);
    for (const MemoryEvent& event : trace_.memory) start = std::min(start, event.time_ns);
    if (start == std::numeric_limits<std::int64_t>::max()) return;
    const std::vector<MemoryEvent> before = memory_before_.at(start);
    MemoryEventList memory(before.begin(), before.end());
    memory.append(trace_.memory.begin(), trace_.memory.end());
    trace_.memory = std::move(memory);
  }

  StringId string(Statement& row, int column) {
    const std::int64_t id = row.integer(column);
    if (id >= 0 && id < static_cast<std::int64_t>(text_.size())) {
      return text_[static_cast<std::size_t>(id)];
    }
    ++invalid_;
    return 0;
  }
  static std::int64_t bytes(std::int64_t n) { return std::clamp(n, -kMaxBytes, kMaxBytes); }
  // SQLite stores what is not a number as nothing.
  static double real(Statement& row, int column) {
    return row.is_null(column) ? std::numeric_limits<double>::quiet_NaN() : row.real(column);
  }
  static CostSource cost_source(std::int64_t n) {
    return n >= 0 && n < static_cast<std::int64_t>(CostSource::kCount) ? static_cast<CostSource>(n)
                                                                       : CostSource::none;
  }
  static float cost_error(double error) {
    return error > 0 && error <= kMaxCostError ? static_cast<float>(error) : 0.0F;
  }
  bool is_lane(std::int64_t lane) const {
    return lane >= 0 && lane < static_cast<std::int64_t>(trace_.lanes.size());
  }
  template <typename Number>
  static bool fits(std::int64_t n) {
    return n >= std::numeric_limits<Number>::min() && n <= std::numeric_limits<Number>::max();
  }
  static bool is_step(std::int64_t n) { return n >= 0 && fits<std::int32_t>(n); }
  static bool is_interval(std::int64_t start, std::int64_t end) {
    return start >= -kLatestNs && start <= end && end <= kLatestNs;
  }

  const UntrustedDatabase& file_;
  const std::string& path_;
  const ImportOptions& options_;
  Trace trace_;
  MemoryBefore memory_before_;
  std::int64_t records_ = 0, records_read_ = 0;
  std::vector<StringId> text_;  // the file's ids -> the trace's
  std::vector<EventAttributes> event_attributes_;
  std::vector<MemoryAttributes> memory_attributes_;
  std::int64_t invalid_ = 0;
  std::int64_t unreadable_ = 0;
};

}  // namespace

Result<Trace> read_fst_file(const std::string& path, const ImportOptions& options) {
  const auto file =
      UntrustedDatabase::open(path, kExpected, UntrustedDatabase::CutShort::refused, options.stop);
  if (options.stop.stop_requested()) return reading_stopped(path);
  if (!file) return tl::unexpected(file.error());
  return Reader(*file, path, options).read();
}

Result<std::optional<StepRange>> fst_steps(const std::string& path) {
  const auto file = UntrustedDatabase::open(path, kExpected, UntrustedDatabase::CutShort::refused);
  if (!file) return tl::unexpected(file.error());
  std::optional<StepRange> steps;
  if (!file->has("STEPS", "step")) return steps;
  Statement rows = file->select("STEPS", {"step"});
  std::int64_t rows_left = file->bytes();
  int status = SQLITE_OK;
  while ((status = rows.step()) == SQLITE_ROW && rows_left-- > 0) {
    const std::int64_t number = rows.integer(0);
    if (number < 0 || number > std::numeric_limits<std::int32_t>::max()) continue;
    const auto step = static_cast<std::int32_t>(number);
    if (!steps) steps = StepRange{step, step};
    *steps = {std::min(steps->first, step), std::max(steps->last, step)};
  }
  if (status != SQLITE_DONE) {
    return fail(path, "STEPS", std::string("is damaged; expected ") + kExpected);
  }
  return steps;
}

}  // namespace foreshard::traces
