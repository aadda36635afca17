// A process that is killed while it writes leaves a file that opens and has the time until which it is whole.
#include <filesystem>
#include <random>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/traces/sample_trace.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard::traces {
namespace {

// Records for ever: event n lasts from n to n + 1 microseconds, and is committed as such. Says so with
// a byte to `committed` each time.
[[noreturn]] void record_for_ever(const std::string& path, int committed) {
  auto writer = FstWriter::create(path, run_metadata({}));
  if (!writer) ::_exit(1);
  const std::int32_t lane = writer->add(Lane{0, true, writer->strings().intern("compute")});
  EventAttributes kernel;
  kernel.kind = EventKind::compute;
  kernel.name = writer->strings().intern("kernel");
  const std::int32_t attributes = writer->add(kernel);
  std::vector<PackedRecord> batch(500);
  for (std::int64_t n = 0;;) {
    for (PackedRecord& record : batch) {
      record = {n * 1000, (n + 1) * 1000, -1, attributes, lane, 1};
      ++n;
    }
    writer->append(batch);
    if (!writer->commit(n * 1000) || ::write(committed, "", 1) != 1) ::_exit(1);
  }
}

TEST(KilledWriter, LeavesAFileThatSaysUntilWhenItIsComplete) {
  const TemporaryFolder folder;
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    const std::string path = folder.path("killed " + std::to_string(round) + ".fst");
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) record_for_ever(path, pipe[1]);
    ::close(pipe[1]);
    // From before the file is there until it has some ten commits, and anywhere between two.
    const int commits = std::uniform_int_distribution<int>(0, 10)(random);
    char byte;
    for (int n = 0; n < commits; ++n) ASSERT_EQ(::read(pipe[0], &byte, 1), 1);
    ::usleep(std::uniform_int_distribution<useconds_t>(0, 5'000)(random));
    ::kill(child, SIGKILL);
    ::close(pipe[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer failed by itself";
    if (!std::filesystem::exists(path)) {  // killed before its schema was committed
      EXPECT_EQ(commits, 0);
      continue;
    }

    const auto trace = read_fst(path);
    ASSERT_TRUE(trace) << trace.error().text();
    EXPECT_GE(trace->events.size(), static_cast<std::size_t>(commits) * 500);
    EXPECT_FALSE(trace->complete);
    EXPECT_TRUE(trace->dropped.empty());
    // Event n ends at (n + 1) us: what is complete until k us holds k events, in order.
    EXPECT_EQ(trace->complete_until_ns, static_cast<std::int64_t>(trace->events.size()) * 1000);
    for (std::size_t n = 0; n < trace->events.size(); ++n) {
      ASSERT_EQ(trace->events[n].start_ns, static_cast<std::int64_t>(n) * 1000);
    }
  }
}

}  // namespace
}  // namespace foreshard::traces
