// Traces written and read back, and every way in which a path can be no trace.
#include "traces/fst/fst_file.hpp"

#include <cmath>
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/traces/sample_trace.hpp"
#include "traces/fst/fst_finish.hpp"

namespace foreshard::traces {
namespace {

namespace fs = std::filesystem;

TEST(FstFile, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  const std::string path = folder.path("Läufe, 100% #1?.fst");
  Trace trace = sample_trace();
  trace.events.update_last([&](Event& e) {
    e.correlation = 77;
    e.kind = EventKind::runtime;
    e.cost_source = CostSource::fitted;
    e.cost_error = 0.12F;
    e.group = trace.strings.intern("1 [0, 1]");
    e.sequence = 7;
  });
  trace.memory.update_last([&](MemoryEvent& e) {
    e.stack = trace.strings.intern("inner model.py:7\nouter train.py:9");
  });
  ASSERT_TRUE(write_fst(path, trace));
  EXPECT_EQ(folder.entries(), 1u) << "one portable file";
  const auto read = read_fst(path);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(difference(trace, *read), "");
}

TEST(FstFile, KeepsValuesSqlHasNoWordFor) {
  const TemporaryFolder folder;
  Trace trace = sample_trace();
  trace.steps[0].loss = std::numeric_limits<double>::quiet_NaN();
  trace.steps[1].loss = std::numeric_limits<double>::infinity();
  trace.lanes[0].name = trace.strings.intern("x'); DROP TABLE LANES; -- \"\n\xff");
  ASSERT_TRUE(write_fst(folder.path("a.fst"), trace));
  const auto read = read_fst(folder.path("a.fst"));
  ASSERT_TRUE(read);
  EXPECT_TRUE(std::isnan(read->steps[0].loss));
  EXPECT_TRUE(std::isinf(read->steps[1].loss));
  EXPECT_EQ(read->strings[read->lanes[0].name], trace.strings[trace.lanes[0].name]);
}

TEST(FstFile, KeepsTheProgramOfALongStep) {
  const TemporaryFolder folder;
  Trace trace = sample_trace();
  std::string& programs = trace.metadata["programs"];
  while (programs.size() < (70 << 20)) programs += std::to_string(programs.size()) + ",";
  trace.metadata["programs#0"] = "its own";
  ASSERT_TRUE(write_fst(folder.path("a.fst"), trace));
  const auto read = read_fst(folder.path("a.fst"));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_TRUE(read->metadata == trace.metadata);
}

TEST(FstFile, WritesInPartsWhatItReadsWhole) {
  const TemporaryFolder folder;
  const Trace trace = sample_trace();
  auto writer = FstWriter::create(folder.path("a.fst"), trace.metadata);
  ASSERT_TRUE(writer);
  EXPECT_TRUE(fs::exists(folder.path("a.fst"))) << "from the moment its schema is committed";
  writer->strings() = trace.strings;
  for (const Lane& lane : trace.lanes) writer->add(lane);
  for (const Event& event : trace.events) {
    writer->append(std::span(&event, 1));
    ASSERT_TRUE(writer->commit(event.end_ns));
  }
  for (const MemoryEvent& event : trace.memory) writer->append(std::span(&event, 1));
  writer->append(trace.steps);
  writer->drop("ring full", 1);
  writer->drop("ring full", 2);
  writer->append(trace.dropped_ranges);
  writer->append(trace.counters);
  {
    const auto unfinished = read_fst(folder.path("a.fst"));  // while it is being written
    ASSERT_TRUE(unfinished) << unfinished.error().text();
    EXPECT_FALSE(unfinished->complete);
    EXPECT_EQ(unfinished->events.size(), trace.events.size());
    EXPECT_EQ(unfinished->steps.size(), 0u) << "not committed yet";
  }
  ASSERT_TRUE(writer->close(trace.complete_until_ns));
  EXPECT_EQ(folder.entries(), 1u);
  const auto read = read_fst(folder.path("a.fst"));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(difference(trace, *read), "");
}

TEST(FstFile, TurnsPackedRecordsIntoRows) {
  const TemporaryFolder folder;
  const Trace trace = sample_trace();
  auto writer = FstWriter::create(folder.path("a.fst"), trace.metadata);
  ASSERT_TRUE(writer);
  writer->strings() = trace.strings;
  for (const Lane& lane : trace.lanes) writer->add(lane);
  std::vector<PackedRecord> records;
  for (const Event& e : trace.events) {
    const auto attributes =
        writer->add(EventAttributes{e.kind, e.micro_step, e.name, e.phase, e.unit, e.stable_key,
                                    e.cost_key, e.instruction, e.bytes});
    records.push_back({e.start_ns, e.end_ns, e.cpu_ns, attributes, e.lane, e.step});
  }
  for (const MemoryEvent& e : trace.memory) {
    const auto attributes = writer->add(MemoryAttributes{e.on_host, e.requested, e.lane, e.category,
                                                         e.owner, e.phase, e.instruction, e.stack});
    records.push_back({e.time_ns, e.address, e.bytes, attributes, 2 * e.rank, e.step,
                       static_cast<std::int32_t>(e.action)});
  }
  writer->append(records);
  writer->append(trace.steps);
  writer->drop("ring full", 3);
  writer->append(trace.dropped_ranges);
  writer->append(trace.counters);
  ASSERT_TRUE(writer->commit(17));
  {
    const auto packed = read_fst(folder.path("a.fst"));
    ASSERT_TRUE(packed);
    EXPECT_EQ(packed->complete_until_ns, 17);
    EXPECT_EQ(packed->events.size(), trace.events.size());
    EXPECT_EQ(packed->memory.size(), trace.memory.size());
  }
  ASSERT_TRUE(writer->close(trace.complete_until_ns));
  EXPECT_EQ(folder.entries(), 1u);
  const auto read = read_fst(folder.path("a.fst"));
  ASSERT_TRUE(read);
  EXPECT_EQ(difference(trace, *read), "");
}

TEST(FstFile, ReplacesAKilledRunOfTheSameName) {
  const TemporaryFolder folder;
  const Trace trace = sample_trace();
  const std::string path = folder.path("a.fst");
  {
    auto killed = FstWriter::create(path, trace.metadata);
    killed->drop("from the old run", 1);
    ASSERT_TRUE(killed->commit(1));
    fs::copy_file(path + "-wal", folder.path("kept"));  // closing removes it
  }
  fs::rename(folder.path("kept"), path + "-wal");
  ASSERT_TRUE(write_fst(path, trace));
  EXPECT_EQ(folder.entries(), 1u)
      << "the old run's write-ahead log would be replayed into the new file";
  const auto read = read_fst(path);
  ASSERT_TRUE(read);
  EXPECT_EQ(difference(trace, *read), "");
}

TEST(FstFile, ARecordingWhoseNameAnotherHasTakenIsLostAndSaysSo) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.fst");
  auto first = FstWriter::create(path, sample_trace().metadata);
  first->append(std::vector<PackedRecord>{{0, 1, 1, 0, 0, 0, PackedRecord::kEvent}});
  auto second = FstWriter::create(path, sample_trace().metadata);
  second->drop("of the second", 7);
  const auto closed = first->close(1);
  ASSERT_FALSE(closed);
  EXPECT_TRUE(closed.error().text().starts_with(path + ": was removed or replaced"));
  ASSERT_TRUE(second->close(1));
  const auto read = read_fst(path);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->dropped.at("of the second"), 7);
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(FstFile, ReadsWhereNothingCanBeWritten) {
  const TemporaryFolder folder;
  const Trace trace = sample_trace();
  const std::string path = folder.path("a b.fst");
  auto writer = FstWriter::create(folder.path("live.fst"), trace.metadata);
  writer->add(Lane{0, true, 0});
  ASSERT_TRUE(writer->commit(5));
  fs::copy_file(folder.path("live.fst"), path);
  fs::copy_file(folder.path("live.fst-wal"), path + "-wal");
  // A folder in the place of the shared memory file keeps SQLite from making one, as a read-only
  // folder would for anyone but root.
  fs::create_directory(path + "-shm");
  const auto read = read_fst(path);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->lanes.size(), 1u) << "what stands in the write-ahead log counts";
  EXPECT_EQ(read->complete_until_ns, 5);
}

