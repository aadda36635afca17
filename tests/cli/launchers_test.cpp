// `foreshard train` under launchers: one job whatever started its processes, the same numbers by
// whatever they talk, and the errors for variables that make no sense.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"
#include "tests/cli/torchrun.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;

Variables srun(int rank, int size) {
  return {{"SLURM_PROCID", std::to_string(rank)},
          {"SLURM_NTASKS", std::to_string(size)},
          {"SLURM_LOCALID", std::to_string(rank)},
          {"SLURM_JOB_ID", "7"},
          {"SLURM_STEP_ID", "0"}};
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

class Launchers : public testing::Test {
 protected:
  json report(const std::string& name) const {
    std::ifstream file(place.path(name));
    return json::parse(file, nullptr, false);
  }

  // One process for each rank, with torchrun's variables and `more`.
  std::vector<Outcome> run_ranks(int ranks, const std::vector<std::string>& arguments,
                                 const Variables& more = {}) const {
    std::vector<Variables> environments;
    const int port = free_port();
    for (int rank = 0; rank < ranks; ++rank) {
      environments.push_back(with(torchrun(rank, ranks, port), more));
    }
    return place.run_together(arguments, environments);
  }

  // Trains as threads and as processes over TCP, expects all to end with `status`, and returns their
  // reports, the threads' first.
  std::pair<json, json> train_both_ways(int ranks, int status,
                                        std::vector<std::string> more) const {
    more.insert(more.end(), {"--steps", "3", "--json", "threads.json", "--export-weights"});
    more.emplace_back("threads.safetensors");
    const Outcome threads = place.run(job("train", ranks, more));
    EXPECT_EQ(threads.status, status) << threads.err;
    *(more.end() - 3) = "processes.json";
    more.back() = "processes.safetensors";
    for (const Outcome& process : run_ranks(ranks, job("train", ranks, more))) {
      EXPECT_EQ(process.status, status) << process.err;
    }
    if (status == 0) {
      EXPECT_EQ(tests::read_file(place.path("threads.safetensors")),
                tests::read_file(place.path("processes.safetensors")));
    }
    return {report("threads.json"), report("processes.json")};
  }

  const Workplace place;
};

TEST_F(Launchers, TcpAgreesWithThreads) {
  for (const int ranks : {2, 3}) {
    const auto [threads, processes] = train_both_ways(ranks, 0, {});
    for (const char* field : {"ranks_memory", "steps_memory", "oom"}) {
      EXPECT_EQ(threads.at(field), processes.at(field)) << field;
    }
    ASSERT_EQ(processes.at("steps").size(), 3u);
    for (std::size_t s = 0; s < 3; ++s) {
      EXPECT_EQ(threads.at("steps").at(s).at("loss"), processes.at("steps").at(s).at("loss"));
      EXPECT_EQ(threads.at("steps").at(s).at("grad_norm"),
                processes.at("steps").at(s).at("grad_norm"));
    }
  }
}

TEST_F(Launchers, TcpAgreesOnWhereMemoryRanOut) {
  const auto [enough, also] = train_both_ways(3, 0, {});
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  for (const json& rank : enough.at("ranks_memory")) {
    lowest = std::min(lowest, rank.at("peak_reserved_bytes").get<std::int64_t>());
  }
  for (const int ranks : {2, 3}) {
    const auto [threads, processes] =
        train_both_ways(ranks, 3, {"--device-memory", std::to_string(lowest - (4 << 20))});
    EXPECT_TRUE(threads.at("oom").is_object());
    EXPECT_EQ(threads.at("oom"), processes.at("oom"));
  }
}

TEST_F(Launchers, ARankThatEndsOverTcpIsNamedByAll) {
  for (const std::string kind : {"exit", "throw"}) {
    const auto outcomes =
        run_ranks(3, job("train", 3, {"--steps", "1000", "--trace", kind + ".fst"}),
                  {{"FORESHARD_FAULT", "rank:1,step:3,kind:" + kind}});
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
      EXPECT_EQ(outcomes[rank].status, 1) << kind << " " << rank;
      if (rank == 1 && kind == "exit") continue;  // it prints nothing
      EXPECT_NE(outcomes[rank].err.find("rank 1: "), std::string::npos) << outcomes[rank].err;
    }
  }
}

