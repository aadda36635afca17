// Nsight Systems exports: every schema by hand-made databases, damaged and mislabelled files, and the
// whole ones against an independent count.
#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "tests/outside_data.hpp"
#include "tests/traces/sample_trace.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/import.hpp"
#include "traces/nsys/tables.hpp"

namespace foreshard::traces {
namespace {

void make_database(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
  sqlite3_free(error);
  sqlite3_close(database);
}

std::string text(const Trace& trace, const Event& e) {
  const Lane& lane = trace.lanes[static_cast<std::size_t>(e.lane)];
  return std::to_string(lane.rank) + "/" + trace.strings[lane.name] + " " +
         std::string(name(e.kind)) + " " + trace.strings[e.name] + " " +
         std::to_string(e.start_ns) + "-" + std::to_string(e.end_ns);
}

std::string all(const Trace& trace) {
  std::string lines;
  for (const Event& e : trace.events) lines += text(trace, e) + "\n";
  return lines;
}

class Nsys : public testing::Test {
 protected:
  Result<Trace> import(const std::string& sql) {
    const std::string path = folder_.path("a.sqlite");
    std::filesystem::remove(path);
    make_database(path, sql);
    return import_nsys(path);
  }
  TemporaryFolder folder_;
};

// Process 5 and thread 7 of it, as the tool packs them.
constexpr const char* kNewSchema = R"(
  CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
  INSERT INTO StringIds VALUES (1,'void gemm<float>(int)'), (2,'gemm'),
    (3,'ncclDevKernel_AllGather_RING_LL(x)'), (4,'cudaLaunchKernel_v7000'),
    (5,'cudaStreamSynchronize_v3020'), (6,'python'), (7,'NCCL'), (8,'ncclAllGather');
  CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
  INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_NAME','NVIDIA Nsight Systems'),
    ('EXPORT_PRODUCT_VERSION','2026.1'), ('EXPORT_SCHEMA_VERSION','3.24');
  CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER, deviceId INTEGER,
    contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER, shortName INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1300,1500,0,1,7,101,5<<24,1,2),
    (1150,1250,0,1,20,100,5<<24,3,3);
  CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, "end" INTEGER, deviceId INTEGER,
    contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER,
    copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1500,1600,0,1,7,0,5<<24,4096,1,1,2);
  CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, "end" INTEGER, deviceId INTEGER,
    contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER,
    memKind INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (1600,1610,0,1,7,0,5<<24,64,2);
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, "end" INTEGER, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1200,1210,(5<<24)+7,101,4),
    (1110,1120,(5<<24)+7,100,4), (1220,1700,(5<<24)+7,102,5);
  CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, "end" INTEGER,
    deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,
    globalPid INTEGER, syncType INTEGER, eventId INTEGER);
  INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1225,1699,0,1,7,102,5<<24,3,4294967295),
    (1215,1216,9,1,7,103,5<<24,2,12);
  CREATE TABLE NVTX_EVENTS (start INTEGER, "end" INTEGER, eventType INTEGER, text TEXT,
    globalTid INTEGER, textId INTEGER, domainId INTEGER);
  INSERT INTO NVTX_EVENTS VALUES (1000,1900,59,'ProfilerStep#3',(5<<24)+7,NULL,0),
    (1010,1100,59,'FSDP::pre_forward (layers.0)',(5<<24)+7,NULL,0),
    (1105,1130,59,NULL,(5<<24)+7,8,1),
    (1190,1215,59,'aten::mm, seq = 3, op_id = 12',(5<<24)+7,NULL,0),
    (1800,NULL,34,'here',(5<<24)+7,NULL,0),
    (1850,NULL,60,'left open',(5<<24)+7,NULL,0),
    (1000,NULL,75,NULL,(5<<24)+7,7,1),
    (1000,NULL,200,'?',(5<<24)+7,NULL,0);
  CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
  INSERT INTO ThreadNames VALUES (6,0,(5<<24)+7);
  CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
  INSERT INTO PROCESSES VALUES (5<<24,5,'train.py');
  CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
  INSERT INTO TARGET_INFO_GPU VALUES (0,'NVIDIA H100');
  CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER,
    address INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER);
  INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1001,5<<24,0,4096,2097152,2,0),
    (1890,5<<24,0,4096,2097152,2,1);
  CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, severity INTEGER, text TEXT);
  INSERT INTO DIAGNOSTIC_EVENT VALUES (1,1,'started'), (2,3,'Some events were lost.');
  INSERT INTO DIAGNOSTIC_EVENT VALUES (1510,2,'7 CUDA events were dropped: buffers were full.');
  CREATE TABLE SCHED_EVENTS (start INTEGER, cpu INTEGER);
  INSERT INTO SCHED_EVENTS VALUES (1,1), (2,2);
)";