TEST(FstFile, NamesWhatIsWrongWithAPath) {
  const TemporaryFolder folder;
  const auto message = [](const auto& result) {
    return result ? std::string("no error") : result.error().text();
  };
  const std::string missing = folder.path("no/such/dir/t.fst");
  EXPECT_NE(message(FstWriter::create(missing, {})).find("no/such/dir"), std::string::npos);
  EXPECT_NE(message(write_fst(missing, sample_trace())).find("no/such/dir"), std::string::npos);
  EXPECT_NE(message(FstWriter::create(folder.path(""), {})).find("file name"), std::string::npos);
  EXPECT_NE(message(read_fst(folder.path("none.fst"))).find("none.fst: no such file"),
            std::string::npos);
  EXPECT_NE(message(read_fst(folder.path("."))).find("is a folder"), std::string::npos);

  write_file(folder.path("t.txt"), "hi");
  EXPECT_NE(message(read_fst(folder.path("t.txt"))).find("t.txt: is text, but not JSON"),
            std::string::npos);
  write_file(folder.path("empty"), "");
  EXPECT_NE(message(read_fst(folder.path("empty"))).find("is empty"), std::string::npos);
  EXPECT_EQ(folder.entries(), 2u) << "a refused path leaves nothing behind";
}

TEST(FstFile, SaysInItsHeaderWhatItIs) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_fst(folder.path("whole.fst"), sample_trace()));
  {
    auto writer = FstWriter::create(folder.path("finished.fst"), {});
    ASSERT_TRUE(writer && writer->close(0));
  }
  for (const char* name : {"whole.fst", "finished.fst"}) {
    Database database = open_own(folder.path(name));
    Statement identity(database.handle(), "PRAGMA application_id");
    ASSERT_EQ(identity.step(), SQLITE_ROW) << name;
    EXPECT_EQ(identity.integer(0), kApplicationId) << name;
    Statement version(database.handle(), "PRAGMA user_version");
    ASSERT_EQ(version.step(), SQLITE_ROW) << name;
    EXPECT_EQ(version.integer(0), kFormatVersion) << name;
  }
}

