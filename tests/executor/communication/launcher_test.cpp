// Ranks from the variables of launchers, what they talk by, and where they meet.
#include "executor/communication/launcher.hpp"

#include <map>

#include <gtest/gtest.h>

#include "executor/communication/meeting_point.hpp"

namespace foreshard::executor {
namespace {

using Variables = std::map<std::string, std::string>;

Environment environment(const Variables& variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

auto rank_in(const Variables& variables) {
  return launched_rank(environment(variables));
}

const Variables kMpirun = {{"OMPI_COMM_WORLD_RANK", "3"},
                           {"OMPI_COMM_WORLD_SIZE", "4"},
                           {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                           {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "node1"},
                             {"MASTER_PORT", "29500"}};
const Variables kSrun = {{"SLURM_PROCID", "6"},       {"SLURM_NTASKS", "8"},
                         {"SLURM_LOCALID", "2"},      {"SLURM_STEP_ID", "0"},
                         {"SLURM_JOB_ID", "1000007"}, {"SLURM_STEP_NODELIST", "gpu[003-010,12],x"}};

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

// The variable an error blames.
std::string blamed(const Variables& variables) {
  const auto rank = rank_in(variables);
  return rank ? "none" : rank.error().field;
}

TEST(Launch, NobodyLaunchedUs) {
  for (const Variables& variables :
       {Variables{{"HOME", "/"}}, Variables{{"RANK", "1"}}, without(kSrun, "SLURM_STEP_ID")}) {
    const auto rank = rank_in(variables);
    ASSERT_TRUE(rank);
    EXPECT_FALSE(*rank);
  }
}

TEST(Launch, Mpirun) {
  const auto rank = rank_in(with(kMpirun, kSrun));
  ASSERT_TRUE(rank && *rank);
  EXPECT_EQ((*rank)->rank, 3);
  EXPECT_EQ((*rank)->size, 4);
  EXPECT_EQ((*rank)->local_rank, 1);
  EXPECT_EQ((*rank)->local_size, 2);
  EXPECT_EQ((*rank)->launcher, "mpirun");
}

TEST(Launch, TorchrunAndSrun) {
  const auto torchrun = rank_in(kTorchrun);
  ASSERT_TRUE(torchrun && *torchrun);
  EXPECT_EQ((*torchrun)->launcher, "torchrun");
  EXPECT_EQ((*torchrun)->local_size, 4);
  const auto srun = rank_in(kSrun);
  ASSERT_TRUE(srun && *srun);
  EXPECT_EQ((*srun)->launcher, "srun");
  EXPECT_EQ((*srun)->rank, 6);
  EXPECT_EQ((*srun)->local_size, std::nullopt);
}

TEST(Launch, TheInnermostLauncherCounts) {
  const Variables both = with(kMpirun, kTorchrun);
  EXPECT_EQ((*rank_in(both))->launcher, "mpirun");
  EXPECT_EQ((*rank_in(with(both, {{"TORCHELASTIC_RUN_ID", "none"}})))->launcher, "torchrun");
  EXPECT_EQ((*rank_in(with(kTorchrun, kSrun)))->launcher, "torchrun");
  // A step of one task in a job of eight.
  EXPECT_EQ((*rank_in(with(kSrun, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}})))->size,
            1);
}

// Its processes cannot talk by OpenMPI, but must not each train the whole job either.
TEST(Launch, MpirunOfMpich) {
  const Variables mpich = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}};
  EXPECT_EQ((*rank_in(mpich))->launcher, "mpirun");
  EXPECT_EQ((*rank_in(mpich))->size, 2);
  EXPECT_EQ((*rank_in(with(mpich, kSrun)))->launcher, "srun");
}

// A shell that once trained by hand has RANK and MASTER_ADDR left over.
TEST(Launch, OneProcessMayHaveHalfALauncher) {
  for (const auto& [variables, size] :
       {std::pair(kTorchrun, "WORLD_SIZE"), std::pair(kSrun, "SLURM_NTASKS")}) {
    const auto rank = launched_rank(environment(without(variables, size)), "local");
    ASSERT_TRUE(rank) << rank.error().text();
    EXPECT_FALSE(*rank);
    EXPECT_TRUE(*launched_rank(environment(variables), "local"));
  }
}