TEST_F(Nsys, TodaysSchema) {
  const auto trace = import(kNewSchema);
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(all(*trace),
            "0/synchronization range Stream Sync 225-699\n"
            "0/python 7 range ProfilerStep#3 0-900\n"
            "0/python 7 range FSDP::pre_forward (layers.0) 10-100\n"
            "0/python 7 range NCCL:ncclAllGather 105-130\n"
            "0/python 7 runtime cudaLaunchKernel 110-120\n"
            "0/python 7 host aten::mm 190-215\n"
            "0/python 7 runtime cudaLaunchKernel 200-210\n"
            "0/python 7 host_wait cudaStreamSynchronize 220-700\n"
            "0/python 7 range here 800-800\n"
            "0/python 7 range left open 850-900\n"
            "0/stream 7 wait Stream Wait Event 215-216\n"
            "0/stream 7 compute void gemm<float>(int) 300-500\n"
            "0/stream 7 memory Memcpy HtoD (Pinned -> Device) 500-600\n"
            "0/stream 7 memory Memset (Device) 600-610\n"
            "0/stream 20 communication ncclDevKernel_AllGather_RING_LL(x) 150-250\n");
  for (const Event& e : trace->events) {
    if (trace->strings[e.name].find("gemm") == std::string::npos) continue;
    EXPECT_EQ(trace->strings[e.unit], "layers.0");
    EXPECT_EQ(trace->strings[e.phase], "forward");
    EXPECT_EQ(e.step, 3);
    EXPECT_EQ(e.correlation, 101);
  }
  ASSERT_EQ(trace->steps.size(), 1U);
  EXPECT_EQ(trace->steps[0].step, 3);
  EXPECT_EQ(trace->steps[0].end_ns, 900);
  ASSERT_EQ(trace->memory.size(), 2U);
  EXPECT_EQ(trace->memory[0].action, MemoryAction::segment_alloc);
  EXPECT_EQ(trace->memory[1].action, MemoryAction::segment_free);
  EXPECT_EQ(trace->memory[1].bytes, 2097152);
  const std::map<std::string, std::int64_t> dropped{
      {"NVTX events of unknown types", 1},
      {"dropped records that Nsight Systems reports (see diagnostics)", 2},
      {"unclosed ranges, ended with the recording", 1},
      {"rows of unsupported table SCHED_EVENTS", 2}};
  EXPECT_EQ(trace->dropped, dropped);
  const auto& m = trace->metadata;
  EXPECT_EQ(m.at("source"), "nsys");
  EXPECT_EQ(m.at("device.0"), "NVIDIA H100");
  EXPECT_EQ(m.at("process.0"), "train.py 5");
  EXPECT_EQ(m.at("rank_is"), "processes");
  EXPECT_EQ(m.at("diagnostics"),
            "error: Some events were lost.\n"
            "warning: 7 CUDA events were dropped: buffers were full.\n");
  // What was reported before the first event is not told of a moment of the trace.
  EXPECT_EQ(trace->dropped_ranges, (std::vector<DroppedRange>{{kNone, false, 510, 510, 1}}));
  EXPECT_TRUE(trace->complete);
  EXPECT_EQ(trace->complete_until_ns, 900);
}

