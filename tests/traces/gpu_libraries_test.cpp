// Libraries of a recorded run, as its metadata has them.
#include "models/program/gpu_libraries.hpp"

#include <gtest/gtest.h>

#include "traces/metadata.hpp"

namespace foreshard::traces {
namespace {

TEST(GpuLibraries, AreReadAsTheyAreWritten) {
  GpuLibraries libraries{"580.95.05", "13.1", "13.0", "13.1.0", "cuDNN 9.19.0", "2.28.9", {}};
  const auto read = gpu_libraries({{kGpuLibrariesKey, to_json(libraries)}});
  ASSERT_TRUE(read);
  EXPECT_EQ(sentence(*read),
            "CUDA 13.0, driver 580.95.05 (CUDA 13.1), cuBLASLt 13.1.0, attention: cuDNN 9.19.0, "
            "NCCL 2.28.9");
  EXPECT_FALSE(read->cupti);
}

TEST(GpuLibraries, WhatIsNotTheirsIsIgnored) {
  EXPECT_FALSE(gpu_libraries({}));
  for (const char* bad : {"", "[]", "{}", "null", R"({"driver": 1})",
                          R"({"driver": "1", "driver_cuda": "1", "cuda_runtime": "1"})"}) {
    EXPECT_FALSE(gpu_libraries({{kGpuLibrariesKey, bad}})) << bad;
  }
}

}  // namespace
}  // namespace foreshard::traces