// All processes end with the same step, and what was saved stays.
TEST_F(Launchers, ARunThatDivergesEndsAndReplacesNoCheckpoint) {
  ASSERT_EQ(place.run(job("train", 2, {"--steps", "2", "--save", "saved"})).status, 0);
  place.write("plan.toml",
              place.read("plan.toml") + "[optimizer]\nlr = 1e6\nweight_decay = 10.0\n");
  const std::string before = place.read("saved/index.json");
  const auto arguments = job("train", 2, {"--steps", "40", "--resume", "saved", "--save", "saved"});
  auto outcomes = run_ranks(2, arguments);
  outcomes.push_back(place.run(arguments));
  const auto complaint = [](const Outcome& outcome) {
    return outcome.err.substr(
        std::min(outcome.err.find("foreshard: error: step "), outcome.err.size()));
  };
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_NE(complaint(outcome).find("not finite"), std::string::npos) << outcome.err;
    EXPECT_EQ(complaint(outcome), complaint(outcomes[0]));
    EXPECT_EQ(outcome.err.find("-nan"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(place.read("saved/index.json"), before);
}

// One process gets the signal; all end with the same step and with its status, and leave a checkpoint.
TEST_F(Launchers, AnInterruptedRunTellsByItsStatus) {
  const std::string train =
      "\"$FORESHARD\" train --model model --plan plan.toml --ranks 2 --steps 1000000 ";
  // A run claims its outputs when everything is ready to begin.
  const std::string wait =
      "until [ -e saved.foreshard-lock ]; do sleep 0.01; done; sleep 0.5; kill -";
  const auto expect_end = [&](const std::string& line, int status) {
    const Outcome outcome = place.shell(line);
    EXPECT_EQ(outcome.status, status) << line << outcome.err;
    EXPECT_EQ(report("out.json").at("interrupted"), true);
    EXPECT_TRUE(std::filesystem::exists(place.path("saved/index.json"))) << line;
    std::filesystem::remove_all(place.path("saved"));
    std::filesystem::remove(place.path("out.json"));
  };
  for (const auto& [signal, status] : {std::pair("INT", 130), std::pair("TERM", 143)}) {
    expect_end(
        train + "--save saved --json out.json & run=$!; " + wait + signal + " $run; wait $run",
        status);
    expect_end(
        "export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + std::to_string(free_port()) +
            "; set -- --save saved --json out.json; RANK=0 LOCAL_RANK=0 " + train +
            "\"$@\" & zero=$!; RANK=1 LOCAL_RANK=1 " + train + "\"$@\" & one=$!; " + wait + signal +
            " $one; wait $zero; status=$?; wait $one; test $? = $status || exit 99; "
            "exit $status",
        status);
  }
  EXPECT_EQ(place.run_json(job("train", 2, {"--steps", "1"})).at("interrupted"), false);
}

// Neither the claim on the folder, nor what has been written of the checkpoint.
TEST_F(Launchers, AFailedRunLeavesNothingBesideItsCheckpoint) {
  const std::vector<std::string> saving = job("train", 2, {"--steps", "3", "--save", "saved"});
  const auto expect_nothing_left = [this] {
    for (const std::string& file : place.files()) {
      EXPECT_EQ(file.find("foreshard-"), std::string::npos) << file;
    }
  };
  for (const Outcome& outcome :
       run_ranks(2, saving, {{"FORESHARD_FAULT", "rank:1,step:2,kind:throw"}})) {
    EXPECT_EQ(outcome.status, 1) << outcome.err;
  }
  expect_nothing_left();
  // The other rank's part of it has no place where it is told to write.
  place.write("elsewhere/file", "");
  const Variables first = torchrun(0, 2, free_port());
  const auto outcomes =
      place.run_together({saving, job("train", 2, {"--steps", "3", "--save", "elsewhere/saved"})},
                         {first, with(first, {{"RANK", "1"}, {"LOCAL_RANK", "1"}})});
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.status, 1) << outcome.err;
  expect_nothing_left();
}

// Rank 0 hangs after the last step: it has more to say than anybody reads. The other one is told to
// end when rank 0's first byte has come, or ends by itself.
TEST_F(Launchers, ARunThatIsOverMayBeEnded) {
  const auto ends_with = [this](const std::string& seconds, const std::string& signal) {
    const std::string port = std::to_string(free_port());
    return place.shell(
        "export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port +
        " LOCAL_RANK=0; rm -f pipe; mkfifo pipe; exec 3<> pipe; "
        "set -- train --model model --plan plan.toml --ranks 2 --steps 400 --hang-timeout " +
        seconds +
        "; RANK=0 \"$FORESHARD\" \"$@\" --json - > pipe 2> zero.err & zero=$!; "
        "RANK=1 LOCAL_RANK=1 \"$FORESHARD\" \"$@\" --json - 2> one.err & one=$!; "
        "head -c 1 <&3 > first; " +
        signal + " wait $one; status=$?; kill -9 $zero; exit $status");
  };
  EXPECT_EQ(ends_with("60", "kill -TERM $one;").status, 128 + SIGTERM);
  EXPECT_EQ(ends_with("0.5", "").status, 0);
}

TEST_F(Launchers, RanksThatDoNotComeAreNamed) {
  const Outcome alone =
      place.run(job("train", 3, {"--steps", "1"}),
                with(torchrun(0, 3, free_port()), {{"FORESHARD_RENDEZVOUS_TIMEOUT", "0.3"}}));
  EXPECT_EQ(alone.status, 1);
  EXPECT_NE(alone.err.find("ranks 1 and 2 have not connected"), std::string::npos) << alone.err;
}

TEST_F(Launchers, OneJobMeansOneJob) {
  std::vector<Variables> environments = {torchrun(0, 2, free_port())};
  environments.push_back(with(environments[0], {{"RANK", "1"}, {"LOCAL_RANK", "1"}}));
  environments[0]["FORESHARD_RENDEZVOUS_TIMEOUT"] = "5";
  const auto outcomes = place.run_together(
      {job("train", 2, {"--steps", "1"}), job("train", 2, {"--steps", "2"})}, environments);
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.err.find("rank 1: --steps: is 2, but 1 on rank 0"), std::string::npos)
        << outcome.err;
  }
}

