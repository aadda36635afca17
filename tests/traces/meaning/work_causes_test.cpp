// Why work of a device began when it did, of a few pieces of work each; times in microseconds.
#include "traces/meaning/work_causes.hpp"

#include <initializer_list>

#include <gtest/gtest.h>

namespace foreshard::traces {
namespace {

struct Drawn {
  std::int64_t called, returned, start, end;
  std::uint32_t stream = 0;
};

std::vector<WorkCause::Kind> causes_of(std::initializer_list<Drawn> drawn) {
  std::vector<LaunchedWork> works;
  for (const Drawn& d : drawn) {
    works.push_back({.start_ns = 1000 * d.start,
                     .end_ns = 1000 * d.end,
                     .launched_ns = 1000 * d.called,
                     .returned_ns = 1000 * d.returned,
                     .stream = d.stream});
  }
  std::vector<WorkCause::Kind> kinds;
  for (const WorkCause& cause : work_causes(works).of) kinds.push_back(cause.kind);
  return kinds;
}

using Kinds = std::vector<WorkCause::Kind>;
using enum WorkCause::Kind;

TEST(WorkCauses, AreTheLaunchOrTheWorkBefore) {
  EXPECT_EQ(causes_of({{0, 3, 5, 20}, {4, 7, 21, 30}, {40, 43, 45, 50}}),
            (Kinds{launch, before, launch}));
}

// The first of its kind loads a module, which takes the call 90 ms.
TEST(WorkCauses, AreACallThatDidOtherThingsFirst) {
  EXPECT_EQ(causes_of({{0, 3, 5, 20}, {100, 90'100, 90'098, 90'110}}), (Kinds{launch, launch}));
  EXPECT_EQ(causes_of({{0, 3, 5, 20}, {100, 90'100, 90'104, 90'110}}), (Kinds{launch, launch}));
}

TEST(WorkCauses, AreACallThatLaunchedOtherWorkBefore) {
  EXPECT_EQ(causes_of({{0, 3, 5, 20}, {100, 90'100, 105, 106}, {100, 90'100, 90'099, 90'110}}),
            (Kinds{launch, launch, launch}));
}

TEST(WorkCauses, AreNotACallThatReturnedLongBefore) {
  EXPECT_EQ(causes_of({{0, 3, 5, 20}, {2, 4, 8, 90'000, 1}, {100, 160, 90'001, 90'010}}),
            (Kinds{launch, launch, other}));
}

}  // namespace
}  // namespace foreshard::traces
