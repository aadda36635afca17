// Counters beside the lanes: what is under the pointer, the figures of what is seen, and what is folded
// where there are many.
#include "gui/views/timeline/row_figures.hpp"
#include "tests/gui/timeline/shown_timeline.hpp"

namespace foreshard::gui {
namespace {

class TimelineCounters : public ShownTimeline {
 protected:
  // In place of the run without any.
  void show(int counters) {
    traces::Trace trace = small_run();
    for (int n = 0; n < counters; ++n) {
      trace.counters.push_back({0,
                                trace.strings.intern("counter " + std::to_string(n)),
                                trace.strings.intern("%"),
                                {{0, 30}, {us(500), 90}}});
    }
    session_.add(make_document(std::move(trace), Source::measured, QStringLiteral("with.fst"), {}));
    session_.close(0);
    settle();
    axis().show({0, us(1000)});
    settle();
  }
  std::vector<const SceneRow*> counters() {
    std::vector<const SceneRow*> rows;
    for (const SceneRow& row : canvas().scene().rows()) {
      if (row.title.startsWith(QStringLiteral("counter"))) rows.push_back(&row);
    }
    return rows;
  }
};

TEST_F(TimelineCounters, TellTheirValueUnderThePointer) {
  show(1);
  ASSERT_EQ(counters().size(), 1u);
  const SceneRow& row = *counters().front();
  Scene& scene = canvas().scene();
  const auto hit = scene.hit(row, row.height / 2, us(700), 0);
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->span.start_ns, us(500));
  const HoverCard card = scene.card(*hit);
  EXPECT_EQ(card.title, QStringLiteral("counter 0"));
  std::map<QString, QString> facts;
  for (const auto& [label, value] : card.facts) facts[label] = value;
  EXPECT_EQ(facts[QStringLiteral("Value")], QStringLiteral("90 %"));
  EXPECT_EQ(facts[QStringLiteral("Mean in view")], QStringLiteral("60 %"));
  EXPECT_EQ(facts[QStringLiteral("Highest in view")], QStringLiteral("90 %"));
  EXPECT_EQ(facts[QStringLiteral("Height of the row")], QStringLiteral("100 %"));
  EXPECT_FALSE(scene.first_in_lane(scene.index_of(row), 0));  // none can be selected
}

TEST_F(TimelineCounters, HaveTheirMeanBesideThem) {
  show(1);
  RowFigures figures;
  const std::int32_t row = counters().front()->id;
  figures.request(canvas().scene().content(), {{row, {us(400), us(600)}}});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !figures.is_busy(); }, 60'000));
  EXPECT_EQ(figures.of(row), QStringLiteral("60 %"));
}

// A column of pixels is filled up to the mean and, paler, up to the highest value.
TEST_F(TimelineCounters, AreDrawnAsHighAsTheirValues) {
  show(1);
  const SceneRow& row = *counters().front();
  const LaneShapes shapes = canvas().scene().content()->shapes(RowId::of(row.id), {us(0), us(1000)},
                                                               static_cast<double>(us(1)), theme());
  ASSERT_FALSE(shapes.columns.empty());
  for (const LaneColumn& column : shapes.columns) {
    ASSERT_EQ(column.parts.size(), 3u);
    const double mean = column.parts[0].share + column.parts[1].share;
    const double highest = mean + column.parts[2].share;
    if (column.cell.end_ns <= us(500)) {
      EXPECT_NEAR(mean, 0.3, 1e-12);
    }
    if (column.cell.start_ns >= us(500)) {
      EXPECT_NEAR(mean, 0.9, 1e-12);
    }
    EXPECT_NEAR(highest, column.cell.end_ns <= us(500) ? 0.3 : 0.9, 1e-12);
  }
}

TEST_F(TimelineCounters, AreFoldedWhereThereAreMany) {
  show(2);
  for (const SceneRow* row : counters()) EXPECT_TRUE(row->is_open);
  const double height = counters().front()->height;
  show(30);
  ASSERT_EQ(counters().size(), 30u);
  for (const SceneRow* row : counters()) EXPECT_FALSE(row->is_open);
  EXPECT_LT(counters().front()->height, height);
  canvas().scene().fold(canvas().scene().index_of(*counters()[4]));
  canvas().scene().lay_out();
  EXPECT_TRUE(counters()[4]->is_open);
  EXPECT_FALSE(counters()[5]->is_open);
}

}  // namespace
}  // namespace foreshard::gui