// Over any transport, whatever has been said otherwise to one of the processes is named, and nothing else.
TEST_F(Launchers, WhatIsNotTheSameJobIsNamed) {
  place.write("a.txt", std::string(5000, 'a') + "b");
  place.write("b.txt", "b" + std::string(5000, 'a'));
  place.write("other.toml", place.read("plan.toml") + "[optimizer]\nlr = 0.5\n");
  for (const char* seed : {"1", "2"}) {
    place.run_json(job("train", 1,
                       {"--steps", "1", "--seed", seed, "--export-weights",
                        "w" + std::string(seed) + ".safetensors"}));
  }
  using Arguments = std::vector<std::string>;
  const std::tuple<Arguments, Arguments, std::string> cases[] = {
      {{"--data", "a.txt"}, {"--data", "b.txt"}, "--data"},
      {{"--seed", "3"}, {"--seed", "4"}, "--seed"},
      {{"--init", "w1.safetensors"}, {"--init", "w2.safetensors"}, "--init"},
      {{"--init", "w1.safetensors"}, {}, "--init"},
      {{}, {"--plan", "other.toml"}, "optimizer.lr"}};
  for (const auto& [first, second, name] : cases) {
    std::vector<Arguments> arguments(2,
                                     {"train", "--model", "model", "--ranks", "2", "--steps", "2"});
    for (std::size_t rank = 0; rank < 2; ++rank) {
      const Arguments& more = rank == 0 ? first : second;
      if (std::ranges::find(more, "--plan") == more.end()) {
        arguments[rank].insert(arguments[rank].end(), {"--plan", "plan.toml"});
      }
      arguments[rank].insert(arguments[rank].end(), more.begin(), more.end());
    }
    const int port = free_port();
    for (const Outcome& outcome :
         place.run_together(arguments, std::vector{torchrun(0, 2, port), torchrun(1, 2, port)})) {
      EXPECT_EQ(outcome.status, 2) << outcome.err;
      EXPECT_NE(outcome.err.find("rank 1: " + name + ": is "), std::string::npos) << outcome.err;
      EXPECT_EQ(outcome.err.find("error: "), outcome.err.rfind("error: ")) << outcome.err;
    }
  }
}