TEST(Launch, ContradictionsAreNamed) {
  EXPECT_EQ(blamed(with(kTorchrun, {{"RANK", "8"}})), "RANK");
  EXPECT_EQ(blamed(with(kTorchrun, {{"RANK", "x"}})), "RANK");
  EXPECT_EQ(blamed(with(kTorchrun, {{"RANK", ""}})), "RANK");
  EXPECT_EQ(blamed(with(kTorchrun, {{"RANK", "1 "}})), "RANK");
  EXPECT_EQ(blamed(with(kTorchrun, {{"WORLD_SIZE", "two"}})), "WORLD_SIZE");
  EXPECT_EQ(blamed(with(kTorchrun, {{"WORLD_SIZE", "-8"}})), "WORLD_SIZE");
  EXPECT_EQ(blamed(with(kTorchrun, {{"WORLD_SIZE", "99999999999"}})), "WORLD_SIZE");
  EXPECT_EQ(blamed(without(kTorchrun, "WORLD_SIZE")), "WORLD_SIZE");
  EXPECT_EQ(blamed(with(kTorchrun, {{"LOCAL_RANK", "4"}})), "LOCAL_RANK");
  EXPECT_EQ(blamed(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "many"}})), "LOCAL_WORLD_SIZE");
  EXPECT_EQ(blamed(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "0"}})), "LOCAL_WORLD_SIZE");
  EXPECT_EQ(blamed(with(kSrun, {{"SLURM_PROCID", "8"}})), "SLURM_PROCID");
  EXPECT_EQ(blamed(without(kSrun, "SLURM_NTASKS")), "SLURM_NTASKS");
}

// --comm `asked` in that environment: the kind, or -1 for an error.
int comm(const std::string& asked, const Variables& variables, bool on_gpus = false) {
  const auto launched = rank_in(variables);
  if (!launched) return -2;
  const auto choice = choose_comm(asked, *launched, environment(variables), on_gpus);
  constexpr int kNccl = 10;
  if (choice) return static_cast<int>(choice->kind) + (choice->uses_nccl ? kNccl : 0);
  EXPECT_EQ(choice.error().field, "--comm");
  return -1;
}

TEST(Launch, AutoIsWhatTheLauncherCallsFor) {
  const int local = static_cast<int>(CommKind::local), tcp = static_cast<int>(CommKind::tcp),
            mpi = static_cast<int>(CommKind::mpi);
  EXPECT_EQ(comm("auto", {}), local);
  EXPECT_EQ(comm("auto", kMpirun), mpi);
  EXPECT_EQ(comm("auto", kTorchrun), tcp);
  EXPECT_EQ(comm("auto", kSrun), tcp);
  EXPECT_EQ(comm("auto", with(kSrun, {{"PMIX_RANK", "6"}})), mpi);
  EXPECT_EQ(comm("auto", with(kSrun, {{"PMIX_RANK", "6"}, {"MASTER_ADDR", "a"}})), tcp);
  EXPECT_EQ(
      comm("auto", with(kTorchrun, {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}})),
      local);
  EXPECT_EQ(comm("tcp", kMpirun), tcp);
  EXPECT_EQ(comm("mpi", {}), mpi);
  EXPECT_EQ(comm("local", {}), local);
}

TEST(Launch, ProcessesOnGpusUseNccl) {
  const int local = static_cast<int>(CommKind::local), tcp_and_nccl = 11, mpi_and_nccl = 12;
  EXPECT_EQ(comm("auto", {}, true), local);
  EXPECT_EQ(comm("local", {}, true), local);
  EXPECT_EQ(comm("nccl", {}, true), local + 10);
  for (const char* asked : {"auto", "nccl"}) {
    EXPECT_EQ(comm(asked, kMpirun, true), mpi_and_nccl);
    EXPECT_EQ(comm(asked, kTorchrun, true), tcp_and_nccl);
    EXPECT_EQ(comm(asked, kSrun, true), tcp_and_nccl);
  }
  EXPECT_EQ(comm("tcp", kTorchrun, true), -1);
  EXPECT_EQ(comm("mpi", kMpirun, true), -1);
  EXPECT_EQ(comm("local", kTorchrun, true), -1);
}

