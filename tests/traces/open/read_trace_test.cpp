// Recordings are opened by their content: each sample is recognised for what it is, whatever its name,
// and read_trace gives what its importer gives.
#include "traces/open/read_trace.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/temporary_folder.hpp"
#include "traces/allocator/allocator_replay.hpp"
#include "traces/allocator/trace_history.hpp"
#include "traces/export/chrome_export.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/memory_tally.hpp"
#include "traces/open/recording_kind.hpp"
#include "traces/snapshot/history_trace.hpp"

namespace foreshard::traces {
namespace {

namespace fs = std::filesystem;

const std::string kSampleFolder = FORESHARD_SOURCE_DIR "/traces/samples/";

RecordingKind kind_of(const std::string& path) {
  const auto kind = recording_kind(path, "a recording");
  EXPECT_TRUE(kind) << kind.error().text();
  return kind.value_or(RecordingKind::other);
}

TEST(RecordingKind, IsKnownByTheContentAlone) {
  const tests::TemporaryFolder folder;
  const std::pair<const char*, RecordingKind> kinds[] = {
      {"drawn_gpu/rank0.json.gz", RecordingKind::kineto},
      {"pytorch_cpu/rank0.json.gz", RecordingKind::kineto},
      {"drawn_gpu.sqlite", RecordingKind::nsys},
      {"run.fst.gz", RecordingKind::fst},
      {"snapshot.pickle", RecordingKind::snapshot},
      {"history.jsonl.gz", RecordingKind::event_list},
      {"costs.json", RecordingKind::other},
      {"plan.toml", RecordingKind::other},
      {"llama/config.json", RecordingKind::other}};
  for (const auto& [name, kind] : kinds) {
    EXPECT_EQ(kind_of(kSampleFolder + name), kind) << name;
    fs::copy_file(kSampleFolder + name, folder.path("some.bin"),
                  fs::copy_options::overwrite_existing);
    EXPECT_EQ(kind_of(folder.path("some.bin")), kind) << name;
  }
  EXPECT_EQ(kind_of(kSampleFolder + "drawn_gpu"), RecordingKind::kineto);
  for (const char* protocol : {"protocol0.pickle", "protocol4.pickle"}) {
    EXPECT_EQ(kind_of(std::string(FORESHARD_SOURCE_DIR "/tests/fuzz/corpus/snapshot/") + protocol),
              RecordingKind::snapshot)
        << protocol;
  }
  EXPECT_FALSE(recording_kind(kSampleFolder + "absent", "a recording"));
}

TEST(RecordingKind, OfAFolderOfFoldersNamesThoseWithRecordings) {
  const tests::TemporaryFolder folder;
  for (const char* iteration : {"iteration_10", "iteration_20", "iteration_30", "iteration_40"}) {
    fs::create_directory(folder.path(iteration));
    fs::copy_file(kSampleFolder + "drawn_gpu/rank0.json.gz",
                  folder.path(std::string(iteration) + "/rank0_trace.json.gz"));
  }
  fs::create_directory(folder.path("empty"));
  const auto trace = read_trace(folder.path("."));
  ASSERT_FALSE(trace);
  const std::string said = trace.error().text();
  EXPECT_NE(said.find("iteration_10, "), std::string::npos) << said;
  EXPECT_NE(said.find("iteration_30 and 1 more"), std::string::npos) << said;
  EXPECT_EQ(said.find("empty"), std::string::npos) << said;
}

TEST(ReadRuns, OpensEveryFolderOfAFolder) {
  const tests::TemporaryFolder folder;
  for (const char* iteration : {"iteration_10", "iteration_20"}) {
    fs::create_directory(folder.path(iteration));
    fs::copy_file(kSampleFolder + "drawn_gpu/rank0.json.gz",
                  folder.path(std::string(iteration) + "/rank0_trace.json.gz"));
  }
  const auto runs = read_runs(folder.path(""));
  ASSERT_TRUE(runs) << runs.error().text();
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ((*runs)[0].name, folder.path("iteration_10"));
  EXPECT_EQ((*runs)[1].name, folder.path("iteration_20"));
  EXPECT_FALSE((*runs)[1].trace.events.empty());
}

TEST(ReadRuns, OpensAllRunsOfAFolder) {
  const tests::TemporaryFolder folder;
  fs::copy_file(kSampleFolder + "drawn_gpu/rank0.json.gz", folder.path("a.json.gz"));
  fs::copy_file(kSampleFolder + "drawn_gpu/rank0.json.gz", folder.path("b.json.gz"));
  const auto runs = read_runs(folder.path(""));
  ASSERT_TRUE(runs) << runs.error().text();
  ASSERT_EQ(runs->size(), 2U) << "rank 0 is there twice";
  EXPECT_EQ((*runs)[1].name, folder.path("") + ", run 2 of 2");
  EXPECT_FALSE(read_trace(folder.path("")));
}

TEST(ReadTrace, OpensWhatTheImportersOpen) {
  const tests::TemporaryFolder folder;
  for (const char* name : {"drawn_gpu", "drawn_gpu.sqlite", "snapshot.pickle"}) {
    const auto trace = read_trace(kSampleFolder + name);
    ASSERT_TRUE(trace) << trace.error().text();
    EXPECT_GT(trace->events.size() + trace->memory.size(), 100u) << name;
    // And both forms of ours read back as the same.
    ASSERT_TRUE(write_fst(folder.path("a.fst"), *trace));
    ASSERT_TRUE(export_chrome(*trace, folder.path("a.json")));
    for (const char* ours : {"a.fst", "a.json"}) {
      const auto back = read_trace(folder.path(ours));
      ASSERT_TRUE(back) << back.error().text();
      EXPECT_EQ(back->events.size(), trace->events.size()) << name << ours;
      EXPECT_EQ(back->memory.size(), trace->memory.size()) << name << ours;
    }
  }
}

TEST(ReadTrace, RefusesKindsThatAreNotAccepted) {
  const AcceptedKinds only_exports{{RecordingKind::nsys}, "an export"};
  EXPECT_TRUE(read_trace(kSampleFolder + "drawn_gpu.sqlite", {}, only_exports));
  const auto refused = read_trace(kSampleFolder + "drawn_gpu", {}, only_exports);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "is a folder of recordings of PyTorch's profiler; expected an export");
}

TEST(ReadTrace, KeepsNoStacksWhereNoneAreWanted) {
  const auto with = read_trace(kSampleFolder + "pytorch_cpu");
  const auto without = read_trace(kSampleFolder + "pytorch_cpu", {.keeps_stacks = false});
  ASSERT_TRUE(with && without);
  EXPECT_LE(without->events.size(), with->events.size());
}

TEST(ReadTrace, TellsHowFarItIs) {
  std::int64_t last = 0, total = 0;
  ImportOptions options;
  options.on_progress = [&](std::int64_t done, std::int64_t of) {
    EXPECT_GE(done, last);
    last = done;
    total = of;
  };
  ASSERT_TRUE(read_trace(kSampleFolder + "drawn_gpu", options));
  std::int64_t bytes = 0;
  for (const auto& file : fs::directory_iterator(kSampleFolder + "drawn_gpu")) {
    bytes += static_cast<std::int64_t>(file.file_size());
  }
  EXPECT_EQ(total, bytes);
  EXPECT_EQ(last, bytes);
}

TEST(ReadTrace, AnEventListHasMemoryAlone) {
  EXPECT_FALSE(read_trace(kSampleFolder + "history.jsonl.gz"));
  const auto recorded = read_trace(kSampleFolder + "history.jsonl.gz", {}, every_recording());
  ASSERT_TRUE(recorded) << recorded.error().text();
  EXPECT_TRUE(recorded->events.empty());
  EXPECT_TRUE(recorded->dropped.empty());
  EXPECT_EQ(recorded->metadata.at("predicted"), "0");
  MemoryTally tally;
  std::int64_t peak = 0;
  for (auto event = recorded->memory.begin(); event != recorded->memory.end(); ++event) {
    EXPECT_TRUE(tally.apply(event)) << event->time_ns;
    peak = std::max(peak, tally.levels().reserved);
  }
  const auto history = read_allocator_history(kSampleFolder + "history.jsonl.gz");
  ASSERT_TRUE(history);
  EXPECT_EQ(peak, recorded_figures(*history).peak_reserved);
  EXPECT_EQ(recorded->memory.front().time_ns, 0);
  EXPECT_GT(recorded->memory.back().time_ns, 0);
}

TEST(ReadTrace, LabelsOfAnEventListTellOwnersAndSteps) {
  const std::string list =
      "{\"settings\":{},\"streams\":[\"compute\",\"all_gather\"],\"initial_segments\":[]}\n"
      "{\"action\":\"segment_alloc\",\"addr\":4194304,\"size\":2097152,\"stream\":\"compute\"}\n"
      "{\"action\":\"alloc\",\"addr\":4194304,\"size\":1000,\"stream\":\"compute\",\"step\":0,"
      "\"phase\":\"setup\",\"category\":\"parameters\",\"owner\":\"norm\",\"instruction\":2}\n"
      "{\"action\":\"free_requested\",\"addr\":4194304,\"size\":1000,\"stream\":\"compute\","
      "\"step\":1,\"phase\":\"forward\",\"instruction\":5}\n"
      "{\"action\":\"free_completed\",\"addr\":4194304,\"size\":1000,\"stream\":\"compute\"}\n";
  const auto labelled = parse_labelled_history(list, "list.jsonl");
  ASSERT_TRUE(labelled) << labelled.error().text();
  const Trace trace = trace_of(*labelled, "list.jsonl");
  ASSERT_EQ(trace.memory.size(), 4U);
  const MemoryEvent &alloc = trace.memory[1], &free = trace.memory[2], &done = trace.memory[3];
  EXPECT_EQ(alloc.bytes, 1024);
  EXPECT_EQ(alloc.requested, 1000);
  EXPECT_EQ(trace.strings[alloc.category], "parameters");
  EXPECT_EQ(trace.strings[free.owner], "norm");
  EXPECT_EQ(trace.strings[free.phase], "forward");
  EXPECT_EQ(done.step, 1);
  EXPECT_EQ(done.time_ns, 3000);  // no times: a microsecond from one to the next
  ASSERT_EQ(trace.steps.size(), 1U);
  EXPECT_EQ(trace.steps[0].start_ns, 2000);
  EXPECT_EQ(trace.metadata.at("predicted"), "1");
  EXPECT_EQ(trace.strings[trace.lanes[0].name], "compute");
}

TEST(ReadTrace, StopsWhateverTheKind) {
  std::stop_source stop;
  stop.request_stop();
  for (const char* name :
       {"run.fst.gz", "drawn_gpu", "drawn_gpu.sqlite", "snapshot.pickle", "history.jsonl.gz"}) {
    const auto read =
        read_trace(kSampleFolder + name, {.stop = stop.get_token()}, every_recording());
    ASSERT_FALSE(read) << name;
    EXPECT_NE(read.error().message.find("stopped"), std::string::npos) << read.error().text();
  }
}

TEST(ReadTrace, OnlyTracesWithStepsAreReadInPart) {
  EXPECT_TRUE(read_trace(kSampleFolder + "run.fst.gz", {.steps = StepRange{1, 1}}));
  const auto refused = read_trace(kSampleFolder + "snapshot.pickle", {.steps = StepRange{1, 1}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "cannot be read in part; expected a trace (.fst) with steps");
}

TEST(TraceHistory, NeedsATraceWithItsSegments) {
  const auto trace = read_trace(kSampleFolder + "snapshot.pickle");
  ASSERT_TRUE(trace);
  EXPECT_EQ(ranks_with_memory(*trace), std::vector<int>{0});
  const auto history = history_of(*trace, 0, "file");
  ASSERT_FALSE(history);
  EXPECT_NE(history.error().text().find("segments"), std::string::npos);
}

TEST(TraceHistory, TakesTheRequestsOfOneDevice) {
  Trace trace;
  trace.metadata["plan"] = "[allocator]\nexpandable_segments = true\n";
  const auto add = [&](MemoryAction action, std::int32_t rank, bool on_host, std::int64_t bytes) {
    MemoryEvent event;
    event.action = action;
    event.rank = rank;
    event.on_host = on_host;
    event.bytes = bytes;
    event.requested = action == MemoryAction::segment_alloc ? 0 : bytes - 12;
    event.address = 4096;
    event.lane = 7;
    trace.memory.push_back(event);
  };
  add(MemoryAction::segment_alloc, 1, false, 2 << 20);
  add(MemoryAction::alloc, 1, false, 512);
  add(MemoryAction::alloc, 1, true, 512);
  add(MemoryAction::alloc, 0, false, 512);
  add(MemoryAction::free_requested, 1, false, 512);
  EXPECT_EQ(ranks_with_memory(trace), (std::vector<int>{0, 1}));
  const auto history = history_of(trace, 1, "file");
  ASSERT_TRUE(history) << history.error().text();
  EXPECT_TRUE(history->rules.expandable_segments);
  EXPECT_EQ(history->streams, std::vector<std::int64_t>{7});
  ASSERT_EQ(history->events.size(), 3u);
  EXPECT_EQ(history->events[0].action, AllocatorAction::segment_map);
  EXPECT_EQ(history->events[1].bytes, 500);
  EXPECT_EQ(history->events[2].action, AllocatorAction::free_requested);
}

}  // namespace
}  // namespace foreshard::traces
