// What is marked in the timeline from the window: the hits of a search, and the critical path.
#include "gui/views/timeline/timeline_view.hpp"
#include "tests/gui/shell/shell_fixture.hpp"

namespace foreshard::gui {
namespace {

using WindowHighlights = ShellTest;

TEST_F(WindowHighlights, HitsAreMarkedInTheTimelineUntilEscape) {
  MainWindow window;
  window.show();
  open(window, write_trace());
  const traces::Trace& trace = *window.session().current()->trace;
  window.search().set_text(QString::fromStdString(trace.strings[trace.events.front().name]));
  wait(window);
  Scene& scene = window.timeline().canvas().scene();
  ASSERT_NE(scene.content()->parts.at(0).hits, nullptr);
  for (const EventIndex hit : window.search().result()->hits.events()) {
    EXPECT_TRUE(scene.content()->parts.at(0).hits->contains(hit));
  }
  QTest::keyClick(&window, Qt::Key_N);
  EXPECT_TRUE(window.session().selection().event());

  QTest::keyClick(&window.timeline().canvas(), Qt::Key_Escape);
  wait(window);
  EXPECT_TRUE(window.search().text().isEmpty());
  EXPECT_EQ(scene.content()->parts.at(0).hits, nullptr);
}

TEST_F(WindowHighlights, XShowsAndHidesTheCriticalPath) {
  MainWindow window;
  window.show();
  open(window, write_trace());
  const Scene& scene = window.timeline().canvas().scene();
  QTest::keyClick(&window, Qt::Key_X);
  wait(window);
  EXPECT_NE(scene.content()->parts.at(0).path, nullptr);
  QTest::keyClick(&window, Qt::Key_X);
  wait(window);
  EXPECT_EQ(scene.content()->parts.at(0).path, nullptr);
}

}  // namespace
}  // namespace foreshard::gui
