// What the program leaves on the disk and on standard output when there is no room, and where links
// were planted.
#include <fstream>
#include <span>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using tests::read_file;

constexpr const char* kPredict = "\"$FORESHARD\" predict --model model --plan plan.toml --ranks 2 ";
constexpr const char* kTrain =
    "\"$FORESHARD\" train --model model --plan plan.toml --ranks 2 --threads-per-rank 1 --steps 2 ";

TEST(OutputFiles, AFullDiskLeavesTheOldFileAndIsAFailure) {
  const Workplace place;
  ASSERT_EQ(place.run(job("predict", 2, {"--trace", "p.fst"})).status, 0);
  const std::string predict = kPredict, train = kTrain, program = "\"$FORESHARD\" ";
  for (const std::string& command :
       {predict + "--json out", predict + "--memory-events out", predict + "--memory-snapshot out",
        predict + "--trace out", train + "--json out", train + "--export-gradients out",
        program + "inspect p.fst --json out", program + "export p.fst --perfetto out"}) {
    place.write("out", "old");
    const auto before = place.files();
    // One block is 512 bytes; the program's own output goes to a pipe, which has no such limit.
    const Outcome outcome =
        place.shell("{ (ulimit -f 1; " + command + ") 2>&1; echo $? >&3; } 3>status | cat");
    EXPECT_NE(outcome.out.find("foreshard: error: "), std::string::npos) << command;
    EXPECT_NE(outcome.out.find("out"), std::string::npos) << command << ": " << outcome.out;
    const std::string status = read_file(place.path("status").string());
    EXPECT_EQ(status, "1\n") << command << ": " << outcome.out;
    std::filesystem::remove(place.path("status"));
    EXPECT_EQ(read_file(place.path("out").string()), "old") << command;
    EXPECT_EQ(place.files(), before) << command;
  }
}

// Trains with each of the outputs, and with all; a file longer than the checkpoint's longest cannot be
// written.
void expect_checkpoint_alone(int ranks, int steps,
                             const std::vector<std::pair<std::string, std::string>>& outputs) {
  const Workplace place;
  const std::string train = "\"$FORESHARD\" train --model model --plan plan.toml --quiet --ranks " +
                            std::to_string(ranks) + " --threads-per-rank 1 --steps " +
                            std::to_string(steps) + " ";
  ASSERT_EQ(place.shell(train + "--save first").status, 0);
  std::uintmax_t longest = 0;
  for (const auto& file : std::filesystem::directory_iterator(place.path("first"))) {
    longest = std::max(longest, file.file_size());
  }
  const auto expect_lost = [&](std::span<const std::pair<std::string, std::string>> lost) {
    std::string flags;
    for (const auto& [flag, name] : lost) flags += flag + " " + name + " ";
    // A block is 512 bytes; standard error is a pipe, which has no such limit.
    const Outcome outcome =
        place.shell("{ (ulimit -f " + std::to_string(longest / 512 + 1) + "; " + train +
                    "--save saved " + flags + ") 2>&1; echo $? >&3; } 3>status | cat");
    EXPECT_EQ(place.read("status"), "1\n") << flags << outcome.out;
    for (const auto& [flag, name] : lost) {
      EXPECT_NE(outcome.out.find("error: " + name), std::string::npos) << name << outcome.out;
      if (flag == "--trace") continue;  // what was recorded until then stays
      EXPECT_FALSE(std::filesystem::exists(place.path(name))) << name;
    }
    EXPECT_TRUE(place.read("saved/index.json") == place.read("first/index.json"))
        << flags << outcome.out;
    std::filesystem::remove_all(place.path("saved"));
  };
  for (const auto& output : outputs) expect_lost({&output, 1});
  if (outputs.size() > 1) expect_lost(outputs);
}

