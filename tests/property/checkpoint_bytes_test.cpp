// The bytes that a prediction says a checkpoint has, against the files that a run writes.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "simulator/predict/checkpoint.hpp"
#include "tests/property/run_and_prediction.hpp"
#include "tests/small_llama.hpp"

namespace foreshard::tests {
namespace {

namespace fs = std::filesystem;

// Of a safetensors file: what follows its header, whose length its first eight bytes are.
std::int64_t tensor_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::uint64_t header = 0;
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  return static_cast<std::int64_t>(fs::file_size(path) - sizeof header - header);
}

TEST(CheckpointBytes, AreThoseOfTheFilesThatARunWrites) {
  const char* const plans[] = {
      "",
      "[precision]\nstorage = \"bf16\"\nparam = \"bf16\"\noptimizer_state = \"fp32\"\n",
      "[optimizer]\nname = \"sgd\"\n",
      "[offload]\nparameters = true\n",
      "[offload]\noptimizer = true\n",
      "[wrap]\npolicy = \"none\"\n[sharding]\nshard_dim = 1\n",
      "[sharding]\nstrategy = \"hybrid_shard\"\nshard_group = 2\n"};
  const std::string folder = testing::TempDir() + "checkpoint_bytes";
  for (const char* const text : plans) {
    Plan plan = *parse_plan(text, "plan");
    plan.batch.micro_batch = 1;
    plan.batch.sequence = 16;
    for (const int ranks : {1, 3, 4}) {
      if (plan.sharding.shard_group > 0 && ranks % plan.sharding.shard_group != 0) continue;
      const Job job = *make_job(small_llama({32, 80, 2, 4, 2, 256}), plan, "plan", ranks);
      fs::remove_all(folder);
      run(job, {.checkpoint = folder, .steps = 1});
      const simulator::CheckpointCost cost = simulator::checkpoint_cost(job, nullptr);
      std::int64_t all = 0, largest = 0;
      int files = 0;
      for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() != ".safetensors") continue;
        const std::int64_t bytes = tensor_bytes(entry.path());
        all += bytes;
        largest = std::max(largest, bytes);
        ++files;
      }
      EXPECT_EQ(files, cost.sharded.writers) << text;
      EXPECT_EQ(all, cost.sharded.bytes) << text << " on " << ranks;
      EXPECT_EQ(largest, cost.sharded.rank_bytes) << text << " on " << ranks;
    }
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace foreshard::tests
