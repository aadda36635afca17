// `foreshard train --device cuda` in processes that torchrun has started, over the host's CUDA and
// NCCL: what comes of whole runs, and of those in which a rank ends, hangs or is out of memory.
#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"
#include "tests/cli/torchrun.hpp"
#include "traces/fst/fst_file.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;

class NcclRuns : public testing::Test {
 protected:
  // In processes that have a GPU each, or, with `processes` 1, in threads. Process 1 has variables
  // of its own too.
  std::vector<Outcome> train(int ranks, int processes, std::vector<std::string> more,
                             const Variables& variables = {},
                             const Variables& of_process_1 = {}) const {
    std::vector<Variables> environments;
    const int port = free_port();
    for (int process = 0; process < processes; ++process) {
      Variables& mine = environments.emplace_back(variables);
      if (processes > 1) mine.merge(torchrun(process, processes, port));
      if (process == 1) {
        for (const auto& [name, value] : of_process_1) mine[name] = value;
      }
      mine["FORESHARD_MODULES"] = FORESHARD_HOST_CUDA_MODULES;
      mine.emplace("FORESHARD_HOST_CUDA_DEVICES", std::to_string(ranks));
    }
    more.insert(more.begin(), {"--device", "cuda"});
    return place.run_together(job("train", ranks, more), environments);
  }

  json report(const std::string& name) const {
    std::ifstream file(place.path(name));
    return json::parse(file, nullptr, false);
  }

  const Workplace place;
};

TEST_F(NcclRuns, ProcessesAgreeWithThreads) {
  const auto threads = train(2, 1, {"--steps", "3", "--json", "local.json"});
  ASSERT_EQ(threads[0].status, 0) << threads[0].err;
  const auto over_nccl = train(2, 1, {"--steps", "3", "--json", "threads.json", "--comm", "nccl"});
  ASSERT_EQ(over_nccl[0].status, 0) << over_nccl[0].err;
  for (const Outcome& process : train(2, 2, {"--steps", "3", "--json", "processes.json"})) {
    ASSERT_EQ(process.status, 0) << process.err;
  }
  const json local = report("local.json");
  for (const char* name : {"threads.json", "processes.json"}) {
    const json nccl = report(name);
    for (const char* field : {"ranks_memory", "steps_memory"}) {
      EXPECT_EQ(local.at(field), nccl.at(field)) << field << " in " << name;
    }
    for (std::size_t step = 0; step < 3; ++step) {
      for (const char* field : {"loss", "grad_norm"}) {
        EXPECT_NEAR(nccl.at("steps").at(step).at(field), local.at("steps").at(step).at(field), 2e-4)
            << field << " in " << name;
      }
    }
  }
}

// NCCL's kernels have the id of the instruction only where the rank's own thread launches them.
TEST_F(NcclRuns, RecordingsHaveTheWorkOfEveryCollective) {
  const auto recorded = train(2, 1, {"--steps", "2", "--comm", "nccl", "--trace", "run.fst"});
  ASSERT_EQ(recorded[0].status, 0) << recorded[0].err;
  const auto trace = traces::read_fst(place.path("run.fst").string()).value();
  using Id = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // rank, step, instruction
  std::set<Id> issued, done;
  for (const traces::Event& e : trace.events) {
    const traces::Lane& lane = trace.lanes[static_cast<std::size_t>(e.lane)];
    const Id id{lane.rank, e.step, e.instruction};
    if (lane.device && trace.strings[e.name].starts_with("ncclDevKernel")) done.insert(id);
    for (const char* one : {"all_gather ", "reduce_scatter ", "all_reduce ", "barrier "}) {
      if (!lane.device && trace.strings[e.cost_key].starts_with(one)) issued.insert(id);
    }
  }
  EXPECT_GT(issued.size(), 10U);
  EXPECT_EQ(done, issued);
  EXPECT_TRUE(trace.dropped.empty());
}

TEST_F(NcclRuns, CollectivesAreFittedToRecordings) {
  const auto recorded = train(2, 1, {"--steps", "4", "--comm", "nccl", "--trace", "run.fst"});
  ASSERT_EQ(recorded[0].status, 0) << recorded[0].err;
  const Outcome fitted = place.run({"fit", "run.fst", "-o", "costs.json"});
  ASSERT_EQ(fitted.status, 0) << fitted.err;
  std::map<std::string, int> seen;
  const json costs = report("costs.json");
  for (const json& fit : costs.at("regimes").at(0).at("collectives")) {
    if (fit.at("group") == 2) ++seen[fit.at("operator")];
  }
  EXPECT_GT(seen["all_gather"], 0);
  EXPECT_GT(seen["reduce_scatter"], 0);
}

// Long before the watchdog's patience is over.
TEST_F(NcclRuns, ARankThatEndsIsNamedByAll) {
  const auto outcomes = train(3, 3, {"--steps", "1000", "--hang-timeout", "1000"},
                              {{"FORESHARD_FAULT", "rank:1,step:2,kind:exit"}});
  for (const int rank : {0, 2}) {
    const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find("rank 1"), std::string::npos) << outcome.err;
  }
}

TEST_F(NcclRuns, ARankThatHangsIsNamedByAll) {
  for (const Outcome& outcome : train(3, 3, {"--steps", "1000", "--hang-timeout", "2"},
                                      {{"FORESHARD_FAULT", "rank:1,step:2,kind:hang"}})) {
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find("rank 1: no progress for"), std::string::npos) << outcome.err;
  }
}

