// Ranks that are not equal: a few with all their rows, more of them a row each, many a block of eight
// in one row, and how they are unfolded.
#include "tests/gui/timeline/shown_timeline.hpp"

namespace foreshard::gui {
namespace {

// Each rank begins a little later than the one before, computes [100, 500) and gathers [20, 90).
traces::Trace unequal_ranks(int ranks) {
  traces::Trace trace;
  const auto text = [&](const char* t) { return trace.strings.intern(t); };
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    const auto lane = static_cast<std::int32_t>(trace.lanes.size());
    trace.lanes.push_back({rank, false, text("host")});
    trace.lanes.push_back({rank, true, text("compute")});
    trace.lanes.push_back({rank, true, text("all_gather")});
    const auto add = [&](int of_rank, const char* name, traces::EventKind kind, std::int64_t from,
                         std::int64_t to) {
      traces::Event event;
      event.lane = lane + of_rank;
      event.kind = kind;
      event.name = text(name);
      event.phase = text("forward");
      event.unit = text("layers.0");
      event.step = 1;
      event.start_ns = us(from + rank);
      event.end_ns = us(to + rank);
      trace.events.push_back(event);
    };
    add(0, "issue", traces::EventKind::host, 0, 10);
    add(1, "matmul", traces::EventKind::compute, 100, 500);
    add(2, "all_gather", traces::EventKind::communication, 20, 90);
    trace.steps.push_back({rank, 1, us(rank), us(500 + rank), 0, 0});
  }
  traces::sort(trace);
  return trace;
}

class TimelineRanks : public ShownTimeline {
 protected:
  void show_ranks(int ranks) {
    session_.close(0);
    session_.add(make_document(unequal_ranks(ranks), Source::measured, QStringLiteral("many"), {}));
    axis().show({0, us(600)});
    settle();
  }
  const Scene& scene() { return canvas().scene(); }
  std::size_t rows_of(SceneRow::Kind kind) {
    return static_cast<std::size_t>(
        std::count_if(scene().rows().begin(), scene().rows().end(),
                      [&](const SceneRow& row) { return row.kind == kind; }));
  }
  QPoint header_of(const char* title) {
    for (const SceneRow& row : scene().rows()) {
      if (row.title == QString::fromUtf8(title)) {
        return QPointF(40, canvas().row_box(row).center().y()).toPoint();
      }
    }
    ADD_FAILURE() << "no row " << title;
    return {};
  }
  std::int32_t kernel_of(int rank) {
    for (std::size_t n = 0; n < trace().events.size(); ++n) {
      const traces::Event& event = trace().events[n];
      const bool is_its = trace().lanes[static_cast<std::size_t>(event.lane)].rank == rank;
      if (is_its && event.kind == traces::EventKind::compute) return static_cast<std::int32_t>(n);
    }
    return traces::kNone;
  }
  void click(QPoint at) {
    QTest::mouseClick(viewport(), Qt::LeftButton, {}, at);
    settle();
  }
};

TEST_F(TimelineRanks, EightHaveAllTheirRows) {
  show_ranks(8);
  EXPECT_EQ(rows_of(SceneRow::Kind::ranks), 0u);
  EXPECT_TRUE(scene().place({0, 0}));  // on the first host thread
}

TEST_F(TimelineRanks, SixteenAreARowEachOfKernelsOverCollectives) {
  show_ranks(16);
  EXPECT_EQ(rows_of(SceneRow::Kind::ranks), 16u);
  const auto kernel = canvas().event_box({0, event("matmul", "layers.0")});
  const auto gather = canvas().event_box({0, event("all_gather", "layers.0")});
  ASSERT_FALSE(kernel.isEmpty());
  ASSERT_FALSE(gather.isEmpty());
  EXPECT_LT(kernel.bottom(), gather.top() + 1);
  EXPECT_LT(gather.bottom() - kernel.top(), 24);
  click(kernel.center().toPoint());
  EXPECT_EQ(selection().event()->event, event("matmul", "layers.0"));
  click(gather.center().toPoint());
  EXPECT_EQ(selection().event()->event, event("all_gather", "layers.0"));
}

TEST_F(TimelineRanks, ARowUnfoldsByAClickOnItsHeaderAndFoldsBySpace) {
  show_ranks(16);
  const std::size_t before = scene().rows().size();
  click(header_of("Rank 3"));
  EXPECT_EQ(rows_of(SceneRow::Kind::ranks), 15u);
  EXPECT_GT(scene().rows().size(), before + 3);
  key(Qt::Key_Space);
  settle();
  EXPECT_EQ(scene().rows().size(), before);
}

TEST_F(TimelineRanks, SixtyFourAreEightBlocksWhoseStripesAreTheirRanks) {
  show_ranks(64);
  EXPECT_EQ(rows_of(SceneRow::Kind::ranks), 8u);
  const EventId of_rank_9{0, kernel_of(9)};
  const QRectF stripe = canvas().event_box(of_rank_9);
  ASSERT_FALSE(stripe.isEmpty());
  click(stripe.center().toPoint());
  EXPECT_EQ(selection().event(), of_rank_9);
  const QColor drawn =
      viewport()->grab().toImage().pixelColor(stripe.center().toPoint() + QPoint(40, 0));
  EXPECT_EQ(drawn, theme()[Role::forward]);

  click(
      header_of("Ranks 8\xE2\x80\x93"
                "15"));
  EXPECT_EQ(rows_of(SceneRow::Kind::ranks), 7u + 8u);
}

TEST_F(TimelineRanks, ASelectionWithinAFoldedRankUnfoldsIt) {
  show_ranks(64);
  ASSERT_FALSE(scene().place({0, 0}));  // a call of the host, which folded ranks do not show
  selection().select(EventId{0, 0});
  EXPECT_TRUE(scene().place({0, 0}));
}

}  // namespace
}  // namespace foreshard::gui
