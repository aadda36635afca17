// Folders with a snapshot of each rank: whose each file is, and all of them as one trace.
#include "traces/snapshot/rank_files.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/temporary_folder.hpp"
#include "traces/import.hpp"
#include "traces/metadata.hpp"

namespace foreshard::traces {
namespace {

// A snapshot of a device 0, copied.
void put(const tests::TemporaryFolder& folder, const std::string& name) {
  std::filesystem::copy_file(FORESHARD_SOURCE_DIR "/tests/fuzz/corpus/snapshot/protocol4.pickle",
                             folder.path(name));
}

std::vector<std::int32_t> ranks_in(const tests::TemporaryFolder& folder) {
  const auto files = rank_files(folder.path());
  EXPECT_TRUE(files) << files.error().text();
  std::vector<std::int32_t> ranks;
  if (files) {
    for (const RankFile& file : *files) ranks.push_back(file.rank);
  }
  return ranks;
}

TEST(RankFiles, HaveTheRankInTheirNames) {
  const tests::TemporaryFolder folder;
  put(folder, "rank10_memory_snapshot.pickle");
  put(folder, "rank_2.pickle");
  folder.write("train_config.toml", "[training]\n");
  EXPECT_EQ(ranks_in(folder), (std::vector<std::int32_t>{2, 10}));
  put(folder, "of_no_rank.pickle");
  EXPECT_EQ(ranks_in(folder), (std::vector<std::int32_t>{0, 1, 2}));
}

TEST(RankFiles, MustBeSnapshots) {
  const tests::TemporaryFolder folder;
  folder.write("rank0.pickle", "not one");
  EXPECT_FALSE(rank_files(folder.path()));
}

TEST(RankFiles, MakeOneTrace) {
  const tests::TemporaryFolder folder;
  put(folder, "rank0.pickle");
  put(folder, "rank3.pickle");
  const auto alone = import_snapshot(folder.path("rank0.pickle"));
  const auto both = import_snapshot(folder.path());
  ASSERT_TRUE(alone && both);
  EXPECT_EQ(integer(both->metadata, "ranks", 0), 4);
  EXPECT_TRUE(both->complete);
  EXPECT_EQ(both->complete_until_ns, alone->complete_until_ns);
  ASSERT_EQ(both->memory.size(), 2 * alone->memory.size());
  for (std::size_t i = 0; i < both->memory.size(); ++i) {
    const MemoryEvent its = both->memory[i], same = alone->memory[i % alone->memory.size()];
    EXPECT_EQ(its.rank, i < alone->memory.size() ? 0 : 3);
    EXPECT_EQ(its.bytes, same.bytes);
    EXPECT_EQ(its.time_ns, same.time_ns);
    EXPECT_EQ(both->lanes[static_cast<std::size_t>(its.lane)].rank, its.rank);
    EXPECT_EQ(both->strings[its.owner], alone->strings[same.owner]);
  }
}

}  // namespace
}  // namespace foreshard::traces