TEST(FstFile, RefusesAnotherVersion) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_fst(folder.path("a.fst"), sample_trace()));
  ASSERT_TRUE(open_own(folder.path("a.fst"))
                  .run("UPDATE META_DATA_EXPORT SET value = '99' WHERE name = 'format_version'"));
  const auto read = read_fst(folder.path("a.fst"));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().field, "format_version");
}

TEST(FstFile, MergesThePartsOfSeveralProcesses) {
  const TemporaryFolder folder;
  const std::string path = folder.path("run.fst");
  const Trace trace = sample_trace();
  for (int process = 0; process < 2; ++process) {
    Trace part = trace;
    part.metadata["processes"] = "2";
    part.metadata["process"] = std::to_string(process);
    part.dropped.clear();
    std::erase_if(part.dropped_ranges,
                  [&](const DroppedRange& r) { return (r.rank == 0) != (process == 0); });
    erase_if(part.events, [&](const Event& e) { return e.lane / 2 != process; });
    erase_if(part.memory, [&](const MemoryEvent& e) { return e.rank != process; });
    std::erase_if(part.steps, [&](const Step& s) { return s.rank != process; });
    std::erase_if(part.counters, [&](const Counter& c) { return c.rank != process; });
    part.lanes.assign(trace.lanes.begin() + 2 * process, trace.lanes.begin() + 2 * process + 2);
    // The second process began to count 5 us later, on the same clock.
    const std::int64_t later = process * 5000;
    part.metadata["clock_id"] = "a boot";
    part.metadata["clock_origin_ns"] = std::to_string(1'000'000'000 + later);
    part.events.update_all([&](Event& e) {
      e.lane %= 2;
      e.start_ns -= later;
      e.end_ns -= later;
    });
    part.memory.update_all([&](MemoryEvent& e) {
      e.lane %= 2;
      e.time_ns -= later;
    });
    for (Step& s : part.steps) {
      s.start_ns -= later;
      s.end_ns -= later;
    }
    for (DroppedRange& r : part.dropped_ranges) {
      r.start_ns -= later;
      r.end_ns -= later;
    }
    for (Counter& c : part.counters) {
      for (CounterSample& sample : c.samples) sample.time_ns -= later;
    }
    part.complete = process == 0;
    ASSERT_TRUE(write_fst(part_path(path, process), part));
  }
  const auto unmerged = read_fst(path);  // killed before the parts were merged
  ASSERT_TRUE(unmerged);
  EXPECT_EQ(unmerged->events.size(), trace.events.size());
  ASSERT_TRUE(merge_parts(path, 2));
  EXPECT_EQ(folder.entries(), 1u);
  const auto whole = read_fst(path);
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_FALSE(whole->complete) << "a part was not";
  Trace expected = trace;  // but for the parts' metadata
  expected.metadata = whole->metadata;
  expected.dropped.clear();
  expected.complete = false;
  expected.complete_until_ns = whole->complete_until_ns;
  EXPECT_EQ(difference(expected, *whole), "");
}

TEST(FstFile, FindsThePartsOfAKilledRun) {
  const TemporaryFolder folder;
  const std::string path = folder.path("run.fst");
  Trace part = sample_trace();
  part.complete = false;
  part.metadata["processes"] = "3";
  for (int process = 0; process < 2; ++process) {
    part.metadata["process"] = std::to_string(process);
    part.complete_until_ns = 100 + process;
    ASSERT_TRUE(write_fst(part_path(path, process), part));
  }
  const auto whole = read_fst(path);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->events.size(), 2 * part.events.size());
  EXPECT_EQ(whole->complete_until_ns, 0) << "nothing is known of the third process";
  EXPECT_EQ(whole->dropped.at("processes without their part file"), 1);
}