TEST(OutputFiles, WhatCannotBeWrittenCostsNoCheckpoint) {
  expect_checkpoint_alone(2, 60, {{"--trace", "out.fst"}});
  expect_checkpoint_alone(8, 200,
                          {{"--export-weights", "weights.out"},
                           {"--export-gradients", "gradients.out"},
                           {"--json", "out.json"}});
}

TEST(OutputFiles, TablesAppearWhole) {
  const Workplace place;
  ASSERT_EQ(place.run(job("predict", 2, {"--trace", "p.fst"})).status, 0);
  place.write("tables/events.csv", "old");
  const Outcome outcome = place.shell("ulimit -f 1; \"$FORESHARD\" export p.fst --csv tables");
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("events.csv"), std::string::npos) << outcome.err;
  EXPECT_EQ(read_file(place.path("tables/events.csv").string()), "old");
}

TEST(OutputFiles, AFullStandardOutputIsAFailure) {
  const Workplace place;
  ASSERT_EQ(place.run(job("train", 1, {"--steps", "1", "--trace", "t.fst"})).status, 0);
  const std::string flags = " --model model --plan plan.toml --ranks 2";
  for (const std::string& command :
       {"predict" + flags, "predict --json -" + flags, "program" + flags,
        "program --json -" + flags, std::string("inspect t.fst"),
        std::string("inspect t.fst --json -"), std::string("compare t.fst t.fst"),
        std::string("fit t.fst -o costs.json --report"),
        std::string("replay '" FORESHARD_SOURCE_DIR "/traces/samples/history.jsonl.gz'")}) {
    for (const std::string target : {" > /dev/full", " >&-"}) {
      const Outcome outcome = place.shell("\"$FORESHARD\" " + command + target);
      EXPECT_EQ(outcome.status, 1) << command << target;
      EXPECT_NE(outcome.err.find("cannot be written"), std::string::npos) << outcome.err;
      EXPECT_EQ(outcome.err.find("error:"), outcome.err.rfind("error:")) << "printed once";
    }
  }
}

TEST(OutputFiles, WhatIsPrintedLandsInNoOtherFile) {
  const Workplace place;
  const Outcome outcome = place.shell(kPredict + std::string("--json p.json >&-"));
  EXPECT_NE(outcome.status, 0);
  EXPECT_TRUE(
      nlohmann::json::parse(read_file(place.path("p.json").string()), nullptr, false).is_object());
}

TEST(OutputFiles, NamesOfDevicesAndDescriptorsAreNoFiles) {
  const Workplace place;
  ASSERT_EQ(place.shell(kPredict + std::string("--json /dev/stdout > out.txt")).status, 0);
  const std::string text = read_file(place.path("out.txt").string());
  EXPECT_EQ(text.find("{"), 0u);
  EXPECT_NE(text.find("at the peak"), std::string::npos) << "the text follows: " << text;
  EXPECT_EQ(
      place.shell(kPredict + std::string("--json /dev/null --memory-events /dev/null")).status, 0);
  const Outcome trace = place.shell(kPredict + std::string("--trace /dev/null"));
  EXPECT_EQ(trace.status, 2);
  EXPECT_NE(trace.err.find("/dev/null"), std::string::npos) << trace.err;
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(place.shell(kTrain + std::string("--trace /dev/null")).status, 2);
  EXPECT_EQ(place.shell(kPredict + std::string("--json /dev/full")).status, 1);
  // A pipe: `--json >(process)` of shells.
  const Outcome piped = place.shell("mkfifo pipe; cat pipe > copy & " + std::string(kPredict) +
                                    "--json pipe > /dev/null; wait");
  EXPECT_EQ(piped.status, 0) << piped.err;
  EXPECT_TRUE(std::filesystem::is_fifo(place.path("pipe")));
  EXPECT_TRUE(
      nlohmann::json::parse(read_file(place.path("copy").string()), nullptr, false).is_object());
}

