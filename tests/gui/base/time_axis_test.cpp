#include "gui/models/base/time_axis.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace foreshard::gui {
namespace {

TEST(TimeAxis, KeepsWhatIsUnderThePointerWhenItZooms) {
  TimeAxis axis;
  axis.set_width(800);
  axis.set_bounds({0, 1'000'000'000});
  axis.show({0, 1'000'000'000});
  const std::int64_t before = axis.ns_at(300);
  for (int n = 0; n < 40; ++n) axis.zoom(1.5, 300);
  EXPECT_NEAR(static_cast<double>(axis.ns_at(300)), static_cast<double>(before), 2);
  EXPECT_LT(axis.ns_per_pixel(), 1);
}

TEST(TimeAxis, KeepsNanosecondsOnAClockThatCountsFrom1970) {
  TimeAxis axis;
  axis.set_width(1000);
  const std::int64_t now = 1'790'000'000'000'000'000;
  axis.set_bounds({now, now + 10'000'000'000});
  axis.show({now + 5'000'000'001, now + 5'000'001'001});
  EXPECT_EQ(axis.start_ns(), now + 5'000'000'001);
  EXPECT_NEAR(axis.pixel_of(now + 5'000'000'501), 500, 1e-6);
  axis.pan(0.25);
  EXPECT_NEAR(axis.pixel_of(now + 5'000'000'501), 499.75, 1e-6);
}

TEST(TimeAxis, StaysNearItsBounds) {
  TimeAxis axis;
  axis.set_width(1000);
  axis.set_bounds({100, 1100});
  axis.show({100, 1100});
  axis.zoom(1e-9, 10);
  EXPECT_GE(axis.start_ns(), 100 - 21);
  EXPECT_LE(axis.end_ns(), 1100 + 21);
  axis.show({100, 200});
  axis.pan(1e12);
  EXPECT_LE(axis.start_ns(), 1100);
  EXPECT_GE(axis.end_ns(), 1100);
}

TEST(TimeAxis, ShowsTheSameTimeInANewWidth) {
  TimeAxis axis;
  axis.set_width(1000);
  axis.set_bounds({0, 10'000});
  axis.show({2'000, 4'000});
  axis.set_width(500);
  EXPECT_EQ(axis.start_ns(), 2'000);
  EXPECT_EQ(axis.end_ns(), 4'000);
}

}  // namespace
}  // namespace foreshard::gui