TEST_F(Nsys, AGraphRecordedAsAWholeIsDeviceWorkOfItsLaunch) {
  const auto trace = import(R"(
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO StringIds VALUES (1,'cudaGraphLaunch_v10000');
    CREATE TABLE NVTX_EVENTS (start INTEGER, "end" INTEGER, eventType INTEGER, text TEXT,
      globalTid INTEGER);
    INSERT INTO NVTX_EVENTS VALUES (90,200,59,'step 3',(5<<24)+7);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, "end" INTEGER, globalTid INTEGER,
      correlationId INTEGER, nameId INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,110,(5<<24)+7,9,1);
    CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, "end" INTEGER, deviceId INTEGER,
      contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
      graphId INTEGER, graphExecId INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (300,900,0,1,7,9,5<<24,4,5);)");
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(all(*trace),
            "0/thread 7 range step 3 0-110\n"
            "0/thread 7 runtime cudaGraphLaunch 10-20\n"
            "0/stream 7 compute CUDA graph 4 210-810\n");
  ASSERT_EQ(trace->events.size(), 3U);
  EXPECT_EQ(trace->events[2].step, 3);
  EXPECT_TRUE(trace->dropped.empty());
}

// As --gpu-metrics-devices=all records: the tool numbers a device's metrics by a type whose lowest byte is
// the device's number in the machine, 3 here, while the process counts its own devices from 0.
TEST_F(Nsys, MetricsOfADeviceAreCountersOfItsRank) {
  const auto trace = import(std::string(kNewSchema) + R"(
    CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT);
    INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3,0,5,'a'), (0,0,6,'b');
    CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, sourceId INTEGER, typeName TEXT,
      metricId INTEGER, metricName TEXT);
    INSERT INTO TARGET_INFO_GPU_METRICS VALUES
      (281474976710659,1,'GPU Metrics [NVIDIA H100]',2,'SMs Active [Throughput %]'),
      (281474976710659,1,'GPU Metrics [NVIDIA H100]',0,'GPC Clock Frequency [MHz]'),
      (281474976710659,1,'GPU Metrics [NVIDIA H100]',9,'NVLink RX Requests [Throughput %]'),
      (281474976710656,1,'GPU Metrics [NVIDIA H100]',2,'SMs Active [Throughput %]');
    CREATE TABLE GPU_METRICS (rawTimestamp INTEGER, timestamp INTEGER, typeId INTEGER,
      metricId INTEGER, value INTEGER);
    INSERT INTO GPU_METRICS VALUES (0,1300,281474976710659,2,97), (0,900,281474976710659,2,1),
      (0,1200,281474976710659,2,97), (0,950,281474976710659,2,5), (0,1600,281474976710659,2,0),
      (0,5000,281474976710659,2,33), (0,1000,281474976710659,0,1410),
      (0,1000,281474976710656,2,50), (0,NULL,281474976710659,2,1), (0,1,281474976710659,44,1);
    DELETE FROM SCHED_EVENTS)");
  ASSERT_TRUE(trace) << trace.error().text();
  ASSERT_EQ(trace->counters.size(), 2U);
  const Counter &active = trace->counters[0], &clock = trace->counters[1];
  EXPECT_EQ(trace->strings[active.name], "SMs Active");
  EXPECT_EQ(trace->strings[active.unit], "%");
  EXPECT_EQ(active.rank, 0);
  // From the first event, at 1000 ns, to the end of the last.
  EXPECT_EQ(active.samples, (std::vector<CounterSample>{{0, 5}, {200, 97}, {600, 0}}));
  EXPECT_EQ(trace->strings[clock.name], "GPC Clock Frequency");
  EXPECT_EQ(trace->strings[clock.unit], "MHz");
  EXPECT_EQ(clock.samples, (std::vector<CounterSample>{{0, 1410}}));
  EXPECT_EQ(trace->dropped.at("samples of metrics without a name or a rank"), 2);
  EXPECT_EQ(trace->dropped.at("samples of metrics without a time or a value"), 1);
  EXPECT_FALSE(trace->dropped.contains("rows of unsupported table GPU_METRICS"));
}

