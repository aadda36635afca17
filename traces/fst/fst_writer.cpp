#include <bit>
#include <filesystem>
#include <optional>
#include <system_error>
#include <unordered_map>

#include "models/base/atomic_file.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/fst/fst_finish.hpp"
#include "traces/fst/fst_schema.hpp"

namespace foreshard::traces {
namespace {

namespace fs = std::filesystem;

std::size_t mix(std::size_t seed, std::int64_t value) {
  return (seed ^ static_cast<std::size_t>(value)) * 0x9E3779B97F4A7C15u + (seed >> 29);
}

struct AttributesHash {
  std::size_t operator()(const EventAttributes& f) const {
    std::size_t h = static_cast<std::size_t>(f.kind);
    for (const std::int64_t v :
         {std::int64_t{f.micro_step}, std::int64_t{f.name}, std::int64_t{f.phase},
          std::int64_t{f.unit}, std::int64_t{f.stable_key}, std::int64_t{f.cost_key},
          std::int64_t{f.instruction}, f.bytes, static_cast<std::int64_t>(f.cost_source),
          std::int64_t{std::bit_cast<std::int32_t>(f.cost_error)}, std::int64_t{f.group},
          f.sequence}) {
      h = mix(h, v);
    }
    return h;
  }
  std::size_t operator()(const MemoryAttributes& f) const {
    std::size_t h = f.on_host ? 1 : 0;
    for (const std::int64_t v :
         {f.requested, std::int64_t{f.lane}, std::int64_t{f.category}, std::int64_t{f.owner},
          std::int64_t{f.phase}, std::int64_t{f.instruction}, std::int64_t{f.stack}}) {
      h = mix(h, v);
    }
    return h;
  }
};

constexpr std::int64_t kRowsPerTransaction = 10'000;

Result<void> check_target(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::absolute(path, error).parent_path();
  if (path.empty() || !fs::path(path).has_filename()) {
    return fail(path, "", "is not a file name; expected a path such as run.fst");
  }
  if (!fs::is_directory(folder, error)) {
    return fail(path, "",
                "the folder " + folder.string() + " does not exist; expected an existing folder");
  }
  if (fs::is_directory(path, error)) {
    return fail(path, "", "is a folder; expected a file to write the trace to");
  }
  if (is_written_through(path)) {
    return fail(path, "", "is a device or a pipe; expected a file to write the trace to");
  }
  return {};
}

}  // namespace

struct FstWriter::State {
  struct Statements {
    explicit Statements(sqlite3* db)
        : string(db, "INSERT INTO StringIds VALUES (?,?)"),
          lane(db, "INSERT INTO LANES VALUES (?,?,?,?)"),
          event_attributes(db, "INSERT INTO EVENT_FACTS VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)"),
          memory_attributes(db, "INSERT INTO MEMORY_FACTS VALUES (?,?,?,?,?,?,?,?,?)"),
          event(db, kInsertEvent),
          memory(db, kInsertMemory),
          step(db, "INSERT INTO STEPS VALUES (?,?,?,?,?,?,?)"),
          packed(db, "INSERT INTO PACKED_RECORDS(records) VALUES (?)"),
          metadata(db, "INSERT OR REPLACE INTO META_DATA_EXPORT VALUES (?,?)"),
          dropped(db, "INSERT OR REPLACE INTO DROPPED VALUES (?,?)"),
          dropped_range(db, "INSERT INTO DROPPED_RANGES VALUES (?,?,?,?,?)"),
          counter(db, "INSERT INTO COUNTERS VALUES (?,?,?,?)"),
          counter_sample(db, "INSERT INTO COUNTER_SAMPLES VALUES (?,?,?)") {}
    Statement string, lane, event_attributes, memory_attributes, event, memory, step, packed,
        metadata, dropped, dropped_range, counter, counter_sample;
  };

  std::string path;
  std::optional<FileIdentity> recorded;  // the file at `path`, of a recording
  Database database;
  std::optional<Statements> insert;
  std::string failure;
  bool is_in_transaction = false;
  std::int64_t records_in_transaction = 0;
  bool has_packed = false;
  Strings strings;
  std::size_t strings_written = 0;
  std::int32_t lanes = 0;
  std::unordered_map<EventAttributes, std::int32_t, AttributesHash> event_attributes;
  std::unordered_map<MemoryAttributes, std::int32_t, AttributesHash> memory_attributes;
  std::map<std::string, std::int64_t> dropped;
  std::int64_t lost = 0;  // records, since writing failed

  // Remembers the first failure; whoever appends goes on without effect.
  void check(bool is_done) {
    if (is_done || !failure.empty()) return;
    failure = database.error();
    lost = records_in_transaction;
  }

  // Whether more can be written, of which this many are records of the trace.
  bool begin(std::size_t records = 0) {
    if (!is_in_transaction && failure.empty()) {
      check(database.run("BEGIN"));
      is_in_transaction = true;
    }
    records_in_transaction += static_cast<std::int64_t>(records);
    if (!failure.empty()) lost += static_cast<std::int64_t>(records);
    return failure.empty();
  }

