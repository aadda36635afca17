// What can be asked, and what is refused.
#include "simulator/whatif/changes.hpp"

#include <gtest/gtest.h>

#include "tests/simulator/whatif/drawn_recording.hpp"

namespace foreshard::simulator {
namespace {

using traces::EventKind;

// A kernel, a copy and a collective.
traces::Trace three_works() {
  DrawnRecording draw;
  const int host = draw.thread(), stream = draw.stream();
  draw.work(stream, 10, 20, draw.call(host, 0, 2), "gemm[a]<float>");
  draw.work(stream, 30, 40, draw.call(host, 4, 6, "cudaMemcpyAsync"), "Memcpy HtoD",
            EventKind::memory);
  draw.work(stream, 50, 60, draw.call(host, 8, 10), "ncclDevKernel_AllGather",
            EventKind::communication);
  return draw.trace();
}

// By work in its order, and before it those of the host and of launches.
std::vector<double> factors_of(const std::vector<std::string>& scales,
                               const std::vector<std::string>& settings) {
  const traces::Trace trace = three_works();
  const auto run = recorded_run(trace, "");
  const auto changes = parse_changes(scales, settings);
  EXPECT_TRUE(changes) << changes.error().text();
  const auto factors = activity_factors(*changes, *run, trace.strings);
  EXPECT_TRUE(factors) << factors.error().text();
  std::vector<double> of_work{(*factors)[kHost], (*factors)[kLaunch]};
  for (const RecordedWork& work : run->works) of_work.push_back((*factors)[work.activity]);
  return of_work;
}

TEST(Changes, MultiplyWhereSeveralMatch) {
  using Factors = std::vector<double>;
  EXPECT_EQ(factors_of({}, {}), (Factors{1, 1, 1, 1, 1}));
  EXPECT_EQ(factors_of({"*=3", "gemm*=0.5"}, {}), (Factors{1, 1, 1.5, 3, 3}));
  EXPECT_EQ(factors_of({"*=4", "*=0.25"}, {}), (Factors{1, 1, 1, 1, 1}));
  EXPECT_EQ(factors_of({"?emcpy H[st]oD=0"}, {}), (Factors{1, 1, 1, 0, 1}));
  EXPECT_EQ(factors_of({"gemm[[]a]<*=2"}, {}), (Factors{1, 1, 2, 1, 1}));
  EXPECT_EQ(factors_of({"nccl*=0.5"}, {"collectives=0.5"}), (Factors{1, 1, 1, 1, 0.25}));
  EXPECT_EQ(factors_of({}, {"host=0.5", "launch=0.5"}), (Factors{0.5, 0.25, 1, 1, 1}));
}

TEST(Changes, AreDividedAtTheLastEqualsSign) {
  EXPECT_EQ(parse_changes({"a=b=2"}, {})->scales.front().glob, "a=b");
}

TEST(Changes, RefuseWhatIsNoFactor) {
  for (const char* given : {"*", "*=", "=2", "*=-1", "*=nan", "*=inf", "*=1e7", "*=2x", "*= 2"}) {
    const auto changes = parse_changes({given}, {});
    ASSERT_FALSE(changes) << given;
    EXPECT_EQ(changes.error().field, "--scale");
    EXPECT_NE(changes.error().message.find(given), std::string::npos) << changes.error().message;
  }
}

TEST(Changes, RefuseWhatCannotBeSet) {
  for (const char* given :
       {"weather=2", "stragglers=2", "stragglers", "launch", "launch=", "host=-1", "=2", ""}) {
    const auto changes = parse_changes({}, {given});
    ASSERT_FALSE(changes) << given;
    EXPECT_EQ(changes.error().field, "--set");
    EXPECT_NE(changes.error().message.find(given), std::string::npos) << changes.error().message;
  }
  EXPECT_FALSE(parse_changes({}, {"host=2", "host=2"}));
  EXPECT_NE(parse_changes({}, {"colectives=2"}).error().message.find("did you mean 'collectives'"),
            std::string::npos);
}

TEST(Changes, RefuseAGlobThatMatchesNothing) {
  const traces::Trace trace = three_works();
  const auto run = recorded_run(trace, "");
  const auto factors =
      activity_factors(*parse_changes({"cudaLaunchKernel=2"}, {}), *run, trace.strings);
  ASSERT_FALSE(factors) << "a call of the host is no work of a device";
  EXPECT_NE(factors.error().message.find("cudaLaunchKernel"), std::string::npos);
}

}  // namespace
}  // namespace foreshard::simulator