TEST(Launch, SilentCopiesAndUnknownWordsAreRefused) {
  for (const Variables& several : {kMpirun, kTorchrun, kSrun})
    EXPECT_EQ(comm("local", several), -1);
  EXPECT_EQ(comm("tcp", {}), -1);
  EXPECT_EQ(comm("nccl", kTorchrun), -1);
  EXPECT_EQ(comm("gloo", kTorchrun), -1);
  EXPECT_EQ(comm("", {}), -1);
}

Result<MeetingPoint> meeting(const Variables& variables) {
  return meeting_point(**rank_in(variables), environment(variables));
}

TEST(MeetingPoint, IsWhereTorchrunSays) {
  const auto point = meeting(kTorchrun);
  ASSERT_TRUE(point);
  EXPECT_EQ(point->text(), "node1:29500");
  EXPECT_EQ(point->timeout, Nanoseconds{600'000'000'000});
  EXPECT_EQ(meeting(with(kTorchrun, {{"MASTER_ADDR", "::1"}}))->text(), "[::1]:29500");
  // The agent has a store on the port itself.
  EXPECT_EQ(meeting(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}}))->port, 29501);
  EXPECT_EQ(meeting(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}}))->port, 29500);
  EXPECT_EQ(meeting(with(kTorchrun, {{"FORESHARD_RENDEZVOUS_TIMEOUT", "2.5"}}))->timeout,
            Nanoseconds{2'500'000'000});
}

TEST(MeetingPoint, IsTheFirstNodeOfASlurmStep) {
  const auto point = meeting(kSrun);
  ASSERT_TRUE(point);
  EXPECT_EQ(point->host, "gpu003");
  EXPECT_EQ(point->port, 61440 + 1000007 % 4096);
  EXPECT_EQ(meeting(with(kSrun, {{"MASTER_ADDR", "a"}, {"MASTER_PORT", "7"}}))->text(), "a:7");
}

TEST(MeetingPoint, NodeListsOfSlurm) {
  EXPECT_EQ(first_of_node_list("a1"), "a1");
  EXPECT_EQ(first_of_node_list("a1,a2"), "a1");
  EXPECT_EQ(first_of_node_list("a[7,9-12]"), "a7");
  EXPECT_EQ(first_of_node_list("rack[1-2]node[04-08]-ib,x"), "rack1node04-ib");
  for (const char* odd : {"", ",", "[", "a[", "a[1", "]", "a[]", "a[1]["}) {
    EXPECT_LE(first_of_node_list(odd).size(), 4u) << odd;
  }
}

TEST(MeetingPoint, WhatIsMissingOrWrongIsNamed) {
  const auto wrong = [](const Variables& variables) {
    const auto point = meeting(variables);
    return point ? "none" : point.error().field;
  };
  EXPECT_EQ(wrong(without(kTorchrun, "MASTER_ADDR")), "MASTER_ADDR");
  EXPECT_EQ(wrong(without(kTorchrun, "MASTER_PORT")), "MASTER_PORT");
  EXPECT_EQ(wrong(without(kSrun, "SLURM_STEP_NODELIST")), "MASTER_ADDR");
  EXPECT_EQ(wrong(with(kSrun, {{"SLURM_JOB_ID", "x"}})), "MASTER_PORT");
  for (const char* port : {"0", "65536", "http", "", "-1"}) {
    EXPECT_EQ(wrong(with(kTorchrun, {{"MASTER_PORT", port}})), "MASTER_PORT") << port;
  }
  for (const char* seconds : {"0", "-1", "nan", "soon", "", "1e9"}) {
    EXPECT_EQ(wrong(with(kTorchrun, {{"FORESHARD_RENDEZVOUS_TIMEOUT", seconds}})),
              "FORESHARD_RENDEZVOUS_TIMEOUT")
        << seconds;
  }
}

}  // namespace
}  // namespace foreshard::executor