TEST_F(Nsys, DeviceWorkThatIsNotReadIsAWarning) {
  auto trace = import(std::string(kNewSchema) + R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_CDP_KERNEL (start INTEGER, "end" INTEGER, deviceId INTEGER,
      streamId INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_CDP_KERNEL VALUES (1300,1400,0,7);)");
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->metadata["not_recorded"],
            "all figures lack the device work of CUPTI_ACTIVITY_KIND_CDP_KERNEL");
  EXPECT_EQ(import(kNewSchema)->metadata.count("not_recorded"), 0U);
}

TEST_F(Nsys, ReducedAndOldSchemas) {
  const auto reduced = import(R"(
    CREATE TABLE EXPORT_META_DATA (name TEXT, value TEXT);
    INSERT INTO EXPORT_META_DATA VALUES ('EXPORT_PRODUCT_VERSION','2020.3');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER, deviceId INTEGER,
      streamId INTEGER, correlationId INTEGER, shortName TEXT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (20,30,0,7,1,'inline name'), (20,30,1,7,2,'b');
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, "end" INTEGER, correlationId INTEGER,
      globalTid INTEGER, name TEXT);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (-5,5,1,1,'cudaLaunchKernel'),
      (6,7,2,2,'cudaMemcpy');)");
  ASSERT_TRUE(reduced) << reduced.error().text();
  // Threads are joined with the device that their launches ran on.
  EXPECT_EQ(all(*reduced),
            "0/thread 1 runtime cudaLaunchKernel 0-10\n"
            "0/stream 7 compute inline name 25-35\n"
            "1/thread 2 host_wait cudaMemcpy 11-12\n"
            "1/stream 7 compute b 25-35\n");
  EXPECT_EQ(reduced->metadata.at("rank_is"), "devices of processes");
  EXPECT_NE(reduced->metadata.at("versions").find("2020.3"), std::string::npos);
}

TEST_F(Nsys, HostsWithoutDevicesAreRanks) {
  const auto trace = import(R"(
    CREATE TABLE NVTX_EVENTS (start INTEGER, "end" INTEGER, text TEXT, globalTid INTEGER);
    INSERT INTO NVTX_EVENTS VALUES (5,9,'a',(3<<24)+3), (6,8,'b',(2<<24)+2);
    CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER, "end" INTEGER, globalTid INTEGER,
      textId TEXT, size INTEGER);
    INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (7,8,(2<<24)+2,'MPI_Barrier',0),
      (9,12,(2<<24)+2,'MPI_Allreduce',512);)");
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(all(*trace),
            "0/thread 2 range b 1-3\n"
            "0/thread 2 host_wait MPI_Barrier 2-3\n"
            "0/thread 2 host MPI_Allreduce 4-7\n"
            "1/thread 3 range a 0-4\n");
  EXPECT_EQ(trace->events[2].bytes, 512);
}

TEST_F(Nsys, ImpossibleRecordsAreCounted) {
  const auto trace = import(R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER, deviceId INTEGER,
      streamId INTEGER, shortName INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (20,30,0,7,'a'), (40,35,0,7,'b'),
      (NULL,3,0,7,'c'), (1<<60,(1<<60)+1,0,7,'d'), (50,60,0,7,12);
    CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, deviceId INTEGER, address INTEGER,
      bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER);
    INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (-1<<63,0,64,64,2,0), (-1<<63,0,64,64,2,1),
      (-1<<63,0,64,64,2,0), (25,0,64,64,2,0);)");
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(all(*trace), "0/stream 7 compute a 0-10\n0/stream 7 compute  30-40\n");
  EXPECT_EQ(trace->memory.size(), 1u);
  EXPECT_EQ(trace->dropped.at("records with impossible times"), 5);
  EXPECT_EQ(trace->dropped.at("records without a start or an end"), 1);
  EXPECT_EQ(trace->dropped.at("names missing from the file"), 1);
}

