// Open documents lie beside each other by their steps, whatever their clocks say.
#include <QScrollBar>

#include "tests/gui/timeline/shown_timeline.hpp"

namespace foreshard::gui {
namespace {

// The small run as another clock has it: each moment t at `begin + slower * t`.
DocumentPtr other_run(std::int64_t begin, std::int64_t slower) {
  traces::Trace trace = small_run();
  const auto to_other = [&](auto& one) {
    one.start_ns = begin + slower * one.start_ns;
    one.end_ns = begin + slower * one.end_ns;
  };
  trace.events.update_all(to_other);
  for (traces::Step& step : trace.steps) to_other(step);
  trace.memory.update_all(
      [&](traces::MemoryEvent& event) { event.time_ns = begin + slower * event.time_ns; });
  return make_document(std::move(trace), Source::measured, QStringLiteral("other.fst"), {});
}

class TimelineAlignment : public ShownTimeline {
 protected:
  // The small run stays the current one, its second step shown.
  void open(std::int64_t begin, std::int64_t slower = 1) {
    session_.add(other_run(begin, slower));
    session_.set_current(0);
    axis().show({us(1000), us(2000)});
    settle();
  }
  QRectF box(const char* name, const char* unit, int step, int document) {
    return canvas().event_box({document, event(name, unit, step)});
  }
  QString figure_of(const char* lane, int document) {
    int left = document;
    for (const QString& line : canvas().as_text().split(QLatin1Char('\n'))) {
      if (line.startsWith(QString::fromUtf8(lane)) && left-- == 0) return line;
    }
    return {};
  }
};

constexpr std::int64_t kUnixTime = 1'700'000'000'000'000'000;

TEST_F(TimelineAlignment, TheSameMomentOfAStepIsAtTheSamePlaceWhateverTheClock) {
  open(kUnixTime);
  const QRectF here = box("matmul", "layers.1", 2, 0), there = box("matmul", "layers.1", 2, 1);
  ASSERT_FALSE(here.isEmpty());
  EXPECT_EQ(there.left(), here.left());
  EXPECT_EQ(there.right(), here.right());
  EXPECT_FALSE(figure_of("Compute", 0).isEmpty());
  EXPECT_EQ(figure_of("Compute", 1), figure_of("Compute", 0));
}

TEST_F(TimelineAlignment, StepsOfOtherLengthBeginTogetherEachWhereItIsSeen) {
  open(us(7), 2);
  for (const int step : {1, 2}) {
    axis().show({us(1000) * (step - 1), us(1000) * step});
    const QRectF here = box("all_gather", "layers.0", step, 0);
    const QRectF there = box("all_gather", "layers.0", step, 1);
    const double begin = header_width() + axis().pixel_of(us(1000) * (step - 1));
    EXPECT_NEAR(there.left() - begin, 2 * (here.left() - begin), 1) << step;
  }
}

TEST_F(TimelineAlignment, AbsoluteTimesOnDemand) {
  open(kUnixTime);
  session_.align_by(AlignBy::clock);
  settle();
  EXPECT_TRUE(box("matmul", "layers.1", 2, 1).isEmpty());
  EXPECT_FALSE(box("matmul", "layers.1", 2, 0).isEmpty());
}

TEST_F(TimelineAlignment, WhatIsClickedIsWhatIsDrawnThere) {
  open(kUnixTime, 2);
  const std::int32_t wanted = event("matmul", "layers.0", 2);
  QTest::mouseClick(viewport(), Qt::LeftButton, {},
                    canvas().event_box({1, wanted}).center().toPoint());
  ASSERT_TRUE(selection().event());
  EXPECT_EQ(*selection().event(), (EventId{1, wanted}));
}

TEST_F(TimelineAlignment, AnEventOfAnotherStepOfAnotherDocumentComesIntoView) {
  open(kUnixTime, 2);
  axis().show({us(1120), us(1200)});
  const EventId wanted{1, event("matmul", "layers.1", 1)};
  selection().select(wanted);
  settle();
  EXPECT_FALSE(canvas().event_box(wanted).isEmpty());
  EXPECT_EQ(session_.current_index(), 0);
  key(Qt::Key_F);
  const QRectF fitted = canvas().event_box(wanted);
  EXPECT_NEAR(fitted.center().x(), header_width() + 500, 2);
  EXPECT_GT(fitted.width(), 500);
}

TEST_F(TimelineAlignment, AnotherDocumentIsShownAtTheSamePlaceOfTheStep) {
  open(kUnixTime);
  axis().show({us(1120), us(1320)});
  selection().set_range(traces::Interval{us(1200), us(1300)});
  session_.set_current(1);
  EXPECT_EQ(axis().window(), (traces::Interval{kUnixTime + us(1120), kUnixTime + us(1320)}));
  EXPECT_EQ(selection().range(), (traces::Interval{kUnixTime + us(1200), kUnixTime + us(1300)}));
}

TEST_F(TimelineAlignment, RowsOfTheChosenDocumentComeIntoView) {
  view_.resize(1176, 300);
  open(kUnixTime);
  const auto first_row = [&](int document) {
    const auto& rows = canvas().scene().rows();
    return canvas().row_box(*std::ranges::find_if(
        rows, [&](const SceneRow& row) { return RowId::of(row.id).document == document; }));
  };
  EXPECT_FALSE(canvas().rows_box().contains(first_row(1)));
  session_.set_current(1);
  EXPECT_TRUE(canvas().rows_box().contains(first_row(1)));
  session_.set_current(0);
  EXPECT_TRUE(canvas().rows_box().contains(first_row(0)));
  const int scrolled = canvas().verticalScrollBar()->maximum();
  canvas().verticalScrollBar()->setValue(scrolled);
  session_.replace(0, other_run(0, 1));  // it has grown
  EXPECT_EQ(canvas().verticalScrollBar()->value(), scrolled);
}

// A snapshot of a moment has no steps: its begin stands where the step begins.
TEST_F(TimelineAlignment, WithoutStepsEverythingBeginsWithTheStep) {
  traces::Trace trace = small_run();
  trace.steps.clear();
  session_.add(make_document(std::move(trace), Source::measured, QStringLiteral("bare.fst"), {}));
  session_.set_current(0);
  axis().show({us(1000), us(2000)});
  EXPECT_EQ(session_.offset_ns(1), us(1000));
  EXPECT_EQ(session_.offset_ns(0), 0);
}

}  // namespace
}  // namespace foreshard::gui
