// What checkpoints cost, against arithmetic on the model's parameters.
#include "simulator/predict/checkpoint.hpp"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "models/hardware/host_links.hpp"
#include "simulator/costs/host_copies.hpp"
#include "tests/small_llama.hpp"

namespace foreshard::simulator {
namespace {

std::int64_t elements_of(const Job& job) {
  std::int64_t sum = 0;
  for (const Parameter& parameter : job.tree.parameters) sum += parameter.numel();
  return sum;
}

Job checkpointed_job(const std::string& plan, int ranks, int nodes = 0) {
  return *make_job(tests::small_llama({64, 160, 3, 4, 2, 300}), *parse_plan(plan, "plan"), "plan",
                   ranks, nodes);
}

TEST(Checkpoint, HoldsEveryElementOnceInItsTypes) {
  const std::pair<const char*, std::int64_t> plans[] = {
      {"", 12},
      {"[precision]\nstorage = \"bf16\"\n", 10},
      {"[precision]\nstorage = \"bf16\"\noptimizer_state = \"bf16\"\n", 6},
      {"[optimizer]\nname = \"sgd\"\n", 4},
      {"operators = \"pytorch-eager\"\n[precision]\nstorage = \"bf16\"\n", 6},
      {"operators = \"pytorch-eager\"\n[optimizer]\nname = \"sgd\"\nkernel = \"loop\"\n"
       "momentum = 0.9\n",
       8},
      {"[offload]\nparameters = true\n", 12},
      {"[sharding]\nstrategy = \"hybrid_shard\"\nshard_group = 3\n", 12}};
  for (const auto& [plan, bytes_of_an_element] : plans) {
    for (const int ranks : {3, 6}) {
      const Job job = checkpointed_job(plan, ranks);
      const CheckpointCost cost = checkpoint_cost(job, nullptr);
      EXPECT_EQ(cost.sharded.bytes, bytes_of_an_element * elements_of(job)) << plan;
      EXPECT_EQ(cost.full.host_bytes, cost.sharded.bytes) << plan;
      std::int64_t sum = 0, largest = 0;
      for (int rank = 0; rank < cost.sharded.writers; ++rank) {
        sum += checkpoint_bytes(job, rank);
        largest = std::max(largest, checkpoint_bytes(job, rank));
      }
      EXPECT_EQ(cost.sharded.bytes, sum) << plan;
      EXPECT_EQ(cost.sharded.rank_bytes, largest) << plan;
      EXPECT_EQ(cost.sharded.writers, shard_group_size(job)) << plan;
      EXPECT_FALSE(cost.sharded.write_ns) << "no machine, no time";
    }
  }
}

// Of an 8B model on 64 GPUs: bytes over the slowest way.
TEST(Checkpoint, TakesAsLongAsTheNarrowestWay) {
  const LlamaConfig model = *load_llama_config("llama-3.1-8b");
  const Machine p5 = *load_machine("p5.48xlarge"), dgx = *load_machine("h100-sxm");
  const Job job = *make_job(model, Plan{}, "defaults", 64, 8, &p5);
  const CheckpointCost on_p5 = checkpoint_cost(job, &p5);
  const double bytes = static_cast<double>(on_p5.sharded.bytes);
  EXPECT_NEAR(bytes, 12 * 8.03e9, 0.01e9 * 12);
  EXPECT_EQ(on_p5.storage, "EBS");
  EXPECT_NEAR(static_cast<double>(*on_p5.sharded.write_ns), bytes / 8 / 10, 10);
  const double copy = static_cast<double>(on_p5.sharded.rank_bytes) / host_copy_bytes_per_ns(p5, 8);
  EXPECT_NEAR(static_cast<double>(*on_p5.sharded.blocking_ns), copy, 1);
  EXPECT_EQ(on_p5.sharded.staging_bytes, 8 * on_p5.sharded.rank_bytes);
  // One host alone writes the full state dictionary.
  EXPECT_NEAR(static_cast<double>(*on_p5.full.write_ns - *on_p5.full.gather_ns), bytes / 10, 10);
  EXPECT_GT(*on_p5.full.gather_ns, static_cast<std::int64_t>(bytes / 63));

  // The catalogue knows of no storage there; 2 GB/s of all hosts are the narrowest of all.
  EXPECT_FALSE(checkpoint_cost(job, &dgx).sharded.write_ns);
  const CheckpointCost shared = checkpoint_cost(job, &dgx, 2e9);
  EXPECT_EQ(shared.storage, "shared");
  EXPECT_NEAR(static_cast<double>(*shared.sharded.write_ns), bytes / 2, 10);
  EXPECT_EQ(*shared.sharded.read_ns, *shared.sharded.write_ns);
  // With more than anything else can use the copies are.
  const CheckpointCost copies = checkpoint_cost(job, &dgx, 1e15);
  EXPECT_GE(*copies.sharded.write_ns, *copies.sharded.blocking_ns);
}

TEST(Checkpoint, FasterStorageIsNeverSlower) {
  const Machine machine = *load_machine("a100-sxm-80");
  const Job job = *make_job(*load_llama_config("llama-2-7b"), Plan{}, "defaults", 16, 2, &machine);
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  for (double gb_s = 0.5; gb_s < 1e4; gb_s *= 2) {
    const CheckpointCost cost = checkpoint_cost(job, &machine, gb_s * 1e9);
    EXPECT_LE(*cost.sharded.write_ns, before);
    EXPECT_GE(*cost.sharded.write_ns, *cost.sharded.blocking_ns);
    EXPECT_GE(*cost.full.write_ns, *cost.sharded.write_ns);
    before = *cost.sharded.write_ns;
  }
}

// What the host keeps in any case is not copied to it.
TEST(Checkpoint, OffloadedStatesNeedNoCopies) {
  const Machine machine = *load_machine("p5.48xlarge");
  Plan plan;
  plan.offload.parameters = true;
  const Job job = *make_job(*load_llama_config("llama-2-7b"), plan, "plan", 8, 1, &machine);
  const CheckpointCost cost = checkpoint_cost(job, &machine);
  EXPECT_EQ(*cost.sharded.blocking_ns, 0);
  EXPECT_GT(*cost.sharded.write_ns, 0);
}

}  // namespace
}  // namespace foreshard::simulator
