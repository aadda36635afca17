// Waits of hosts that are concluded from the times alone.
#include "traces/meaning/unrecorded_waits.hpp"

#include <gtest/gtest.h>

namespace foreshard::traces {
namespace {

constexpr std::int64_t kUs = 1'000, kMs = 1'000'000;

// A kernel of 1 ms every 1.01 ms, each launched `after_end_ns` after the one before it was over.
struct Recording {
  explicit Recording(std::int64_t after_end_ns, int kernels = 20) {
    for (int i = 0; i < kernels; ++i) {
      const std::int64_t start = i * (kMs + 10 * kUs);
      const std::int64_t launched = start - 10 * kUs + after_end_ns;
      calls.push_back({launched, launched + 2 * kUs, 0, false});
      works.push_back({start, start + kMs, launched, 0, 0, false});
    }
  }
  std::int32_t awaited(std::size_t call) const {
    return UnrecordedWaits(calls, works).awaited(0, calls[call - 1].end_ns, calls[call].start_ns);
  }
  std::vector<CallSpan> calls;
  std::vector<LaunchedWork> works;
};

TEST(UnrecordedWaits, AHostThatKeepsStepWithItsDeviceWaits) {
  const Recording recording(7 * kUs);
  EXPECT_EQ(recording.awaited(5), 4);
  EXPECT_EQ(recording.awaited(19), 18);
}

TEST(UnrecordedWaits, AHostThatIsLateOrEarlyDoesNot) {
  EXPECT_EQ(Recording(-300 * kUs).awaited(5), kNone);
  Recording late(7 * kUs);
  for (std::size_t i = 0; i < late.works.size(); ++i) late.works[i].end_ns -= 500 * kUs;
  EXPECT_EQ(late.awaited(5), kNone);
}

TEST(UnrecordedWaits, AFewMayBeChance) {
  EXPECT_EQ(Recording(7 * kUs, 8).awaited(5), kNone);
}

TEST(UnrecordedWaits, WhereWaitsAreRecordedOthersAreNotGuessed) {
  Recording recording(7 * kUs);
  recording.calls[3].waits = true;
  EXPECT_EQ(recording.awaited(5), kNone);
}

TEST(UnrecordedWaits, ADeviceAtWorkIsNotAwaited) {
  Recording recording(7 * kUs);
  recording.works.push_back({19 * kMs, 22 * kMs, 18 * kMs, 1, 0, false});
  std::ranges::sort(recording.works, {}, &LaunchedWork::start_ns);
  EXPECT_EQ(recording.awaited(5), 4);
  EXPECT_EQ(recording.awaited(19), kNone);
}

}  // namespace
}  // namespace foreshard::traces
