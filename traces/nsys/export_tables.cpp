#include "traces/nsys/export_tables.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "traces/sqlite/sqlite.hpp"

namespace foreshard::traces::nsys {
namespace {

constexpr const char* kTables = R"(
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
BEGIN;
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, "end", globalPid, deviceId, contextId, streamId,
  correlationId, demangledName);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, "end", globalPid, deviceId, contextId, streamId,
  correlationId, bytes, copyKind, srcKind, dstKind);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, "end", globalPid, deviceId, contextId, streamId,
  correlationId, bytes, memKind);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, "end", globalTid, correlationId, nameId);
CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER (start, "end", globalTid, correlationId, nameId);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, "end", globalPid, deviceId, contextId,
  streamId, correlationId, syncType, eventId);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, address, bytes, memKind,
  memoryOperationType);
CREATE TABLE NVTX_EVENTS (start, "end", eventType, textId, globalTid, domainId);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (name, value);
)";

constexpr std::int64_t kMarkRow = 34, kRangeRow = 59, kDomainRow = 75;  // NVTX_EVENTS.eventType
constexpr std::int64_t kDevices = 256;                           // of a process, at most

// The tool counts memory from pageable as 0; CUPTI has an unknown kind before it.
std::int64_t memory_of(int kind) {
  constexpr std::int64_t kUnknown = 7;
  return kind == 0 ? kUnknown : std::clamp<std::int64_t>(kind - 1, 0, kUnknown);
}

}  // namespace

struct ExportTables::State {
  explicit State(const std::string& path)
      : database(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE),
        is_good(database.is_open() && database.run(kTables)) {}

  // Statements are known by their text, which is the same for all rows of a table.
  template <class... Values>
  void run(const char* sql, const Values&... values) {
    if (!is_good) return;
    Statement& statement = statements[sql];
    if (!statement) statement = Statement(database.handle(), sql);
    is_good = statement && statement.run(values...);
  }

  std::int64_t text(std::string_view value) {
    const auto next = static_cast<std::int64_t>(texts.size()) + 1;
    const auto [found, is_new] = texts.try_emplace(std::string(value), next);
    if (is_new) run("INSERT INTO StringIds VALUES (?, ?)", next, value);
    return found->second;
  }

  std::int64_t thread(const ExportedCall& call) const { return process | (call.thread & 0xFFFFFF); }
  std::int64_t device(const ExportedWork& work) const {
    return first_device + std::clamp<std::int64_t>(work.device, 0, kDevices - 1);
  }

  void add_nvtx(std::int64_t start_ns, std::int64_t end_ns, std::int64_t type, std::int64_t name,
                std::int64_t of_thread, std::int64_t domain) {
    run("INSERT INTO NVTX_EVENTS VALUES (?,NULLIF(?,-1),?,?,?,?)", start_ns, end_ns, type, name,
        of_thread, domain);
  }
  std::int64_t domain(std::string_view name) {
    if (name.empty()) return 0;
    const std::int64_t number = text(name);
    if (domains.emplace(process, number).second) add_nvtx(0, 0, kDomainRow, number, process, number);
    return number;
  }

  Database database;
  bool is_good;
  std::map<const char*, Statement> statements;
  std::int64_t process = 0;       // as the tool numbers them, without a thread
  std::int64_t first_device = 0;  // of the process; ranks are in the order of devices first
  std::map<std::string, std::int64_t> texts;
  std::set<std::pair<std::int64_t, std::int64_t>> domains;  // of a process, by its text's number
};

ExportTables::ExportTables(const std::string& path) : state_(std::make_unique<State>(path)) {}
ExportTables::~ExportTables() = default;

void ExportTables::begin_process(std::int64_t number) {
  state_->process = (number + 1) << 24;
  state_->first_device = number * kDevices;
}

void ExportTables::add_kernel(const ExportedWork& w, std::string_view name) {
  state_->run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,?,?,?,?,?,?)", w.start_ns,
              w.end_ns, state_->process, state_->device(w), w.context, w.stream, w.correlation,
              state_->text(name));
}

void ExportTables::add_copy(const ExportedWork& w, int kind, int from_memory, int to_memory) {
  state_->run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,?,?,?,?,?,?,?,?,?)", w.start_ns,
              w.end_ns, state_->process, state_->device(w), w.context, w.stream, w.correlation,
              w.bytes, kind, memory_of(from_memory), memory_of(to_memory));
}

void ExportTables::add_fill(const ExportedWork& w, int memory) {
  state_->run("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (?,?,?,?,?,?,?,?,?)", w.start_ns,
              w.end_ns, state_->process, state_->device(w), w.context, w.stream, w.correlation,
              w.bytes, memory_of(memory));
}

void ExportTables::add_wait(const ExportedWork& w, int type, std::int64_t event) {
  state_->run("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (?,?,?,?,?,?,?,?,?)",
              w.start_ns, w.end_ns, state_->process, state_->device(w), w.context, w.stream,
              w.correlation, type, event);
}

void ExportTables::add_call(const ExportedCall& c, Api api) {
  state_->run(api == Api::driver ? "INSERT INTO CUPTI_ACTIVITY_KIND_DRIVER VALUES (?,?,?,?,?)"
                                 : "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,?,?)",
              c.start_ns, c.end_ns, state_->thread(c), c.correlation, state_->text(c.name));
}

void ExportTables::add_allocation(const ExportedWork& w, std::int64_t address, int memory,
                                  bool is_freed) {
  state_->run("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (?,?,?,?,?,?,?)", w.start_ns,
              state_->process, state_->device(w), address, w.bytes, memory_of(memory),
              is_freed ? 1 : 0);
}

void ExportTables::add_range(const ExportedCall& range, std::string_view domain) {
  const std::int64_t in = state_->domain(domain);
  state_->add_nvtx(range.start_ns, range.end_ns, kRangeRow, state_->text(range.name),
                   state_->thread(range), in);
}

void ExportTables::add_mark(const ExportedCall& moment, std::string_view domain) {
  const std::int64_t in = state_->domain(domain);
  state_->add_nvtx(moment.start_ns, moment.start_ns, kMarkRow, state_->text(moment.name),
                   state_->thread(moment), in);
}

void ExportTables::describe(std::int64_t utc_of_clock_ns, std::string_view host) {
  state_->run("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?)", utc_of_clock_ns);
  state_->run("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname', ?)", host);
}

bool ExportTables::close() {
  state_->is_good = state_->is_good && state_->database.run("COMMIT");
  state_->statements.clear();
  state_->database.close();
  return std::exchange(state_->is_good, false);
}

}  // namespace foreshard::traces::nsys
