// Ranks from the variables of launchers.
#include "executor/launch.hpp"

#include <map>

#include <gtest/gtest.h>

namespace foreshard::executor {
namespace {

auto rank_in(const std::map<std::string, std::string>& variables) {
  return launched_rank([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(Launch, NobodyLaunchedUs) {
  const auto rank = rank_in({{"HOME", "/"}, {"SLURM_PROCID", "0"}});
  ASSERT_TRUE(rank);
  EXPECT_FALSE(*rank);
}

TEST(Launch, Mpirun) {
  const auto rank = rank_in({{"OMPI_COMM_WORLD_RANK", "3"},
                             {"OMPI_COMM_WORLD_SIZE", "4"},
                             {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                             {"SLURM_PROCID", "0"},
                             {"SLURM_NTASKS", "1"},
                             {"SLURM_LOCALID", "0"}});
  ASSERT_TRUE(rank && *rank);
  EXPECT_EQ((*rank)->rank, 3);
  EXPECT_EQ((*rank)->size, 4);
  EXPECT_EQ((*rank)->local_rank, 1);
  EXPECT_EQ((*rank)->local_size, 2);
  EXPECT_EQ((*rank)->launcher, "mpirun");
}

TEST(Launch, TorchrunAndSrun) {
  const auto torchrun =
      rank_in({{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "4"}});
  ASSERT_TRUE(torchrun && *torchrun);
  EXPECT_EQ((*torchrun)->launcher, "torchrun");
  EXPECT_EQ((*torchrun)->local_size, 4);
  const auto srun = rank_in({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "1"}});
  ASSERT_TRUE(srun && *srun);
  EXPECT_EQ((*srun)->launcher, "srun");
  EXPECT_EQ((*srun)->local_size, 0);
}

TEST(Launch, ContradictionsAreNamed) {
  const auto beyond = rank_in({{"RANK", "8"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}});
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().field, "RANK");
  const auto text = rank_in({{"RANK", "1"}, {"WORLD_SIZE", "two"}, {"LOCAL_RANK", "1"}});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().field, "WORLD_SIZE");
}

}  // namespace
}  // namespace foreshard::executor
