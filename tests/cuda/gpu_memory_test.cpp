// Memory outside the allocator, as `foreshard train` and `inspect` report it, over a runtime in
// which contexts, libraries, kernels and communicators take what the test says.
#include <fstream>

#include <gtest/gtest.h>

#include "tests/cli/program_runner.hpp"
#include "tests/cli/torchrun.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;

constexpr std::int64_t kContext = 600'000'000, kCublas = 70'000'000, kNccl = 400'000'000,
                       kKernels = 30'000'000, kOthers = 5'000'000'000;
// What is not planted: a rank's streams have room for partial sums, the rank has scalars of its
// optimizer, and its communicator over NCCL one float for barriers.
constexpr std::int64_t kBuffers = 7 * 32768 + 48, kForBarriers = 4;

class GpuMemoryTest : public testing::Test {
 protected:
  Variables planted(const char* nvml) const {
    return {{"FORESHARD_MODULES", FORESHARD_HOST_CUDA_MODULES},
            {"FORESHARD_HOST_CUDA_DEVICES", "2"},
            {"FORESHARD_HOST_CUDA_OTHERS", std::to_string(kOthers)},
            {"FORESHARD_HOST_CUDA_CONTEXT", std::to_string(kContext)},
            {"FORESHARD_HOST_CUDA_KERNELS", std::to_string(kKernels)},
            {"FORESHARD_HOST_CUBLAS_BYTES", std::to_string(kCublas)},
            {"FORESHARD_HOST_NCCL_BYTES", std::to_string(kNccl)},
            {"FORESHARD_HOST_NVML", nvml}};
  }

  json report(const std::string& name) const {
    return json::parse(std::ifstream(place.path(name)), nullptr, false);
  }

  json train(const char* nvml, std::vector<std::string> more) const {
    more.insert(more.end(), {"--device", "cuda", "--steps", "2", "--json", "run.json"});
    const Outcome outcome = place.run(job("train", 2, more), planted(nvml));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    last_words_ = outcome.out;
    return report("run.json");
  }

  void check_parts(const json& gpu, const json& context, std::int64_t ranks,
                   std::int64_t nccl) const {
    EXPECT_EQ(gpu.at("context_bytes"), context);
    EXPECT_EQ(gpu.at("libraries_bytes"), ranks * (kCublas + kBuffers));
    EXPECT_EQ(gpu.at("nccl_bytes"), nccl);
    EXPECT_EQ(gpu.at("first_step_bytes"), kKernels);
    EXPECT_EQ(gpu.at("later_bytes"), 0);
    std::int64_t sum = 0;
    for (const char* part :
         {"context_bytes", "libraries_bytes", "nccl_bytes", "first_step_bytes", "later_bytes"}) {
      if (!gpu.at(part).is_null()) sum += gpu.at(part).get<std::int64_t>();
    }
    EXPECT_EQ(gpu.at("outside_allocator_bytes"), sum);
    EXPECT_EQ(gpu.at("total_bytes"), std::int64_t{64} << 30);
    EXPECT_EQ(gpu.at("name"), "Foreshard's host device");
  }

  const Workplace place;
  mutable std::string last_words_;
};

TEST_F(GpuMemoryTest, IsWhatTheDriverAccountsToTheProcess) {
  const json run = train("process", {"--comm", "nccl"});
  const json& gpus = run.at("gpus_memory");
  ASSERT_EQ(gpus.size(), 2);
  for (std::size_t gpu = 0; gpu < 2; ++gpu) {
    const json& one = gpus.at(gpu);
    EXPECT_EQ(one.at("gpu"), gpu);
    EXPECT_EQ(one.at("ranks"), json::array({gpu}));
    EXPECT_EQ(one.at("source"), "nvml_process");
    check_parts(one, kContext, 1, kNccl + kForBarriers);
    EXPECT_EQ(one.at("reserved_bytes"), run.at("ranks_memory").at(gpu).at("peak_reserved_bytes"));
  }
}

TEST_F(GpuMemoryTest, CountsWhatTheGpuHasWhereProcessesAreNotTold) {
  const json gpus = train("device", {"--comm", "nccl"}).at("gpus_memory");
  ASSERT_EQ(gpus.size(), 2);
  for (const json& gpu : gpus) {
    EXPECT_EQ(gpu.at("source"), "nvml_device");
    check_parts(gpu, kContext, 1, kNccl + kForBarriers);
  }
}

