// `foreshard train` in several processes prints what it prints with its ranks as threads, and ends as it
// does: out of memory, when interrupted, when a rank hangs. `foreshard search` finds what one process finds.
#include <cstdlib>
#include <fstream>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"
#include "traces/open/read_trace.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;

class Processes : public testing::Test {
 protected:
  void SetUp() override {
    if (!FORESHARD_HAS_MPI)
      GTEST_SKIP() << "needs a build with MPI (package libopenmpi-dev of Debian)";
    if (std::system("command -v mpirun > /dev/null 2>&1") != 0)
      GTEST_SKIP() << "needs mpirun (package openmpi-bin of Debian)";
  }

  json report(const std::string& name) const {
    std::ifstream file(place.path(name));
    return json::parse(file, nullptr, false);
  }

  // Matrices of one and two rows: the first rank's shards are larger than all others'.
  void use_lopsided_model() const {
    json model = small_llama();
    model.update({{"hidden_size", 8000}, {"intermediate_size", 1}, {"num_hidden_layers", 8}});
    model.update({{"num_attention_heads", 1}, {"num_key_value_heads", 1}, {"head_dim", 2}});
    place.write("model/config.json", model.dump());
  }

  json predicted(int ranks, std::int64_t memory) const {
    return place.run_json(job("predict", ranks, {"--device-memory", std::to_string(memory)}));
  }

  // The greatest memory, in steps of 256 KiB, with which some rank runs out of it: the first alone.
  std::int64_t too_little(int ranks) const {
    constexpr std::int64_t kStep = 256 << 10;
    std::int64_t too_small = 1, enough = 4096;
    while (enough - too_small > 1) {
      const std::int64_t middle = (too_small + enough) / 2;
      (predicted(ranks, middle * kStep).at("fits").get<bool>() ? enough : too_small) = middle;
    }
    return too_small * kStep;
  }

  // What every rank's streams were given before the place where memory ran out has been done.
  void expect_everything_before(const json& oom, const std::string& trace, int ranks) const {
    const auto recorded = traces::read_trace(place.path(trace));
    ASSERT_TRUE(recorded) << recorded.error().text();
    const auto step = oom.at("step").get<std::int32_t>();
    const auto end = oom.at("instruction").get<std::int32_t>();
    for (int rank = 0; rank < ranks; ++rank) {
      std::set<std::int32_t> issued, done;
      const json program = place.run_json(
          job("program", ranks, {"--rank", std::to_string(rank), "--step", std::to_string(step)}));
      for (std::int32_t i = 0; i < end; ++i) {
        const std::string kind =
            program.at("instructions").at(static_cast<std::size_t>(i)).at("kind");
        if (kind == "launch" || kind == "copy" || kind == "collective") issued.insert(i);
      }
      for (const traces::Event& event : recorded->events) {
        const traces::Lane& lane = recorded->lanes[static_cast<std::size_t>(event.lane)];
        if (lane.device && lane.rank == rank && event.step == step && event.instruction < end &&
            traces::is_device_work(event.kind)) {
          done.insert(event.instruction);
        }
      }
      EXPECT_FALSE(issued.empty());
      EXPECT_EQ(issued, done) << "rank " << rank << " of " << trace;
    }
  }

  // A checkpoint, a report and a recording of one and the same step.
  void expect_whole_outputs(int ranks) const {
    std::ifstream index(place.path("checkpoint/index.json"));
    const json checkpoint = json::parse(index, nullptr, false);
    ASSERT_TRUE(checkpoint.is_object());
    const auto step = checkpoint.at("step").get<std::int64_t>();
    EXPECT_EQ(report("out.json").at("steps").size(), static_cast<std::size_t>(step));
    EXPECT_TRUE(place.run_json({"inspect", "t.fst"}).at("complete").get<bool>());
    const Outcome resumed = place.run(
        job("train", ranks, {"--resume", "checkpoint", "--steps", std::to_string(step + 1)}));
    EXPECT_EQ(resumed.status, 0) << resumed.err;
  }

  // Trains as threads and as processes, expects both to end with `status`, and leaves their reports
  // in threads.json and processes.json.
  void train_both_ways(int ranks, int status, std::vector<std::string> more) const {
    more.insert(more.end(), {"--steps", "3", "--json"});
    more.emplace_back("threads.json");
    const Outcome threads = place.run(job("train", ranks, more));
    EXPECT_EQ(threads.status, status) << threads.err;
    more.back() = "processes.json";
    more.insert(more.end(), {"--comm", "mpi"});
    const Outcome processes = place.run_processes(ranks, job("train", ranks, more));
    EXPECT_EQ(processes.status, status) << processes.err;
  }

