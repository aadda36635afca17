// The figures beside lanes follow the window, however fast it moves.
#include "gui/views/timeline/row_figures.hpp"

#include "tests/gui/timeline/shown_timeline.hpp"

namespace foreshard::gui {
namespace {

class TimelineFigures : public ShownTimeline {};

TEST_F(TimelineFigures, WhatIsAskedWhileAnAnswerArrivesIsAnsweredToo) {
  RowFigures figures;
  const auto content = canvas().scene().content();
  std::int32_t compute = 0;
  for (const SceneRow& row : canvas().scene().rows()) {
    if (row.title == QStringLiteral("Compute")) compute = row.id;
  }
  const auto ask = [&](std::int64_t from, std::int64_t to) {
    figures.request(content, {{compute, {us(from), us(to)}}});
  };
  int asked = 0;
  QObject::connect(&figures, &RowFigures::changed, [&] {
    if (asked == 50) return;
    ask(++asked, 1000);  // as a frame does that is painted at once
    QThread::msleep(5);  // until that is answered
    ask(asked, 999);
  });
  for (int n = 0; n < 3; ++n) ask(0, 900 - n);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !figures.is_busy() && asked == 50; }, 60'000));
  ask(120, 860);  // throughout which the kernels run
  ASSERT_TRUE(QTest::qWaitFor([&] { return !figures.is_busy(); }, 60'000));
  EXPECT_EQ(figures.of(compute), QStringLiteral("100.0 %"));
}

}  // namespace
}  // namespace foreshard::gui