TEST_F(Nsys, MislabelledFilesAreErrors) {
  const auto error = [&](const std::string& name, const std::string& bytes) {
    const std::string path = folder_.path(name);
    if (!bytes.empty()) write_file(path, bytes);
    const auto trace = import_nsys(path);
    EXPECT_FALSE(trace);
    std::string message = trace ? "" : trace.error().text();
    EXPECT_NE(message.find(name), std::string::npos) << message;
    return message;
  };
  EXPECT_NE(error("absent.sqlite", "").find("no such file"), std::string::npos);
  EXPECT_NE(error("a.json", "{\"traceEvents\":[]}").find("is JSON from PyTorch's profiler"),
            std::string::npos);
  EXPECT_NE(error("a.nsys-rep", "whatever").find("Nsight Systems' own format"), std::string::npos);
  EXPECT_NE(error("short.sqlite", std::string("SQLite format 3\0", 16)).find("expected"),
            std::string::npos);
  ASSERT_TRUE(write_fst(folder_.path("a.fst"), sample_trace()));
  EXPECT_NE(error("a.fst", "").find("already"), std::string::npos);
  make_database(folder_.path("other.sqlite"), "CREATE TABLE t (start INTEGER)");
  EXPECT_NE(error("other.sqlite", "").find("without Nsight Systems tables"), std::string::npos);
}

TEST_F(Nsys, NothingOfTheSchemaIsRun) {
  // A view under a table's name, and a generated column: both would compute without end.
  const auto trace = import(R"(
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER, deviceId INTEGER,
      streamId INTEGER, shortName TEXT GENERATED ALWAYS AS (hex(zeroblob(1000000000))) VIRTUAL);
    CREATE TABLE t (x); INSERT INTO t VALUES (1);
    CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n)
      SELECT start, start AS "end", 0 AS globalTid FROM n;)");
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_TRUE(trace->events.empty());
}

// Rows over many pages, of which one is overwritten, or the last ones are missing.
class DamagedNsys : public Nsys {
 protected:
  static constexpr int kRows = 20'000;
  std::string bytes() {
    const std::string path = folder_.path("whole.sqlite");
    make_database(path, R"(PRAGMA page_size=4096;
      CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
      CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, "end" INTEGER, deviceId INTEGER,
        streamId INTEGER, shortName TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i * 1000, i * 1000 + 500, 0, 7, 'kernel' FROM n;)");
    return read_file(path);
  }
  Trace salvage(const std::string& bytes) {
    const std::string path = folder_.path("damaged.sqlite");
    write_file(path, bytes);
    auto trace = import_nsys(path);
    EXPECT_TRUE(trace) << trace.error().text();
    return trace ? std::move(*trace) : Trace();
  }
};

TEST_F(DamagedNsys, RowsBehindABrokenPageAreRead) {
  std::string damaged = bytes();
  const std::size_t page = damaged.size() / 2 / 4096 * 4096;
  damaged.replace(page, 4096, std::string(4096, '\x5a'));
  const Trace trace = salvage(damaged);
  EXPECT_GT(trace.events.size(), kRows - 1000U);
  EXPECT_LT(trace.events.size(), static_cast<std::size_t>(kRows));
  EXPECT_EQ(trace.events.back().end_ns, (kRows - 1) * 1000 + 500);  // counted from the first
  EXPECT_FALSE(trace.complete);
  EXPECT_EQ(trace.complete_until_ns, 0);
  EXPECT_EQ(trace.dropped.at("unreadable parts (damaged file) of CUPTI_ACTIVITY_KIND_KERNEL"), 1);
}

TEST_F(DamagedNsys, WhatIsLeftOfATruncatedFileIsRead) {
  const std::string whole = bytes();
  const Trace trace = salvage(whole.substr(0, whole.size() * 6 / 10));
  EXPECT_GT(trace.events.size(), static_cast<std::size_t>(kRows / 2));
  EXPECT_FALSE(trace.complete);
  EXPECT_EQ(trace.dropped.at("end of the file (truncated)"), 1);
}

// Whatever is cut off or flipped: an answer, and an error that names the file.
TEST_F(DamagedNsys, EveryKindOfDamageHasAnAnswer) {
  const std::string small = folder_.path("small.sqlite"), path = folder_.path("broken.sqlite");
  make_database(small, std::string("PRAGMA page_size=512;") + kNewSchema);
  const std::string whole = read_file(small);
  const auto check = [&](const std::string& bytes) {
    write_file(path, bytes);
    const auto trace = import_nsys(path);
    if (!trace) {
      EXPECT_NE(trace.error().text().find("broken.sqlite"), std::string::npos);
    }
  };
  for (std::size_t length = 0; length < whole.size(); length += 97) check(whole.substr(0, length));
  for (std::size_t at = 0; at < whole.size(); at += 13) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    check(flipped);
  }
}

