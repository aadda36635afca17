// The timeline's canvas under real keys and mouse.
#include <QtTest>
#include <gtest/gtest.h>

#include "gui/views/timeline/timeline_view.hpp"

namespace foreshard::gui {
namespace {

TEST(TimelineCanvas, PaintsWithoutADocument) {
  Session session;
  TimelineView view(session);
  view.resize(800, 600);
  EXPECT_FALSE(view.grab().isNull());
}

}  // namespace
}  // namespace foreshard::gui
