// What a run on GPUs was computed with: in its output, its answer, its recording, and in what `inspect` says
// of that. On the emulated device, whose libraries have the versions of the headers that they are
// compiled with.
#include <fstream>
#include <map>

#include <cublas_api.h>
#include <cuda_runtime_api.h>
#include <cupti_version.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using nlohmann::json;

class GpuLibrariesTest : public testing::Test {
 protected:
  // The answer's gpu_libraries.
  json train(std::vector<std::string> more, std::map<std::string, std::string> variables = {}) {
    variables.insert(
        {{"FORESHARD_MODULES", FORESHARD_HOST_CUDA_MODULES}, {"FORESHARD_HOST_CUDA_DEVICES", "2"}});
    more.insert(more.end(), {"--steps", "1", "--json", "run.json"});
    const Outcome outcome = place_.run(job("train", 2, more), variables);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    announced_ = outcome.err;
    return json::parse(std::ifstream(place_.path("run.json"))).at("gpu_libraries");
  }

  const Workplace place_;
  std::string announced_;
};

template <typename... Parts>
std::string dotted(Parts... parts) {
  std::string text;
  for (const int part : {parts...}) text += (text.empty() ? "" : ".") + std::to_string(part);
  return text;
}

TEST_F(GpuLibrariesTest, RunsAndTheirRecordingsNameThem) {
  const json libraries = train({"--device", "cuda", "--comm", "nccl", "--trace", "run.fst"},
                               {{"FORESHARD_CUDNN", "0"}});
  const std::string cuda = dotted(CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10),
                    cublaslt = dotted(CUBLAS_VER_MAJOR, CUBLAS_VER_MINOR, CUBLAS_VER_PATCH),
                    nccl = dotted(NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH),
                    cupti = dotted(CUPTI_API_VERSION / 10000, CUPTI_API_VERSION / 100 % 100,
                                   CUPTI_API_VERSION % 100);
  const json expected = {{"driver", "580.65.06"},
                         {"driver_cuda", cuda},
                         {"cuda_runtime", cuda},
                         {"cublaslt", cublaslt},
                         {"nccl", nccl},
                         {"cupti", cupti},
                         {"attention", "plain (FORESHARD_CUDNN is 0)"}};
  EXPECT_EQ(libraries, expected);
  const std::string sentence =
      "CUDA " + cuda + ", driver 580.65.06 (CUDA " + cuda + "), cuBLASLt " + cublaslt +
      ", attention: plain (FORESHARD_CUDNN is 0), NCCL " + nccl + ", CUPTI " + cupti;
  EXPECT_NE(announced_.find(sentence + "\n"), std::string::npos) << announced_;
  EXPECT_EQ(place_.run_json({"inspect", "run.fst"}).at("gpu_libraries"), expected);
  EXPECT_NE(place_.run({"inspect", "run.fst"}).out.find("Computed with CUDA " + cuda + ", driver"),
            std::string::npos);
}

TEST_F(GpuLibrariesTest, WhatIsNotThereIsNamedWithTheReason) {
  const json libraries = train({"--device", "cuda"}, {{"FORESHARD_HOST_NVML", "none"}});
  EXPECT_EQ(libraries.at("driver"), "unknown (nvmlInit_v2 fails: 12)");
  EXPECT_EQ(libraries.at("attention"),
            "plain (" FORESHARD_HOST_CUDA_MODULES "/libforeshard_cudnn.so is not there)");
  EXPECT_EQ(libraries.at("nccl"), nullptr) << "it was not used";
  EXPECT_EQ(libraries.at("cupti"), nullptr);
}

TEST_F(GpuLibrariesTest, TheCpuHasNone) {
  EXPECT_EQ(train({"--trace", "run.fst"}), nullptr);
  EXPECT_EQ(place_.run_json({"inspect", "run.fst"}).at("gpu_libraries"), nullptr);
}

}  // namespace
}  // namespace foreshard::cli_tests