  Result<void> error() const {
    return fail(path, "",
                "writing the trace failed (" + failure + "), " + std::to_string(lost) +
                    " records were lost; expected a writable file and enough disk space");
  }

  // Whoever has put another file under the name must not have it overwritten, and this recording
  // cannot be found by it.
  Result<void> check_name() const {
    if (!recorded || identity_of(path) == recorded) return {};
    return fail(
        path, "",
        "was removed or replaced during the recording, which is lost; expected a file that no "
        "other process writes to");
  }

  void end_transaction() {
    for (; strings_written < strings.size() && begin(); ++strings_written) {
      const auto id = static_cast<std::int32_t>(strings_written);
      check(insert->string.run(id, std::string_view(strings[id])));
    }
    if (failure.empty() && is_in_transaction) check(database.run("COMMIT"));
    is_in_transaction = false;
    records_in_transaction = 0;
  }

  void end_large_transaction() {
    if (records_in_transaction >= kRowsPerTransaction) end_transaction();
  }
};

FstWriter::FstWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
FstWriter::FstWriter(FstWriter&&) noexcept = default;
FstWriter& FstWriter::operator=(FstWriter&&) noexcept = default;
FstWriter::~FstWriter() = default;

namespace {

bool set_metadata(Statement& statement, const std::string& key, std::string_view value) {
  bool is_done = true;
  for (std::size_t piece = 1; is_done && (piece == 1 || !value.empty()); ++piece) {
    is_done =
        statement.run(std::string_view(piece_name(key, piece)), value.substr(0, kLongestPiece));
    value.remove_prefix(std::min(value.size(), kLongestPiece));
  }
  return is_done;
}

// Makes an empty trace of an empty file; `path` is what a failure names.
Result<void> make_empty(const std::string& file, const Metadata& metadata,
                        const std::string& path) {
  Database fresh = open_own(file);
  bool is_done = fresh.is_open() &&
                 fresh.run("PRAGMA page_size=16384; PRAGMA journal_mode=OFF; BEGIN") &&
                 create_schema(fresh);
  Statement set(is_done ? fresh.handle() : nullptr, "INSERT INTO META_DATA_EXPORT VALUES (?,?)");
  Metadata written = metadata;
  if (const auto complete = written.find("complete"); complete != written.end()) {
    complete->second = "0";
  }
  written["format_version"] = std::to_string(kFormatVersion);
  for (const auto& [key, value] : written) is_done = is_done && set_metadata(set, key, value);
  set = Statement();
  if (is_done && fresh.run("COMMIT")) return {};
  return fail(path, "",
              "cannot be created (" + fresh.error() + "); expected a folder that can be written");
}

}  // namespace

Result<FstWriter> FstWriter::open(const std::string& file, const char* settings,
                                  const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->database = open_own(file);
  if (!state->database.is_open() || !state->database.run(settings)) {
    return fail(path, "",
                "cannot be opened for recording (" + state->database.error() +
                    "); expected a folder that can be written");
  }
  state->insert.emplace(state->database.handle());
  return FstWriter(std::move(state));
}

Result<FstWriter> FstWriter::create(const std::string& path, const Metadata& metadata) {
  if (const auto target = check_target(path); !target) return tl::unexpected(target.error());
  auto file = AtomicFile::create(path);
  if (!file) return tl::unexpected(file.error());
  if (auto made = make_empty(file->temporary(), metadata, path); !made) {
    return tl::unexpected(made.error());
  }
  const auto recorded = identity_of(file->temporary());
  if (auto done = commit_trace(*file, path); !done) return tl::unexpected(done.error());
  auto writer = open(
      path, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=1000", path);
  if (writer) writer->state_->recorded = recorded;
  return writer;
}

Strings& FstWriter::strings() {
  return state_->strings;
}

std::int32_t FstWriter::add(const Lane& lane) {
  const std::int32_t id = state_->lanes++;
  if (state_->begin()) {
    state_->check(state_->insert->lane.run(id, lane.rank, lane.device ? 1 : 0, lane.name));
  }
  return id;
}

std::int32_t FstWriter::add(const EventAttributes& f) {
  const auto next = static_cast<std::int32_t>(state_->event_attributes.size());
  const auto [found, is_new] = state_->event_attributes.try_emplace(f, next);
  if (is_new && state_->begin()) {
    state_->check(state_->insert->event_attributes.run(
        next, static_cast<std::int32_t>(f.kind), std::int32_t{f.micro_step}, f.name, f.phase,
        f.unit, f.stable_key, f.cost_key, f.instruction, f.bytes,
        static_cast<std::int32_t>(f.cost_source), double{f.cost_error}, f.group, f.sequence));
  }
  return found->second;
}

std::int32_t FstWriter::add(const MemoryAttributes& f) {
  const auto next = static_cast<std::int32_t>(state_->memory_attributes.size());
  const auto [found, is_new] = state_->memory_attributes.try_emplace(f, next);
  if (is_new && state_->begin()) {
    state_->check(state_->insert->memory_attributes.run(next, f.on_host ? 1 : 0, f.requested,
                                                        f.lane, f.category, f.owner, f.phase,
                                                        f.instruction, f.stack));
  }
  return found->second;
}

void FstWriter::append(std::span<const Event> events) {
  if (!state_->begin(events.size())) return;
  for (const Event& e : events) {
    const std::int32_t attributes = add(
        EventAttributes{e.kind, e.micro_step, e.name, e.phase, e.unit, e.stable_key, e.cost_key,
                        e.instruction, e.bytes, e.cost_source, e.cost_error, e.group, e.sequence});
    state_->check(state_->insert->event.run(e.start_ns, e.end_ns, e.lane, e.step, attributes,
                                            e.cpu_ns, e.correlation));
  }
  state_->end_large_transaction();
}

void FstWriter::append(std::span<const MemoryEvent> events) {
  if (!state_->begin(events.size())) return;
  for (const MemoryEvent& e : events) {
    const std::int32_t attributes = add(MemoryAttributes{e.on_host, e.requested, e.lane, e.category,
                                                         e.owner, e.phase, e.instruction, e.stack});
    state_->check(state_->insert->memory.run(e.time_ns, e.rank, static_cast<std::int32_t>(e.action),
                                             e.step, e.address, e.bytes, attributes));
  }
  state_->end_large_transaction();
}

void FstWriter::append(std::span<const Step> steps) {
  if (!state_->begin(steps.size())) return;
  for (const Step& s : steps) {
    state_->check(state_->insert->step.run(s.rank, s.step, s.start_ns, s.end_ns, s.loss,
                                           s.gradient_norm, s.label));
  }
}

void FstWriter::append(std::span<const PackedRecord> records) {
  if (records.empty() || !state_->begin(records.size())) return;
  state_->has_packed = true;
  const std::string blob = pack(records);
  state_->check(state_->insert->packed.run(Blob{blob}));
}

void FstWriter::drop(const std::string& reason, std::int64_t records) {
  state_->dropped[reason] += records;
  if (state_->begin()) {
    state_->check(state_->insert->dropped.run(std::string_view(reason), state_->dropped[reason]));
  }
}

void FstWriter::append(std::span<const DroppedRange> ranges) {
  if (!state_->begin()) return;
  for (const DroppedRange& range : ranges) {
    state_->check(state_->insert->dropped_range.run(range.rank, range.of_memory ? 1 : 0,
                                                    range.start_ns, range.end_ns, range.records));
  }
}

void FstWriter::append(std::span<const Counter> counters) {
  std::int32_t id = 0;
  for (const Counter& counter : counters) {
    if (!state_->begin(1 + counter.samples.size())) return;
    state_->check(state_->insert->counter.run(id, counter.rank, counter.name, counter.unit));
    for (const CounterSample& sample : counter.samples) {
      state_->check(state_->insert->counter_sample.run(id, sample.time_ns, sample.value));
    }
    state_->end_large_transaction();
    ++id;
  }
}

void FstWriter::set(const std::string& key, const std::string& value) {
  if (state_->begin()) {
    state_->check(set_metadata(state_->insert->metadata, key, value));
  }
}

Result<void> FstWriter::commit(std::int64_t complete_until_ns) {
  set("complete_until_ns", std::to_string(complete_until_ns));
  state_->end_transaction();
  if (!state_->failure.empty()) return state_->error();
  return {};
}

Result<void> FstWriter::close(std::int64_t complete_until_ns, bool is_complete) {
  set("complete", is_complete ? "1" : "0");
  if (auto committed = commit(complete_until_ns); !committed) return committed;
  if (auto own = state_->check_name(); !own) return own;
  // Without room for rows the packed records stay: that is a whole trace too, for read_fst.
  std::optional<AtomicFile> finished;
  if (state_->has_packed) {
    if (auto rows = with_rows(state_->path)) finished.emplace(std::move(*rows));
  }
  state_->database.run("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE");
  state_->insert.reset();
  state_->database.close();
  auto own = state_->check_name();
  return own && finished ? commit_trace(*finished, state_->path) : own;
}

Result<void> write_fst(const std::string& path, const Trace& trace) {
  if (const auto target = check_target(path); !target) return tl::unexpected(target.error());
  auto file = AtomicFile::create(path);
  if (!file) return tl::unexpected(file.error());
  if (auto made = make_empty(file->temporary(), trace.metadata, path); !made) return made;
  // Nobody else has this file yet: no journal is needed, and it is synchronised at the end.
  auto writer =
      FstWriter::open(file->temporary(), "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF", path);
  if (!writer) return tl::unexpected(writer.error());
  writer->strings() = trace.strings;
  for (const Lane& lane : trace.lanes) writer->add(lane);
  for (const Event& event : trace.events) writer->append(std::span(&event, 1));
  for (const MemoryEvent& event : trace.memory) writer->append(std::span(&event, 1));
  writer->append(trace.steps);
  for (const auto& [reason, records] : trace.dropped) writer->drop(reason, records);
  writer->append(trace.dropped_ranges);
  writer->append(trace.counters);
  if (auto closed = writer->close(trace.complete_until_ns, trace.complete); !closed) return closed;
  return commit_trace(*file, path);
}

}  // namespace foreshard::traces