TEST_F(Launchers, MpirunTrainsOneJobByDefault) {
  if (!FORESHARD_HAS_MPI)
    GTEST_SKIP() << "needs a build with MPI (package libopenmpi-dev of Debian)";
  if (std::system("command -v mpirun > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "needs mpirun (package openmpi-bin of Debian)";
  const Outcome outcome = place.run_processes(2, job("train", 2, {"--steps", "2", "--json", "-"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(json::accept(outcome.out)) << outcome.out;
  const Outcome copies =
      place.run_processes(2, job("train", 2, {"--steps", "2", "--comm", "local"}));
  EXPECT_EQ(copies.status, 2) << copies.err;
}

TEST_F(Launchers, SilentCopiesAreRefused) {
  for (const Variables& several : {torchrun(1, 3, 1), srun(1, 3)}) {
    const Outcome outcome =
        place.run(job("train", 3, {"--steps", "1", "--comm", "local"}), several);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.err.find("--comm"), std::string::npos) << outcome.err;
  }
}

// srun has no variable for the ranks on a node, a batch script none for a step.
TEST_F(Launchers, OneProcessIsALocalRun) {
  const Variables batch_script = {
      {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "0"}, {"SLURM_JOB_ID", "7"}};
  for (const Variables& alone : {batch_script, srun(0, 1), torchrun(0, 1, 1)}) {
    const Outcome outcome = place.run(job("train", 2, {"--steps", "1"}), alone);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
  }
}

struct WrongVariables {
  std::string name;
  Variables variables;
  std::string blamed;

  friend std::ostream& operator<<(std::ostream& out, const WrongVariables& wrong) {
    return out << wrong.name;
  }
};

class WrongLauncher : public testing::TestWithParam<WrongVariables> {};

TEST_P(WrongLauncher, IsBadUsageThatNamesTheVariable) {
  const Workplace place;
  const auto& [name, variables, blamed] = GetParam();
  const Outcome outcome = place.run(job("train", 3, {"--steps", "1"}), variables);
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_NE(outcome.err.find(blamed + ": "), std::string::npos) << outcome.err;
}

const Variables kSecond = torchrun(1, 3, 29500);
INSTANTIATE_TEST_SUITE_P(
    Variables, WrongLauncher,
    testing::Values(
        WrongVariables{"RankTooHigh", with(kSecond, {{"RANK", "3"}}), "RANK"},
        WrongVariables{"RankNoNumber", with(kSecond, {{"RANK", "x"}}), "RANK"},
        WrongVariables{"SizeNegative", with(kSecond, {{"WORLD_SIZE", "-3"}}), "WORLD_SIZE"},
        WrongVariables{"LocalSizeNoNumber", with(kSecond, {{"LOCAL_WORLD_SIZE", "many"}}),
                       "LOCAL_WORLD_SIZE"},
        WrongVariables{"LocalSizeZero", with(kSecond, {{"LOCAL_WORLD_SIZE", "0"}}),
                       "LOCAL_WORLD_SIZE"},
        WrongVariables{"PortNoNumber", with(kSecond, {{"MASTER_PORT", "http"}}), "MASTER_PORT"},
        WrongVariables{"TimeoutNoNumber", with(kSecond, {{"FORESHARD_RENDEZVOUS_TIMEOUT", "soon"}}),
                       "FORESHARD_RENDEZVOUS_TIMEOUT"},
        WrongVariables{"NoMeetingPoint", srun(1, 3), "MASTER_ADDR"},
        WrongVariables{"OtherNumberOfRanks", torchrun(1, 4, 29500), "--ranks"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace foreshard::cli_tests
