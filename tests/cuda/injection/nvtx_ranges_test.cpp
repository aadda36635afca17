// The ranges that a tool of NVTX sees of a training run on a GPU: named as in the program, with the
// instruction's tag as payload, one within the other.
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "executor/device/tags.hpp"
#include "tests/cli/program_runner.hpp"

namespace foreshard::cli_tests {
namespace {

using executor::step_of;

struct Range {
  std::string name;
  std::uint64_t tag = 0;
};

TEST(NvtxRanges, ReachAToolNestedAndWithTheirTags) {
  const Workplace place;
  const Outcome outcome = place.run({"train", "--device", "cuda", "--model", "model", "--plan",
                                     "plan.toml", "--ranks", "2", "--steps", "2"},
                                    {{"FORESHARD_MODULES", FORESHARD_EMULATED_MODULES},
                                     {"NVTX_INJECTION64_PATH", FORESHARD_NVTX_TOOL},
                                     {"FORESHARD_NVTX_RANGES", "ranges.txt"}});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::map<int, std::vector<Range>> open;  // by thread
  std::map<std::string, int> count;
  std::set<std::int64_t> steps;
  bool nests = false;
  std::istringstream lines(place.read("ranges.txt"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what, domain;
    int thread = 0;
    words >> what >> thread >> domain;
    EXPECT_EQ(domain, "foreshard");
    std::vector<Range>& stack = open[thread];
    if (what == "close") {
      ASSERT_FALSE(stack.empty()) << line;
      stack.pop_back();
      continue;
    }
    Range range;
    words >> range.tag;
    std::getline(words >> std::ws, range.name);
    if (!stack.empty()) {
      nests = true;
      EXPECT_EQ(step_of(stack.back().tag), step_of(range.tag));
      EXPECT_LT(stack.back().tag, range.tag) << range.name << " in " << stack.back().name;
    }
    ++count[range.name];
    steps.insert(step_of(range.tag));
    stack.push_back(range);
  }
  EXPECT_EQ(open.size(), 2u);  // a host thread for each rank
  for (const auto& [thread, stack] : open) EXPECT_TRUE(stack.empty());
  EXPECT_TRUE(nests);
  for (const std::int64_t step : {1, 2}) EXPECT_TRUE(steps.contains(step));
  for (const char* const name : {"forward", "backward", "optimizer"}) {
    EXPECT_GE(count[name], 4) << name;
  }
}

}  // namespace
}  // namespace foreshard::cli_tests
