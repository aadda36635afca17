#include "models/base/disk_space.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/temporary_folder.hpp"

namespace foreshard {
namespace {

TEST(DiskSpace, IsLookedAtForAllThatGoesToOneDisk) {
  const tests::TemporaryFolder folder;
  const auto room = static_cast<std::int64_t>(std::filesystem::space(folder.path()).available);
  const std::int64_t most = room / 10 * 6;
  EXPECT_TRUE(check_disk_space({}));
  EXPECT_TRUE(check_disk_space({{folder.path("a"), most}}));
  EXPECT_TRUE(check_disk_space({{"/dev/null", 100 * room}}));
  const auto alone = check_disk_space({{folder.path("a"), 2 * room}});
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().file, folder.path("a"));
  const auto together = check_disk_space({{folder.path("a"), most}, {folder.path("b"), most + 1}});
  ASSERT_FALSE(together);
  EXPECT_EQ(together.error().file, folder.path("b"));
  EXPECT_NE(together.error().message.find("together"), std::string::npos);
}

}  // namespace
}  // namespace foreshard