// Our own sample, and real recordings where they are at hand.
class RealNsys : public testing::TestWithParam<std::string> {
 protected:
  static std::map<std::string, std::int64_t> independent_count(const std::string& path) {
    std::map<std::string, std::int64_t> counts;
    const std::string counter = FORESHARD_SOURCE_DIR "/tests/traces/nsys/count_nsys.py";
    EXPECT_TRUE(std::filesystem::exists(counter)) << counter;  // only Python may be missing
    const std::string command = "python3 '" + counter + "' '" + path + "' 2>/dev/null";
    FILE* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return counts;
    char key[64];
    for (long long value = 0; std::fscanf(pipe, "%63s %lld", key, &value) == 2;)
      counts[key] = value;
    ::pclose(pipe);
    return counts;
  }
};

TEST_P(RealNsys, EqualsAnIndependentCount) {
  const std::string sample = FORESHARD_SOURCE_DIR "/traces/samples/" + GetParam();
  const std::string path = std::filesystem::exists(sample)
                               ? sample
                               : tests::outside_data("traces/nsys/" + GetParam()).string();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << tests::missing(path);
  const auto want = independent_count(path);
  if (want.empty()) GTEST_SKIP() << "needs python3 to count independently";
  const auto trace = import_nsys(path);
  ASSERT_TRUE(trace) << trace.error().text();

  std::map<std::string, std::int64_t> got;
  for (const auto& [key, value] : want) got[key] = 0;
  const auto count = [&](const std::string& key, const Event& e) {
    ++got[key];
    got[key + "_ns"] += e.end_ns - e.start_ns;
  };
  for (const Event& e : trace->events) {
    const std::string& event = trace->strings[e.name];
    switch (e.kind) {
      case EventKind::communication: count("nccl_kernels", e); [[fallthrough]];
      case EventKind::compute: count("kernels", e); break;
      case EventKind::memory:
        count(event.starts_with("Memcpy") ? "copies" : "fills", e);
        if (event.starts_with("Memcpy")) got["copied_bytes"] += e.bytes;
        break;
      case EventKind::wait: count("synchronizations", e); break;
      case EventKind::runtime:
      case EventKind::host_wait: count("calls", e); break;
      case EventKind::range:
        if (event.ends_with(" Sync")) {
          count("synchronizations", e);
        } else {
          ++got["ranges"];
        }
        break;
      case EventKind::host: ++got["operators"]; break;
      default: ADD_FAILURE() << text(*trace, e);
    }
  }
  got["ranks"] = std::stoll(trace->metadata.at("ranks"));
  EXPECT_EQ(got, want);
  EXPECT_TRUE(trace->complete);

  const TemporaryFolder folder;
  ASSERT_TRUE(write_fst(folder.path("a.fst"), *trace));
  const auto back = read_fst(folder.path("a.fst"));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(difference(*trace, *back), "");
}

INSTANTIATE_TEST_SUITE_P(Files, RealNsys,
                         testing::Values("drawn_gpu.sqlite", "healthy_1pct.sqlite",
                                         "mfu_2gpu_before.sqlite", "mock.sqlite",
                                         "saxpy-mpi-cuda_nsys_perlmutter0.sqlite"),
                         [](const auto& file) {
                           return file.param.substr(0, file.param.find_first_of(".-"));
                         });

TEST(OperatorNames, LoseWhatEmitNvtxAdds) {
  EXPECT_EQ(nsys::operator_name("aten::mm, seq = 7, op_id = 9"), "aten::mm");
  EXPECT_EQ(nsys::operator_name("aten::mm, op_id = 9, sizes = [[1, 2], [2, 3]]"), "aten::mm");
  EXPECT_EQ(nsys::operator_name("a, b"), "a, b");
  EXPECT_EQ(nsys::operator_name(", seq = 7"), ", seq = 7");
}

}  // namespace
}  // namespace foreshard::traces
