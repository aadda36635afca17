// Who may write to a folder or a file when several runs want to.
#include "executor/data/output_claim.hpp"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/temporary_folder.hpp"

namespace foreshard::executor {
namespace {

class OutputClaimTest : public testing::Test {
 protected:
  // Whether another process could claim it now; that process ends without a word.
  bool is_free_for_others() const {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(OutputClaim::take(path_) ? 0 : 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 0;
  }

  const tests::TemporaryFolder folder_;
  const std::string path_ = folder_.path("saved");
};

TEST_F(OutputClaimTest, KeepsOtherProcessesAway) {
  {
    const auto claim = OutputClaim::take(path_ + "/");
    ASSERT_TRUE(claim) << claim.error().text();
    EXPECT_FALSE(is_free_for_others());
    const auto second = OutputClaim::take(path_);
    ASSERT_FALSE(second);
    EXPECT_EQ(
        second.error().text(),
        path_ + ": is being written by another run; expected another name, or that run to end");
    EXPECT_FALSE(is_free_for_others()) << "whoever was refused leaves the claim as it is";
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  EXPECT_TRUE(is_free_for_others());
}

TEST_F(OutputClaimTest, EndsWithItsProcess) {
  EXPECT_TRUE(is_free_for_others());
  EXPECT_TRUE(std::filesystem::exists(path_ + ".foreshard-lock")) << "killed before it could tidy";
  EXPECT_TRUE(OutputClaim::take(path_));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".foreshard-lock"));
}

TEST_F(OutputClaimTest, FollowsNoLinks) {
  const std::string victim = folder_.write("victim", "precious");
  std::filesystem::create_symlink(victim, path_ + ".foreshard-lock");
  EXPECT_FALSE(OutputClaim::take(path_));
  EXPECT_EQ(tests::read_file(victim), "precious");
}

}  // namespace
}  // namespace foreshard::executor
