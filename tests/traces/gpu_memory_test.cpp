// What a run measured of its GPUs, as a recording's metadata carries it.
#include <gtest/gtest.h>

#include "traces/metadata.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {
namespace {

GpuMemory measured(int rank, int gpu) {
  GpuMemory memory;
  memory.gpu = gpu;
  memory.name = "GPU \"A\"";
  memory.ranks = {rank};
  memory.source = GpuMemorySource::device;
  memory.total = 1000;
  memory.reserved = 300;
  memory.context = 100;
  memory.libraries = 20;
  memory.communicators = 30;
  memory.first_step = 4;
  memory.later = -1;
  return memory;
}

TEST(GpuMemoryMetadata, ComesBackAsItWas) {
  GpuMemory memory = measured(2, 1);
  for (const std::optional<std::int64_t> context : {std::optional<std::int64_t>(100), {}}) {
    memory.context = context;
    memory.source = context ? GpuMemorySource::process : GpuMemorySource::context;
    const auto read = gpu_memory_from_json(to_json(memory));
    ASSERT_TRUE(read);
    EXPECT_EQ(to_json(*read), to_json(memory));
    EXPECT_EQ(read->outside(), 53 + context.value_or(0));
  }
}

TEST(GpuMemoryMetadata, WhatIsNoSuchObjectIsLeftOut) {
  const std::string good = to_json(measured(0, 0));
  std::string huge = good, unknown = good;
  huge.replace(huge.find("\"total_bytes\":1000"), 18, "\"total_bytes\":9223372036854775807");
  unknown.replace(unknown.find("nvml_device"), 11, "elsewhere");
  for (const std::string& bad : {std::string("[]"), std::string("{"), std::string("{}"), huge,
                                 unknown, good.substr(0, good.size() / 2)}) {
    EXPECT_FALSE(gpu_memory_from_json(bad)) << bad;
  }
}

TEST(GpuMemoryMetadata, PartsOfARunKeepTheirs) {
  std::vector<Trace> parts;
  for (const int rank : {0, 2, 10}) {
    parts.emplace_back().metadata[kGpuMemoryKey + std::to_string(rank)] =
        to_json(measured(rank, 0));
  }
  std::vector<int> ranks;
  for (const GpuMemory& gpu : gpus_memory(merge(std::move(parts)).metadata)) {
    ranks.push_back(gpu.ranks.front());
  }
  EXPECT_EQ(ranks, (std::vector{0, 2, 10}));
}

}  // namespace
}  // namespace foreshard::traces