// The others are in a graph by then, which nothing but an abort of NCCL ends.
TEST_F(NcclRuns, ARankThatEndsOrHangsIsNamedByThoseInAGraph) {
  const std::pair<const char*, const char*> faults[] = {{"exit", "rank 1"},
                                                        {"hang", "rank 1: no progress for"}};
  for (const auto& [kind, text] : faults) {
    const auto outcomes =
        train(3, 3, {"--steps", "1000", "--hang-timeout", "2", "--cuda-graphs", "on"},
              {{"FORESHARD_FAULT", std::string("rank:1,step:6,kind:") + kind}});
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
      if (rank == 1 && kind == std::string("exit")) continue;
      EXPECT_EQ(outcomes[rank].status, 1);
      EXPECT_NE(outcomes[rank].err.find(text), std::string::npos) << outcomes[rank].err;
    }
  }
}

TEST_F(NcclRuns, ProcessesLaunchGraphs) {
  for (const char* choice : {"off", "on"}) {
    for (const Outcome& process :
         train(2, 2, {"--steps", "5", "--cuda-graphs", choice, "--json", choice})) {
      ASSERT_EQ(process.status, 0) << process.err;
    }
  }
  json off = report("off"), on = report("on");
  EXPECT_EQ(on.at("cuda_graphs"), json({{"steps_launched", 3}, {"reason", nullptr}}));
  EXPECT_EQ(off.at("cuda_graphs"), nullptr);
  for (std::size_t step = 0; step < 5; ++step) {
    for (const char* field : {"loss", "grad_norm"}) {
      EXPECT_EQ(on["steps"][step][field], off["steps"][step][field]);
    }
  }
  EXPECT_EQ(on["steps_memory"], off["steps_memory"]);
}

TEST_F(NcclRuns, ErrorsOfNcclEndAllProcesses) {
  for (const Outcome& outcome :
       train(2, 2, {"--steps", "3"}, {{"FORESHARD_HOST_NCCL_ERROR", "1"}})) {
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find("rank 1"), std::string::npos) << outcome.err;
  }
}

// Ranks have shards of different sizes: with little less memory than the largest of them takes,
// some run out of it and the others, which have gone on, learn of it.
#ifdef FORESHARD_NCCL_FOLDER
// NVIDIA's own library, which a machine without a driver has no use for.
TEST_F(NcclRuns, WhatNvidiasNcclRefusesIsSaid) {
  if (dlopen("libcuda.so.1", RTLD_LAZY) != nullptr) GTEST_SKIP() << "there is a driver";
  for (const Outcome& process : train(2, 2, {"--steps", "3", "--comm", "nccl"},
                                      {{"LD_LIBRARY_PATH", FORESHARD_NCCL_FOLDER}})) {
    EXPECT_EQ(process.status, 1);
    EXPECT_NE(process.err.find("ncclCommInitRankConfig: "), std::string::npos) << process.err;
  }
}
#endif

TEST_F(NcclRuns, ProcessesAgreeOnWhereMemoryRanOut) {
  const auto enough = train(3, 3, {"--steps", "2", "--json", "enough.json"});
  ASSERT_EQ(enough[0].status, 0) << enough[0].err;
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  const json needed = report("enough.json").at("ranks_memory");
  for (const json& rank : needed) {
    lowest = std::min(lowest, rank.at("peak_reserved_bytes").get<std::int64_t>());
  }
  const std::vector<std::string> more = {
      "--steps", "2", "--device-memory", std::to_string(lowest - (4 << 20)), "--json", "out.json"};
  const auto threads = train(3, 1, more);
  EXPECT_EQ(threads[0].status, 3) << threads[0].err;
  const json expected = report("out.json").at("oom");
  for (const Outcome& process : train(3, 3, more)) EXPECT_EQ(process.status, 3) << process.err;
  EXPECT_TRUE(expected.is_object());
  EXPECT_EQ(report("out.json").at("oom"), expected);
}

// The others have gone on, into collectives that the rank whose GPU is too small never comes to.
TEST_F(NcclRuns, OneRankThatIsOutOfMemoryEndsAll) {
  for (const Outcome& process : train(3, 3, {"--steps", "3", "--json", "out.json"}, {},
                                      {{"FORESHARD_HOST_CUDA_BYTES", "39500000"}})) {
    EXPECT_EQ(process.status, 3) << process.err;
  }
  const json result = report("out.json");
  ASSERT_TRUE(result.is_object());
  EXPECT_EQ(result.at("oom").at("rank"), 1);
  EXPECT_EQ(result.at("oom").at("step"), 1);
}

TEST_F(NcclRuns, ProcessesThatShareAGpuAreRefused) {
  for (const Outcome& outcome :
       train(2, 2, {"--steps", "1"}, {{"FORESHARD_HOST_CUDA_DEVICES", "1"}})) {
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.err.find("ranks 0 and 1 share the GPU"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("NCCL_HOSTID"), std::string::npos) << outcome.err;
  }
}

// NCCL then takes them for two hosts.
TEST_F(NcclRuns, ProcessesWithHostIdsOfTheirOwnShareAGpu) {
  const Variables one_gpu = {{"FORESHARD_HOST_CUDA_DEVICES", "1"}, {"NCCL_HOSTID", "a"}};
  for (const Outcome& process :
       train(2, 2, {"--steps", "2", "--json", "shared.json"}, one_gpu, {{"NCCL_HOSTID", "b"}})) {
    ASSERT_EQ(process.status, 0) << process.err;
  }
  ASSERT_EQ(train(2, 1, {"--steps", "2", "--json", "local.json"})[0].status, 0);
  const json shared = report("shared.json"), local = report("local.json");
  for (std::size_t step = 0; step < 2; ++step) {
    EXPECT_NEAR(shared.at("steps").at(step).at("loss"), local.at("steps").at(step).at("loss"),
                2e-4);
  }
}

}  // namespace
}  // namespace foreshard::cli_tests
