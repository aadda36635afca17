// Which ranges are steps, and how they are numbered.
#include "traces/meaning/named_steps.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace foreshard::traces {
namespace {

struct Range {
  const char* name;
  std::int32_t number;
  std::int64_t start, end;
};

class NamedSteps : public testing::Test {
 protected:
  std::vector<Step> steps(const std::vector<Range>& ranges) {
    std::vector<Step> named;
    for (const Range& r : ranges) {
      named.push_back({0, r.number, r.start, r.end, 0, 0, strings_.intern(r.name)});
    }
    return steps_of_names(std::move(named), strings_);
  }
  // "NUMBER NAME" of each.
  std::vector<std::string> text(const std::vector<Range>& ranges) {
    std::vector<std::string> out;
    for (const Step& step : steps(ranges)) {
      out.push_back(std::to_string(step.step) + " " + strings_[step.label]);
    }
    return out;
  }
  Strings strings_;
};

using Texts = std::vector<std::string>;

TEST_F(NamedSteps, HaveTheNumbersOfTheirNames) {
  EXPECT_EQ(text({{"step 9", 9, 300, 400}, {"step 7", 7, 0, 100}}),
            (Texts{"7 step 7", "9 step 9"}));
}

TEST_F(NamedSteps, CountFromOneAndOnWhereNamesRepeat) {
  EXPECT_EQ(text({{"step 0", 0, 0, 10}, {"step 1", 1, 10, 20}, {"step 0", 0, 50, 60}}),
            (Texts{"1 step 0", "2 step 1", "3 step 0"}));
}

TEST_F(NamedSteps, OfSeveralThreadsAreOne) {
  EXPECT_EQ(text({{"step 3", 3, 0, 10},
                  {"step 3", 3, 7, 17},
                  {"step 4", 4, 10, 20},
                  {"step 4", 4, 12, 22}}),
            (Texts{"3 step 3", "4 step 4"}));
}

TEST_F(NamedSteps, WithinAStepAreNone) {
  EXPECT_EQ(text({{"iteration 5", 5, 0, 100}, {"step 0", 0, 0, 50}, {"step 1", 1, 50, 100}}),
            (Texts{"5 iteration 5"}));
}

TEST_F(NamedSteps, AreThoseOfTheProfilerWhereItHasAny) {
  EXPECT_EQ(text({{"step 12", 12, 0, 10}, {"ProfilerStep#5", 5, 8, 18}, {"step 13", 13, 10, 20}}),
            (Texts{"5 ProfilerStep#5"}));
}

TEST_F(NamedSteps, AreThoseOfTheProgramWhereItHasAny) {
  EXPECT_EQ(
      text({{"foreshard step 2", 2, 0, 10}, {"step 7", 7, 5, 9}, {"foreshard step 3", 3, 10, 20}}),
      (Texts{"7 step 7"}));
  EXPECT_EQ(text({{"foreshard step 2", 2, 0, 10}, {"foreshard step 3", 3, 10, 20}}),
            (Texts{"2 foreshard step 2", "3 foreshard step 3"}));
}

TEST_F(NamedSteps, LastToTheirEnds) {
  const std::vector<Step> two = steps({{"step 1", 1, 10, 20}, {"step 2", 2, 30, 40}});
  EXPECT_EQ(step_at(two, 9), 0);
  EXPECT_EQ(step_at(two, 10), 1);
  EXPECT_EQ(step_at(two, 20), 0);
  EXPECT_EQ(step_at(two, 39), 2);
  EXPECT_EQ(step_at({}, 39), 0);
}

}  // namespace
}  // namespace foreshard::traces