  const Workplace place;
};

TEST_F(Processes, AgreeWithThreads) {
  train_both_ways(3, 0, {});
  const json threads = report("threads.json"), processes = report("processes.json");
  for (const char* field : {"ranks_memory", "steps_memory", "oom"}) {
    EXPECT_EQ(threads.at(field), processes.at(field)) << field;
  }
  for (std::size_t s = 0; s < 3; ++s) {
    EXPECT_EQ(threads.at("steps").at(s).at("loss"), processes.at("steps").at(s).at("loss"));
    EXPECT_EQ(threads.at("steps").at(s).at("grad_norm"),
              processes.at("steps").at(s).at("grad_norm"));
  }
}

TEST_F(Processes, ShareASearch) {
  place.write("space.toml",
              "\"batch.micro_batch\" = [1, 2, 4]\n"
              "\"checkpointing.mode\" = [\"none\", \"full\"]\n");
  std::vector<std::string> question{"search",    "--model",    "model",      "--base",
                                    "plan.toml", "--space",    "space.toml", "--gpus",
                                    "2,4",       "--machines", "h100-sxm"};
  json alone = place.run_json(question);
  question.insert(question.end(), {"--comm", "mpi", "--json", "-"});
  const Outcome shared = place.run_processes(2, question);
  ASSERT_EQ(shared.status, 0) << shared.err;
  json answer = json::parse(shared.out);
  EXPECT_EQ(answer["processes"], 2);
  for (const char* key :
       {"processes", "threads", "seconds", "processor_seconds", "plans_per_s_per_core"}) {
    answer.erase(key);
    alone.erase(key);
  }
  EXPECT_EQ(answer, alone);
}

