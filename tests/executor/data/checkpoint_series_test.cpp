#include "executor/data/checkpoint_series.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/temporary_folder.hpp"

namespace foreshard::executor {
namespace {

namespace fs = std::filesystem;
using Steps = std::vector<std::int64_t>;

class CheckpointSeries : public testing::Test {
 protected:
  void make(const std::string& name) const { fs::create_directories(series_ + "/" + name); }

  tests::TemporaryFolder folder_;
  std::string series_ = folder_.path("series");
};

TEST_F(CheckpointSeries, CountsWhatHasItsName) {
  EXPECT_EQ(steps_in(series_), Steps());
  for (const char* name : {"step-10", "step-9", "step-11.foreshard-writing", "step-x", "step-",
                           "step-1x", "step--1", "step-99999999999999999999", "other"}) {
    make(name);
  }
  EXPECT_EQ(steps_in(series_), (Steps{9, 10}));
  EXPECT_EQ(step_path(series_ + "/", 9), series_ + "/step-9");
}

TEST_F(CheckpointSeries, KeepsTheNewestOfTheRunAtHand) {
  for (const char* name : {"step-2", "step-4", "step-6", "step-8", "step-20"}) make(name);
  ASSERT_TRUE(advance_series(series_, 8, 2));
  EXPECT_EQ(steps_in(series_), (Steps{6, 8, 20}));
  EXPECT_EQ(fs::read_symlink(series_ + "/latest"), "step-8");
  ASSERT_TRUE(advance_series(series_, 20, 9));
  EXPECT_EQ(fs::read_symlink(series_ + "/latest"), "step-20");
  EXPECT_EQ(steps_in(series_), (Steps{6, 8, 20}));
}

TEST_F(CheckpointSeries, BeginsWithoutWhatAKilledRunLeft) {
  ASSERT_TRUE(begin_series(series_));
  ASSERT_TRUE(fs::is_directory(series_));
  for (const char* name : {"step-2", "step-4.foreshard-writing", "step-1.foreshard-removing"}) {
    make(name);
  }
  ASSERT_TRUE(begin_series(series_));
  EXPECT_EQ(folder_.entries(), 2U);
  EXPECT_EQ(steps_in(series_), Steps{2});
}

TEST_F(CheckpointSeries, TakesNoFolderThatHoldsSomethingElse) {
  EXPECT_TRUE(check_series_target(series_, 0));
  make("step-4");  // no checkpoint, though it has the name of one
  EXPECT_TRUE(check_series_target(series_, 0));
  make("other");
  const auto refused = check_series_target(series_, 0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().file, series_);
  EXPECT_FALSE(check_series_target(folder_.path("none/series"), 0));
}

}  // namespace
}  // namespace foreshard::executor
