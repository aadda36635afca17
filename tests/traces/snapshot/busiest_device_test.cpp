// Which device of a snapshot is looked at where none is named.
#include <gtest/gtest.h>

#include "traces/snapshot/history.hpp"

namespace foreshard::traces {
namespace {

TEST(SnapshotHistory, TheBusiestDeviceIsTheOneThatRanOutElseOfMostEvents) {
  Snapshot snapshot;
  EXPECT_EQ(busiest_device(snapshot), std::nullopt);
  snapshot.devices.resize(3);
  snapshot.devices[1].resize(2);
  snapshot.devices[2].resize(5);
  EXPECT_EQ(busiest_device(snapshot), 2);
  snapshot.devices[1].front().action = AllocatorAction::oom;
  EXPECT_EQ(busiest_device(snapshot), 1);
}

}  // namespace
}  // namespace foreshard::traces
