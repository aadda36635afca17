// Recordings in and traces out: Nsight Systems' exports, and our Chrome JSON both ways.
#include <filesystem>
#include <stdexcept>
#include <string>

#include <benchmark/benchmark.h>
#include <sqlite3.h>
#include <unistd.h>

#include "traces/export/chrome_export.hpp"
#include "traces/export/chrome_import.hpp"
#include "traces/import.hpp"

namespace foreshard::traces {
namespace {

std::string temporary(const std::string& suffix) {
  return (std::filesystem::temp_directory_path() /
          ("exchange_benchmark." + std::to_string(::getpid()) + suffix))
      .string();
}

// 200,000 launches, their kernels and the operators around them.
void make_nsys(const std::string& path) {
  sqlite3* database = nullptr;
  sqlite3_open(path.c_str(), &database);
  const int status = sqlite3_exec(database, R"(
    PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO StringIds VALUES (1, 'void gemm<float>(int)'), (2, 'cudaLaunchKernel_v7000');
    CREATE TABLE n (i INTEGER);
    WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 200000)
      INSERT INTO n SELECT i FROM r;
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER, deviceId INTEGER,
      contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
      demangledName INTEGER, gridX INTEGER, blockX INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
      SELECT i * 5000 + 3000, i * 5000 + 7500, 0, 1, 7, i, 5 << 24, 1, 128, 256 FROM n;
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, "end" INTEGER, globalTid INTEGER,
      correlationId INTEGER, nameId INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
      SELECT i * 5000, i * 5000 + 2000, (5 << 24) + 7, i, 2 FROM n;
    CREATE TABLE NVTX_EVENTS (start INTEGER, "end" INTEGER, eventType INTEGER, text TEXT,
      globalTid INTEGER);
    INSERT INTO NVTX_EVENTS
      SELECT i * 5000 - 100, i * 5000 + 2500, 59, 'aten::mm, op_id = ' || i, (5 << 24) + 7 FROM n;
    DROP TABLE n;)",
                                  nullptr, nullptr, nullptr);
  sqlite3_close(database);
  if (status != SQLITE_OK) throw std::runtime_error("no database to measure with");
}

void count(benchmark::State& state, const std::string& file, const Trace& trace) {
  const auto events = static_cast<std::int64_t>(trace.events.size());
  state.SetItemsProcessed(state.iterations() * events);
  state.SetBytesProcessed(state.iterations() *
                          static_cast<std::int64_t>(std::filesystem::file_size(file)));
}

void import_nsys_export(benchmark::State& state) {
  const std::string path = temporary(".sqlite");
  make_nsys(path);
  Trace trace;
  for (auto _ : state) trace = import_nsys(path).value();
  count(state, path, trace);
  std::filesystem::remove(path);
}
BENCHMARK(import_nsys_export)->Name("exchange/import_nsys")->Unit(benchmark::kMillisecond);

class ChromeFixture {
 public:
  ChromeFixture() {
    const std::string database = temporary(".sqlite");
    make_nsys(database);
    trace = import_nsys(database).value();
    std::filesystem::remove(database);
    if (!export_chrome(trace, path)) throw std::runtime_error("no JSON to measure with");
  }
  ~ChromeFixture() { std::filesystem::remove(path); }
  const std::string path = temporary(".json");
  Trace trace;
};

void write_json(benchmark::State& state) {
  const ChromeFixture fixture;
  for (auto _ : state) benchmark::DoNotOptimize(export_chrome(fixture.trace, fixture.path));
  count(state, fixture.path, fixture.trace);
}
BENCHMARK(write_json)->Name("exchange/chrome_export")->Unit(benchmark::kMillisecond);

void read_json(benchmark::State& state) {
  const ChromeFixture fixture;
  for (auto _ : state) benchmark::DoNotOptimize(read_chrome(fixture.path));
  count(state, fixture.path, fixture.trace);
}
BENCHMARK(read_json)->Name("exchange/chrome_import")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foreshard::traces