TEST(OutputFiles, ADashIsStandardOutput) {
  const Workplace place;
  ASSERT_EQ(place.run(job("predict", 2, {"--trace", "p.fst"})).status, 0);
  const auto before = place.files();
  const Outcome outcome = place.run({"export", "p.fst", "--perfetto", "-"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(nlohmann::json::accept(outcome.out));
  EXPECT_EQ(place.files(), before);
}

TEST(OutputFiles, AReaderThatLeavesIsNoFailure) {
  const Workplace place;
  ASSERT_EQ(place.run(job("predict", 2, {"--trace", "p.fst"})).status, 0);
  for (const std::string command : {"list machines", "inspect p.fst", "inspect p.fst --json -",
                                    "export p.fst --perfetto -", "predict --help"}) {
    // The program writes after the reader of its standard output has ended.
    const Outcome outcome =
        place.shell("mkfifo pipe; true < pipe & exec 3> pipe; wait $!; rm pipe; \"$FORESHARD\" " +
                    command + " >&3");
    EXPECT_EQ(outcome.status, 0) << command;
    EXPECT_EQ(outcome.err, "") << command;
  }
}

// Both begin at once and hang in their first step: whoever comes second is refused meanwhile.
void expect_one_at_a_time(const Workplace& place, const std::string& flag,
                          const std::string& name) {
  const std::map<std::string, std::string> hangs = {{"FORESHARD_FAULT", "rank:0,step:1,kind:hang"}};
  const auto arguments = job("train", 2, {"--steps", "2", flag, name, "--hang-timeout", "3"});
  const auto outcomes = place.run_together(arguments, {hangs, hangs});
  const bool is_second = outcomes[0].status == 1;
  const Outcome& first = outcomes[is_second ? 0 : 1];
  const Outcome& refused = outcomes[is_second ? 1 : 0];
  EXPECT_EQ(first.status, 1) << first.err;
  EXPECT_EQ(refused.status, 2) << refused.err;
  EXPECT_EQ(refused.err,
            "foreshard: error: " + name +
                ": is being written by another run; expected another name, or that run to end\n");
  EXPECT_EQ(place.run(job("train", 2, {"--steps", "1", flag, name})).status, 0);
  EXPECT_FALSE(std::filesystem::exists(place.path(name + ".foreshard-lock")));
}

TEST(OutputFiles, OneRunAtATimeSavesUnderAName) {
  const Workplace place;
  expect_one_at_a_time(place, "--save", "saved");
  EXPECT_TRUE(std::filesystem::exists(place.path("saved/index.json")));
}

TEST(OutputFiles, OneRunAtATimeRecordsUnderAName) {
  const Workplace place;
  expect_one_at_a_time(place, "--trace", "run.fst");
  EXPECT_EQ(place.run({"inspect", "run.fst"}).status, 0);
}

TEST(OutputFiles, PlantedLinksAreNotFollowed) {
  const Workplace place;
  place.write("victim", "precious");
  for (const std::string suffix : {"", "-wal", "-shm", "-journal"}) {
    std::filesystem::create_symlink(place.path("victim"), place.path("run.fst" + suffix));
  }
  for (const std::string name : {"w.safetensors", "w.safetensors.foreshard-writing"}) {
    std::filesystem::create_symlink(place.path("victim"), place.path(name));
  }
  std::filesystem::create_directory(place.path("house"));
  std::filesystem::create_symlink(place.path("house"), place.path("saved.foreshard-writing"));
  const Outcome outcome =
      place.shell(kTrain + std::string("--trace run.fst --export-weights w.safetensors "
                                       "--save saved"));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(read_file(place.path("victim").string()), "precious");
  EXPECT_TRUE(std::filesystem::is_empty(place.path("house")));
  EXPECT_FALSE(std::filesystem::is_symlink(place.path("run.fst")));
  EXPECT_FALSE(std::filesystem::is_symlink(place.path("w.safetensors")));
  EXPECT_EQ(place.run({"inspect", "run.fst"}).status, 0);
}

}  // namespace
}  // namespace foreshard::cli_tests