// As in a pod for training, in which somebody searches.
TEST(Search, WaitsForNoProcessesUnasked) {
  const Workplace place;
  const Outcome alone = place.run(
      {"search", "--model", "model", "--machines", "h100-sxm", "--gpus", "2", "--top", "1"},
      {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29555"}});
  EXPECT_EQ(alone.status, 0) << alone.err;
}

// Every rank's shards are of another size, so they run out at different places.
TEST_F(Processes, AgreeOnWhereMemoryRanOut) {
  train_both_ways(3, 0, {});
  const json enough = report("threads.json");
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  for (const json& rank : enough.at("ranks_memory")) {
    lowest = std::min(lowest, rank.at("peak_reserved_bytes").get<std::int64_t>());
  }
  for (const std::int64_t missing : {1, 4 << 20}) {
    train_both_ways(3, 3, {"--device-memory", std::to_string(lowest - missing)});
    const json threads = report("threads.json"), processes = report("processes.json");
    EXPECT_TRUE(threads.at("oom").is_object());
    EXPECT_EQ(threads.at("oom"), processes.at("oom"));
  }
}

// The others have run ahead to where they wait for the one that will not come.
TEST_F(Processes, OneRankAloneOutOfMemory) {
  use_lopsided_model();
  for (const int ranks : {2, 3}) {
    const std::int64_t memory = too_little(ranks);
    const json expected = predicted(ranks, memory).at("oom");
    ASSERT_TRUE(expected.is_object());
    EXPECT_EQ(expected.at("rank"), 0);
    const auto with_trace = [&](const std::string& trace) {
      return std::vector<std::string>{
          "--device-memory", std::to_string(memory), "--trace", trace, "--steps", "3", "--json",
          "out.json"};
    };
    const Outcome threads = place.run(job("train", ranks, with_trace("threads.fst")));
    EXPECT_EQ(threads.status, 3) << threads.err;
    EXPECT_EQ(report("out.json").at("oom"), expected);
    expect_everything_before(expected, "threads.fst", ranks);
    std::vector<std::string> more = with_trace("processes.fst");
    more.insert(more.end(), {"--comm", "mpi"});
    const Outcome processes = place.run_processes(ranks, job("train", ranks, more));
    EXPECT_EQ(processes.status, 3) << processes.err;
    EXPECT_NE(processes.err.find("rank 0 is out of device memory"), std::string::npos)
        << processes.err;
    EXPECT_EQ(report("out.json").at("oom"), expected);
    EXPECT_EQ(report("out.json").at("ranks_memory").size(), static_cast<std::size_t>(ranks));
    expect_everything_before(expected, "processes.fst", ranks);
  }
}

// Only one process is told to end, in whatever step it is; all end with the same one.
TEST_F(Processes, InterruptOfOneEndsAll) {
  const std::vector<std::string> outputs = {"--steps",    "1000000", "--trace",  "t.fst",  "--save",
                                            "checkpoint", "--json",  "out.json", "--comm", "mpi"};
  const std::string interrupts_itself =
      "if [ $OMPI_COMM_WORLD_RANK != 1 ]; then exec \"$@\"; fi; \"$@\" & "
      "while [ ! -e t.fst ]; do sleep 0.05; done; sleep 0.5; kill -INT $!; wait $!";
  const Outcome outcome =
      place.run_processes(3, job("train", 3, outputs), {"sh", "-c", interrupts_itself, "sh"});
  EXPECT_EQ(outcome.status, 130) << outcome.err;
  expect_whole_outputs(3);
}

TEST_F(Processes, InterruptOfAllEndsAll) {
  const std::vector<std::string> outputs = {"--steps",    "1000000", "--trace",  "t.fst",  "--save",
                                            "checkpoint", "--json",  "out.json", "--comm", "mpi"};
  const std::string interrupts_itself =
      "\"$@\" & while [ ! -e t.fst ]; do sleep 0.05; done; "
      "sleep 0.$((5 + OMPI_COMM_WORLD_RANK)); kill -TERM $!; wait $!";
  const Outcome outcome =
      place.run_processes(3, job("train", 3, outputs), {"sh", "-c", interrupts_itself, "sh"});
  EXPECT_EQ(outcome.status, 143) << outcome.err;
  expect_whole_outputs(3);
}

TEST_F(Processes, HungRankIsNamed) {
  const Outcome outcome = place.run_processes(
      3, job("train", 3, {"--steps", "5", "--comm", "mpi", "--hang-timeout", "1"}),
      {"env", "FORESHARD_FAULT=rank:1,step:3,kind:hang"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("rank 1: no progress for"), std::string::npos) << outcome.err;
}

// Replicas hold the same shards: one of each writes.
TEST_F(Processes, ExportTheSameBytes) {
  place.write("plan.toml",
              "[batch]\nmicro_batch = 1\nsequence = 16\n[precision]\nparam = \"fp32\"\n"
              "[sharding]\nstrategy = \"hybrid_shard\"\nshard_group = 2\n");
  const auto exports = [&](const std::string& name) {
    return std::vector<std::string>{
        "--steps",          "2", "--export-weights", name + ".weights", "--export-gradients",
        name + ".gradients"};
  };
  const Outcome threads = place.run(job("train", 4, exports("threads")));
  EXPECT_EQ(threads.status, 0) << threads.err;
  std::vector<std::string> more = exports("processes");
  more.insert(more.end(), {"--comm", "mpi"});
  const Outcome processes = place.run_processes(4, job("train", 4, more));
  EXPECT_EQ(processes.status, 0) << processes.err;
  for (const std::string what : {".weights", ".gradients"}) {
    const std::string expected = place.read("threads" + what);
    EXPECT_GT(expected.size(), 10'000U);
    EXPECT_TRUE(place.read("processes" + what) == expected) << what;
  }
  const nlohmann::json whole = place.run_json(job("train", 4, {"--steps", "3"}));
  for (const std::string format : {"native", "dcp", "hf", "torchtitan"}) {
    const Outcome saved =
        place.run_processes(4, job("train", 4,
                                   {"--steps", "2", "--comm", "mpi", "--save", format,
                                    "--save-every", "1", "--save-format", format}));
    EXPECT_EQ(saved.status, 0) << saved.err;
    const auto rest = place.run_json(job("train", 4, {"--steps", "3", "--resume", format}));
    EXPECT_EQ(rest["steps"][0].at("loss"), whole["steps"][2].at("loss")) << format;
  }
  const Outcome folder = place.run_processes(
      4, job("train", 4, {"--steps", "2", "--comm", "mpi", "--export-weights", "folder"}));
  EXPECT_EQ(folder.status, 0) << folder.err;
  EXPECT_TRUE(place.read("folder/model.safetensors") == place.read("threads.weights"));
}

}  // namespace
}  // namespace foreshard::cli_tests