TEST(FstFile, FollowsNoLinkThatStandsUnderItsNames) {
  const TemporaryFolder folder;
  const std::string victim = folder.write("victim", "precious");
  for (const std::string name : {"live.fst", "whole.fst"}) {
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
      fs::create_symlink(victim, folder.path(name + suffix));
    }
  }
  auto writer = FstWriter::create(folder.path("live.fst"), run_metadata({}));
  ASSERT_TRUE(writer) << writer.error().text();
  ASSERT_TRUE(writer->close(0));
  ASSERT_TRUE(write_fst(folder.path("whole.fst"), sample_trace()));
  EXPECT_EQ(read_file(victim), "precious");
  EXPECT_FALSE(fs::is_symlink(folder.path("live.fst")));
  EXPECT_FALSE(fs::is_symlink(folder.path("whole.fst")));
  EXPECT_EQ(folder.entries(), 3u);
}

TEST(FstFile, IsWrittenIntoAFolderThatIsALink) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path("real"));
  fs::create_directory_symlink(folder.path("real"), folder.path("link"));
  const Trace trace = sample_trace();
  ASSERT_TRUE(write_fst(folder.path("link/whole.fst"), trace));
  auto writer = FstWriter::create(folder.path("link/live.fst"), run_metadata({}));
  ASSERT_TRUE(writer) << writer.error().text();
  const std::vector<PackedRecord> records(
      3, {0, 1, -1, writer->add(EventAttributes{}), writer->add(Lane{0, true, 0}), 1});
  writer->append(records);
  ASSERT_TRUE(writer->close(1));
  const auto read = read_fst(folder.path("real/live.fst"));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->events.size(), 3u);
  EXPECT_TRUE(read_fst(folder.path("real/whole.fst")));
}

TEST(FstFile, DevicesAreNotReplaced) {
  ASSERT_FALSE(write_fst("/dev/null", sample_trace()));
  ASSERT_FALSE(FstWriter::create("/dev/null", {}));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

// A process that may write no file beyond 1 MB sees what a full disk looks like.
[[noreturn]] void record_until_full(const std::string& path) {
  const rlimit limit{1 << 20, 1 << 20};
  ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &limit);
  auto writer = FstWriter::create(path, run_metadata({}));
  const std::int32_t lane = writer->add(Lane{0, true, 0});
  const std::int32_t attributes = writer->add(EventAttributes{});
  std::int64_t n = 0;
  for (int batch = 0; batch < 10'000; ++batch) {
    std::vector<PackedRecord> records;
    for (int i = 0; i < 1000; ++i, ++n)
      records.push_back({n * 997, n * 1009, n, attributes, lane, 1});
    writer->append(records);
    if (const auto committed = writer->commit(n); !committed) {
      writer->append(records);  // goes on without effect
      const std::string message = writer->close(n).error().text();
      ::_exit(message.find(path) != std::string::npos &&
                      message.find("2000 records were lost") != std::string::npos
                  ? 0
                  : 2);
    }
  }
  ::_exit(1);
}

TEST(FstFile, AFullDiskLosesOnlyWhatCameLater) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a.fst");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) record_until_full(path);
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const auto read = read_fst(path);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_FALSE(read->complete);
  EXPECT_GT(read->complete_until_ns, 0);
  EXPECT_EQ(static_cast<std::int64_t>(read->events.size()), read->complete_until_ns)
      << "each commit stores how many records it makes";
}

}  // namespace
}  // namespace foreshard::traces
