// Ranges of dropped records: hatched in the lanes of their rank, in the minimap and, of the
// allocator's records, over the memory; and nowhere else.
#include "tests/gui/timeline/shown_timeline.hpp"

namespace foreshard::gui {
namespace {

class DroppedRanges : public ShownTimeline {
 protected:
  QImage with(std::vector<traces::DroppedRange> ranges) {
    traces::Trace trace = small_run();
    trace.dropped_ranges = std::move(ranges);
    session_.replace(0,
                     make_document(std::move(trace), Source::measured, QStringLiteral("run"), {}));
    settle();
    axis().show({0, us(1000)});
    settle();
    return viewport()->grab().toImage();
  }
  // In the picture, of a row by its title.
  QRect stretch(const QString& title, std::int64_t from_us, std::int64_t until_us) {
    for (const SceneRow& row : canvas().scene().rows()) {
      if (row.title != title) continue;
      const QRectF box = canvas().row_box(row);
      return QRectF(at(from_us, box.top()), at(until_us, box.bottom() - 1)).toRect();
    }
    ADD_FAILURE() << "no row " << title.toStdString();
    return {};
  }
};

TEST_F(DroppedRanges, AreHatchedFromTheirStartToTheirEnd) {
  const QImage whole = with({});
  const QImage lost = with({{0, false, us(910), us(950), 3}});
  const QString compute = QStringLiteral("Compute");
  EXPECT_NE(whole.copy(stretch(compute, 912, 948)), lost.copy(stretch(compute, 912, 948)));
  EXPECT_EQ(whole.copy(stretch(compute, 120, 900)), lost.copy(stretch(compute, 120, 900)));
  EXPECT_EQ(whole.copy(stretch(compute, 955, 995)), lost.copy(stretch(compute, 955, 995)));
  const QRect map = canvas().minimap_box().toRect();
  EXPECT_NE(whole.copy(map), lost.copy(map));
}

TEST_F(DroppedRanges, OfAnotherRankAreNotItsOwn) {
  const QRect compute = stretch(QStringLiteral("Compute"), 900, 990);
  EXPECT_EQ(with({}).copy(compute), with({{3, false, us(910), us(950), 3}}).copy(compute));
}

TEST_F(DroppedRanges, AMomentIsAtLeastTwoPixelsWide) {
  const QRect compute = stretch(QStringLiteral("Compute"), 900, 990);
  EXPECT_NE(with({}).copy(compute),
            with({{traces::kNone, false, us(940), us(940), 1}}).copy(compute));
}

TEST_F(DroppedRanges, OfMemoryAreHatchedOverItInTimeOfTheHost) {
  const std::vector<traces::DroppedRange> ranges = {{0, true, us(300), us(400), 3}};
  const QRect memory = canvas().memory_box().toRect();
  const QRect compute = stretch(QStringLiteral("Compute"), 300, 400);
  const QImage whole = with({}), lost = with(ranges);
  EXPECT_EQ(whole.copy(memory), lost.copy(memory)) << "kernels' time is another clock";
  EXPECT_EQ(whole.copy(compute), lost.copy(compute));
  key(Qt::Key_T);
  settle();
  const QImage on_host = viewport()->grab().toImage();
  key(Qt::Key_T);
  key(Qt::Key_T);
  with({});
  key(Qt::Key_T);
  settle();
  EXPECT_NE(viewport()->grab().toImage().copy(memory), on_host.copy(memory));
}

}  // namespace
}  // namespace foreshard::gui
