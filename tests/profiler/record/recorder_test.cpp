// The recorder as the executor uses it: a program of a small model, several ranks and threads.
#include "profiler/record/recorder.hpp"

#include <filesystem>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "models/lowering/lower.hpp"
#include "profiler/analysis/analysis.hpp"
#include "profiler/report/report_notes.hpp"
#include "tests/small_llama.hpp"
#include "tests/traces/sample_trace.hpp"

namespace foreshard::profiler {
namespace {

using traces::EventKind;
using traces::TemporaryFolder;

Job small_job() {
  Plan plan;
  plan.batch.micro_batch = 1;
  plan.batch.sequence = 16;
  auto job = make_job(tests::small_llama({32, 64, 2, 4, 4, 64}), plan, "plan.toml", 2);
  if (!job) throw std::runtime_error(job.error().text());
  return std::move(*job);
}

// Interprets a step without doing anything but recording it.
void pretend(Recorder& recorder, RankRecorder& rank, const RankProgram& program, int step) {
  const std::size_t which = program.number_of(step);
  const Program& instructions = program.programs[which];
  const std::int64_t began = recorder.now();
  for (std::size_t i = 0; i < instructions.instructions.size(); ++i) {
    const Instruction& instruction = instructions.instructions[i];
    const auto index = static_cast<std::int32_t>(i);
    const std::int64_t start = recorder.now();
    if (instruction.kind == Kind::alloc || instruction.kind == Kind::free) {
      const auto action =
          instruction.kind == Kind::alloc ? MemoryAction::alloc : MemoryAction::free_requested;
      rank.host().memory(action, which, index, step, start, instruction.target * 512, 512);
    } else {
      rank.host().event(which, index, step, start, recorder.now());
      if (traces::device_kind(program, instruction)) {
        LaneRecorder& lane = rank.lane(instruction.stream);
        const auto begun = lane.clock().begin(false), ended = lane.clock().end(false);
        lane.event(which, index, step, start, recorder.now(), cpu_between(begun, ended));
      }
    }
  }
  if (step > 0) rank.step(step, began, recorder.now(), 4.0, 0.5);
}

TEST(Recorder, RecordsWhatRanksDo) {
  const TemporaryFolder folder;
  const Job job = small_job();
  auto recorder = Recorder::create(folder.path("a.fst"), {});
  ASSERT_TRUE(recorder) << recorder.error().text();
  std::vector<std::thread> ranks;
  for (int r = 0; r < 2; ++r) {
    ranks.emplace_back([&, r] {
      const RankProgram program = lower(job, r);
      RankRecorder& rank = (*recorder)->add_rank(r, program, job.tree);
      for (int step = 0; step <= 4; ++step) pretend(**recorder, rank, program, step);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  (*recorder)->set("note", "added later");
  const auto cost = (*recorder)->close();
  ASSERT_TRUE(cost) << cost.error().text();
  EXPECT_EQ(folder.entries(), 1u);

  const auto trace = traces::read_fst(folder.path("a.fst"));
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_TRUE(trace->complete);
  EXPECT_TRUE(trace->dropped.empty());
  EXPECT_EQ(static_cast<std::int64_t>(trace->events.size() + trace->memory.size()), cost->records);
  // Both records of a range have cost time.
  std::int64_t ranges = 0, works = 0;
  for (const traces::Event& e : trace->events) {
    ranges += e.kind == EventKind::range ? 1 : 0;
    works += e.cpu_ns >= 0 ? 1 : 0;
  }
  EXPECT_GT(ranges, 0);
  EXPECT_EQ(cost->done.works, works);
  EXPECT_EQ(cost->done.events, std::ssize(trace->events) - works + ranges);
  EXPECT_EQ(cost->done.memory, std::ssize(trace->memory));
  for (const traces::Event& e : trace->events) {
    if (e.kind != EventKind::range) continue;
    // Recording takes some nanoseconds for each instruction in the range.
    EXPECT_GT(e.end_ns, e.start_ns);
    EXPECT_NE(trace->strings[e.name], "range_end");
  }
  EXPECT_EQ(trace->steps.size(), 8u);
  EXPECT_EQ(trace->metadata.at("note"), "added later");
  EXPECT_NEAR(std::stod(trace->metadata.at("recorder_overhead_ns_per_event")), cost->ns_per_record,
              1e-3);
  EXPECT_NEAR(std::stod(trace->metadata.at("recorder_overhead_fraction")), cost->fraction, 1e-3);
  EXPECT_EQ(trace->lanes.size(), 2u * (1 + fsdp2_streams().size()));

  // Every launch, collective and copy of the steady program stands there for each of its three
  // steps, with what the program has of it.
  const RankProgram program = lower(job, 1);
  const auto keys = stable_keys(program, program.programs[2], "steady", job.tree);
  std::map<std::int32_t, int> seen;
  for (const traces::Event& e : trace->events) {
    const traces::Lane& lane = trace->lanes[static_cast<std::size_t>(e.lane)];
    if (lane.rank != 1 || !lane.device || e.step < 2) continue;
    const Instruction& i =
        program.programs[2].instructions[static_cast<std::size_t>(e.instruction)];
    ++seen[e.instruction];
    EXPECT_EQ(trace->strings[lane.name], program.name(i.stream));
    EXPECT_EQ(trace->strings[e.stable_key], keys[static_cast<std::size_t>(e.instruction)]);
    EXPECT_EQ(trace->strings[e.phase], name(i.phase));
    EXPECT_EQ(e.kind, *traces::device_kind(program, i));
    if (i.cost_key >= 0) {
      const CostKey& key = program.cost_keys[static_cast<std::size_t>(i.cost_key)];
      EXPECT_EQ(trace->strings[e.cost_key], text(key));
      EXPECT_EQ(trace->strings[e.name], name(key.op));
    }
  }
  for (std::size_t i = 0; i < program.programs[2].instructions.size(); ++i) {
    if (traces::device_kind(program, program.programs[2].instructions[i])) {
      EXPECT_EQ(seen[static_cast<std::int32_t>(i)], 3) << i;
    }
  }
  for (const traces::MemoryEvent& e : trace->memory) {
    EXPECT_NE(e.category, 0);
    EXPECT_NE(e.owner, 0);
  }
  EXPECT_TRUE(recording_warnings(analyse(*trace)).empty());
}

// Of each kind with its own cost, readings of the processor time included.
TEST(Recorder, CountsAllThatItDoes) {
  const TemporaryFolder folder;
  const Job job = small_job();
  const RankProgram program = lower(job, 0);
  auto recorder = Recorder::create(folder.path("a.fst"), {});
  ASSERT_TRUE(recorder) << recorder.error().text();
  RankRecorder& rank = (*recorder)->add_rank(0, program, job.tree);
  std::int32_t launch = 0;
  while (program.programs[2].instructions[static_cast<std::size_t>(launch)].kind != Kind::launch) {
    ++launch;
  }
  for (int i = 0; i < 2000; ++i) rank.host().event(2, launch, 2, 0, 1);
  for (int i = 0; i < 300; ++i) rank.host().memory(MemoryAction::alloc, 2, launch, 2, 0, 0, 512);
  LaneRecorder& stream = rank.lane(Stream::compute);
  for (int i = 0; i < 50; ++i) {
    stream.clock().begin(true);
    stream.event(2, launch, 2, 0, 1, 1);
  }
  rank.host().clock().end(true);
  rank.step(2, 0, 1'000'000, 4.0, 0.5);
  const auto cost = (*recorder)->close();
  ASSERT_TRUE(cost) << cost.error().text();
  EXPECT_EQ(cost->done, (ByKind<std::int64_t>{2000, 50, 300, 51}));
  EXPECT_EQ(cost->records, 2350);
  EXPECT_GT(cost->ns.events, 0);
  EXPECT_GT(cost->ns.works, 0);
  EXPECT_GT(cost->ns.memory, 0);
  EXPECT_GT(cost->ns.readings, 0);
  const double of_threads =
      2000 * cost->ns.events + 50 * cost->ns.works + 300 * cost->ns.memory + 51 * cost->ns.readings;
  EXPECT_NEAR(cost->ns_per_record, of_threads / 2350, 1e-6);
  EXPECT_GE(cost->fraction, of_threads / 1e6);  // and the thread that writes
}

// From the moment on at which the file has been made.
TEST(Recorder, SurvivesBeingKilled) {
  const TemporaryFolder folder;
  const Job job = small_job();
  for (int round = 0; round < 4; ++round) {
    const std::string path = folder.path("k" + std::to_string(round) + ".fst");
    int created[2];
    ASSERT_EQ(::pipe(created), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const RankProgram program = lower(job, 0);
      auto recorder = Recorder::create(path, {});
      if (::write(created[1], "", 1) != 1) ::_exit(1);
      RankRecorder& rank = (*recorder)->add_rank(0, program, job.tree);
      for (int step = 0;; ++step) pretend(**recorder, rank, program, step);
    }
    char byte = 0;
    ASSERT_EQ(::read(created[0], &byte, 1), 1);
    for (const int end : created) ::close(end);
    ::usleep(static_cast<useconds_t>(250'000 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto trace = traces::read_fst(path);
    ASSERT_TRUE(trace) << trace.error().text();
    EXPECT_FALSE(trace->complete);
    EXPECT_GT(trace->complete_until_ns, 0);
  }
}

std::int64_t peak_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// What a run goes on to record takes no memory; in a process of its own, whose files are bounded.
TEST(Recorder, TellsAtOnceThatItsFileCannotBeWritten) {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const Job job = small_job();
    const RankProgram program = lower(job, 0);
    auto recorder = Recorder::create(folder.path("a.fst"), {});
    RankRecorder& rank = (*recorder)->add_rank(0, program, job.tree);
    std::atomic<bool> is_told{false};
    (*recorder)->on_failure([&](const Error& error) { is_told = error.file.ends_with("a.fst"); });
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int step = 0;
    for (; step < 100'000 && !is_told; ++step) {
      pretend(**recorder, rank, program, step);
      ::usleep(500);
    }
    // Once more where the thread that takes the records, which has idle processor time only, came late.
    constexpr std::int64_t kMost = 16 << 10;
    bool is_bounded = false;
    for (int attempt = 0; attempt < 5 && !is_bounded; ++attempt) {
      const std::int64_t before = peak_kib();
      for (const int end = step + 4000; step < end; ++step) {
        pretend(**recorder, rank, program, step);
        ::usleep(500);
      }
      is_bounded = peak_kib() - before < kMost;
    }
    ::_exit(!is_told ? 1 : !is_bounded ? 2 : (*recorder)->close() ? 3 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Recorder, LeavesAnUnclosedFileIncomplete) {
  const TemporaryFolder folder;
  { ASSERT_TRUE(Recorder::create(folder.path("a.fst"), {})); }
  const auto trace = traces::read_fst(folder.path("a.fst"));
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_FALSE(trace->complete);
}

TEST(Recorder, RefusesAMissingFolder) {
  const TemporaryFolder folder;
  const auto recorder = Recorder::create(folder.path("no/such/t.fst"), {});
  ASSERT_FALSE(recorder);
  EXPECT_NE(recorder.error().text().find("no/such"), std::string::npos);
}

}  // namespace
}  // namespace foreshard::profiler
