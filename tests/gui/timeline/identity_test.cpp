// What the user selected, hid, moved and folded stays that when documents grow, close and follow one another.
#include "tests/gui/timeline/shown_timeline.hpp"

namespace foreshard::gui {
namespace {

// The small run of a rank, with a thread before its others and a call on its host before all others.
traces::Trace grown_run(std::int32_t rank = 0) {
  traces::Trace trace = small_run();
  for (traces::Lane& lane : trace.lanes) lane.rank = rank;
  for (traces::Step& step : trace.steps) step.rank = rank;
  trace.memory.update_all([&](traces::MemoryEvent& event) { event.rank = rank; });
  trace.lanes.insert(trace.lanes.begin(), {rank, false, trace.strings.intern("loader")});
  trace.events.update_all([](traces::Event& event) { ++event.lane; });
  traces::Event call;
  call.name = trace.strings.intern("read");
  call.end_ns = us(3);
  for (const std::int32_t lane : {0, 1}) {
    call.lane = lane;
    trace.events.push_back(call);
  }
  traces::sort(trace);
  return trace;
}

DocumentPtr document_of(traces::Trace trace) {
  return make_document(std::move(trace), Source::measured, QStringLiteral("run.fst"), {});
}

class TimelineIdentity : public ShownTimeline {
 protected:
  const Scene& scene() { return canvas().scene(); }
  bool shows(const char* title) {
    return std::ranges::any_of(scene().rows(), [&](const SceneRow& row) {
      return row.kind == SceneRow::Kind::lane && row.title == QString::fromUtf8(title);
    });
  }
  void click_on(std::int32_t event, int document = 0) {
    QTest::mouseClick(viewport(), Qt::LeftButton, {},
                      canvas().event_box({document, event}).center().toPoint());
    settle();
  }
  const traces::Event& selected() {
    selected_ = trace().events[static_cast<std::size_t>(selection().event()->event)];
    return selected_;
  }

 private:
  traces::Event selected_;
};

TEST_F(TimelineIdentity, TheSelectedEventIsTheSameWhereTheFileHasGrown) {
  const std::int32_t before = event("matmul", "layers.1", 2);
  click_on(event("matmul", "layers.1", 1));
  selection().select(EventId{0, before});
  const traces::Event was = selected();
  session_.replace(0, document_of(grown_run()));
  settle();
  ASSERT_TRUE(selection().event());
  EXPECT_NE(selection().event()->event, before);
  EXPECT_EQ(selected().start_ns, was.start_ns);
  EXPECT_EQ(trace().strings[selected().name], "matmul");
  EXPECT_EQ(trace().strings[selected().unit], "layers.1");
}

TEST_F(TimelineIdentity, WhereTimesAreOthersTheSelectedEventIsTheOneInItsPlace) {
  selection().select(EventId{0, event("matmul_weight_gradient", "layers.0", 2)});
  traces::Trace faster = grown_run();
  faster.events.update_all([](traces::Event& event) {
    event.start_ns /= 2;
    event.end_ns /= 2;
  });
  session_.replace(0, document_of(std::move(faster)));
  ASSERT_TRUE(selection().event());
  EXPECT_EQ(selected().start_ns, us(850));
  EXPECT_EQ(trace().strings[selected().name], "matmul_weight_gradient");
  EXPECT_EQ(trace().strings[selected().unit], "layers.0");
}

TEST_F(TimelineIdentity, AnEventThatIsGoneIsNotSelected) {
  selection().select(EventId{0, event("reduce_scatter", "layers.0", 2)});
  traces::Trace cut = small_run();
  traces::EventList events;
  for (const traces::Event& event : cut.events) {
    if (event.step == 1) events.push_back(event);
  }
  cut.events = std::move(events);
  session_.replace(0, document_of(std::move(cut)));
  EXPECT_FALSE(selection().event());
}

TEST_F(TimelineIdentity, HiddenAndFoldedRowsStayWhenTheFileGrowsAndWhenAnotherCloses) {
  click_on(event("reduce_scatter", "layers.1"));
  key(Qt::Key_H);
  settle();
  ASSERT_FALSE(shows("Reduce-scatter"));
  session_.replace(0, document_of(grown_run()));
  settle();
  EXPECT_FALSE(shows("Reduce-scatter"));
  EXPECT_TRUE(shows("All-gather"));

  selection().clear();
  session_.add(document_of(grown_run()));
  session_.close(1);
  settle();
  EXPECT_FALSE(shows("Reduce-scatter"));
  EXPECT_TRUE(shows("Compute"));
  key(Qt::Key_H, Qt::ShiftModifier);
  settle();
  EXPECT_TRUE(shows("Reduce-scatter"));
}

TEST_F(TimelineIdentity, RowsOfADocumentStayHiddenWhenOneBeforeItCloses) {
  session_.add(document_of(grown_run()));
  axis().show({0, us(1000)});
  settle();
  const auto& events = trace().events;
  const auto gather = std::ranges::find(events, traces::EventKind::communication,
                                        [](const traces::Event& one) { return one.kind; });
  click_on(static_cast<std::int32_t>(gather - events.begin()), 1);
  key(Qt::Key_H);
  settle();
  session_.close(0);
  settle();
  EXPECT_FALSE(shows("All-gather"));
  EXPECT_TRUE(shows("Compute"));
  EXPECT_TRUE(shows("Reduce-scatter"));
}

TEST_F(TimelineIdentity, TheRankIsOneThatIsThereAndThatOfTheSelection) {
  session_.add(document_of(grown_run(3)));
  EXPECT_EQ(selection().rank(), 3);
  settle();
  EXPECT_TRUE(std::ranges::any_of(scene().rows(), [](const SceneRow& row) {
    return row.title == QStringLiteral("Gathered units");
  })) << "of rank 0 none were gathered";
  session_.set_current(0);
  EXPECT_EQ(selection().rank(), 0);
  selection().select(EventId{1, 1});
  EXPECT_EQ(selection().rank(), 3);
}

// Only at the end of the second step do kernels overlap: the first has no row for that, and in the second it stays.
TEST_F(TimelineIdentity, RowsStayWhileTheWindowMovesWithinAStep) {
  traces::Trace trace = small_run();
  traces::Event second = trace.events[static_cast<std::size_t>(
      find_event(trace, "matmul_weight_gradient", "layers.0", 2))];
  second.start_ns += us(10);
  trace.events.push_back(second);
  traces::sort(trace);
  session_.replace(0, document_of(std::move(trace)));
  const auto rows_at = [&](std::int64_t from, std::int64_t to) {
    axis().show({us(from), us(to)});
    settle();
    return std::ranges::count(scene().rows(), SceneRow::Kind::lane, &SceneRow::kind);
  };
  const auto of_first = rows_at(100, 800), of_second = rows_at(1100, 1200);
  EXPECT_EQ(of_second, of_first + 1);
  EXPECT_EQ(rows_at(1700, 1900), of_second);
  EXPECT_EQ(rows_at(100, 300), of_first);
}

}  // namespace
}  // namespace foreshard::gui