TEST_F(GpuMemoryTest, LeavesTheContextOutWithoutNvml) {
  const json gpus = train("none", {"--comm", "nccl"}).at("gpus_memory");
  ASSERT_EQ(gpus.size(), 2);
  for (const json& gpu : gpus) {
    EXPECT_EQ(gpu.at("source"), "cuda_mem_get_info");
    check_parts(gpu, nullptr, 1, kNccl + kForBarriers);
  }
}

TEST_F(GpuMemoryTest, RanksThatShareAGpuAreMeasuredTogether) {
  auto variables = planted("process");
  variables["FORESHARD_HOST_CUDA_DEVICES"] = "1";
  const Outcome outcome = place.run(
      job("train", 2, {"--device", "cuda", "--steps", "2", "--json", "run.json"}), variables);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json run = report("run.json");
  ASSERT_EQ(run.at("gpus_memory").size(), 1);
  const json& gpu = run.at("gpus_memory").at(0);
  EXPECT_EQ(gpu.at("ranks"), json::array({0, 1}));
  check_parts(gpu, kContext, 2, 0);
  std::int64_t reserved = 0;
  for (const json& rank : run.at("ranks_memory")) {
    reserved += rank.at("peak_reserved_bytes").get<std::int64_t>();
  }
  EXPECT_EQ(gpu.at("reserved_bytes"), reserved);
}

// Each with a GPU of its own, on which nobody else makes a context.
TEST_F(GpuMemoryTest, ProcessesReportTheirsTogether) {
  std::vector<Variables> environments;
  const int port = free_port();
  for (int process : {0, 1}) {
    environments.push_back(planted("process"));
    environments.back().merge(torchrun(process, 2, port));
  }
  const std::vector<std::string> more = {"--device", "cuda",    "--steps", "2",
                                         "--trace",  "run.fst", "--json",  "run.json"};
  for (const Outcome& process : place.run_together(job("train", 2, more), environments)) {
    ASSERT_EQ(process.status, 0) << process.err;
  }
  const json gpus = report("run.json").at("gpus_memory");
  ASSERT_EQ(gpus.size(), 2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const json& one = gpus.at(rank);
    EXPECT_EQ(one.at("ranks"), json::array({rank}));
    check_parts(one, kContext, 1, kNccl + kForBarriers);
  }
  EXPECT_EQ(place.run_json({"inspect", "run.fst"}).at("gpus_memory"), gpus);
}

TEST_F(GpuMemoryTest, RunsRecordingsAndComparisonsSaySo) {
  const json gpus = train("process", {"--trace", "run.fst"}).at("gpus_memory");
  EXPECT_NE(last_words_.find("GPU 0 (Foreshard's host device): "), std::string::npos)
      << last_words_;
  EXPECT_NE(last_words_.find("context 572.20 MiB, libraries 66."), std::string::npos)
      << last_words_;
  EXPECT_EQ(place.run_json({"inspect", "run.fst"}).at("gpus_memory"), gpus);
  EXPECT_NE(place.run({"inspect", "run.fst"}).out.find("outside the allocator"), std::string::npos);

  const Outcome prediction = place.run(
      job("predict", 2, {"--machine", "h100-sxm", "--steps", "2", "--trace", "predicted.fst"}));
  ASSERT_EQ(prediction.status, 0) << prediction.err;
  const json outside =
      place.run_json({"compare", "run.fst", "predicted.fst"}).at("outside_allocator");
  EXPECT_EQ(outside.at("measured_bytes"), gpus.at(0).at("outside_allocator_bytes"));
  EXPECT_GT(outside.at("predicted_bytes"), 500'000'000);
  EXPECT_LT(outside.at("predicted_low_bytes"), outside.at("predicted_bytes"));
  EXPECT_GT(outside.at("predicted_high_bytes"), outside.at("predicted_bytes"));
  EXPECT_NE(place.run({"compare", "run.fst", "predicted.fst"}).out.find("Outside the allocator"),
            std::string::npos);
  const json backwards =
      place.run_json({"compare", "predicted.fst", "run.fst"}).at("outside_allocator");
  EXPECT_TRUE(backwards.at("measured_bytes").is_null());
  EXPECT_TRUE(backwards.at("predicted_bytes").is_null());
}

TEST_F(GpuMemoryTest, TheCpuHasNone) {
  EXPECT_EQ(place.run_json(job("train", 1, {"--steps", "1"})).at("gpus_memory"), json::array());
}

}  // namespace
}  // namespace foreshard::cli_tests
