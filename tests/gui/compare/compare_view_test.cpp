// The comparison view driven by real keys and mouse.
#include <set>

#include "gui/views/base/segmented_control.hpp"
#include "gui/views/compare/compare_layout.hpp"
#include "tests/gui/compare/shown_comparison.hpp"

namespace foreshard::gui {
namespace {

using CompareViewTest = ShownComparison;

TEST_F(CompareViewTest, SaysHowToOpenASecondTrace) {
  EXPECT_FALSE(view.is_busy());
  session.add(
      make_document(tests::two_runs().baseline, Source::measured, QStringLiteral("run"), {}));
  wait();
  EXPECT_EQ(view.comparison(), nullptr);
  EXPECT_FALSE(view.grab().isNull());
}

TEST_F(CompareViewTest, PutsTheMeasuredOneFirst) {
  tests::TwoRuns runs = tests::two_runs();
  session.add(make_document(std::move(runs.candidate), Source::predicted, QStringLiteral("p"), {}));
  session.add(make_document(std::move(runs.baseline), Source::measured, QStringLiteral("m"), {}));
  wait();
  EXPECT_EQ(compared_documents(session), (ComparedDocuments{1, 0}));
  EXPECT_TRUE(view.comparison()->whole->has_prediction);
}

TEST_F(CompareViewTest, AnswersInWordsAndDrawsAllArrangements) {
  open_both();
  EXPECT_EQ(sentence().lead, view.comparison()->words.lead);
  EXPECT_TRUE(view.status().contains(QStringLiteral("step 3 · rank 0")));
  auto* control = view.strip()->findChild<SegmentedControl*>();
  for (const int key : {Qt::Key_Right, Qt::Key_Right}) {
    QTest::keyClick(control, static_cast<Qt::Key>(key));
    EXPECT_FALSE(view.grab().isNull());
  }
  EXPECT_EQ(canvas().arrangement(), Arrangement::overlay);
}

TEST_F(CompareViewTest, DifferencesHaveRoomInAnyWindow) {
  open_both();
  for (const QSize size : {QSize(680, 500), QSize(960, 700), QSize(1280, 900), QSize(2240, 1330)}) {
    view.resize(size);
    QCoreApplication::processEvents();
    EXPECT_GE(causes().columnWidth(CausesModel::difference), 150) << size.width();
    EXPECT_FALSE(causes().isColumnHidden(CausesModel::candidate));
    EXPECT_LE(canvas().width(), size.width());
    // The table begins where the canvas ends.
    const int canvas_end = canvas().mapTo(&view, QPoint(0, canvas().sizeHint().height())).y();
    const int table_top = causes().mapTo(&view, QPoint(0, 0)).y();
    EXPECT_LT(table_top - canvas_end, 60) << size.height();
  }
  EXPECT_FALSE(causes().isColumnHidden(CausesModel::category));
}

TEST_F(CompareViewTest, SaysWhereThePredictedTimesComeFrom) {
  open_both();
  view.resize(2240, 1330);
  QCoreApplication::processEvents();
  ASSERT_FALSE(causes().isColumnHidden(CausesModel::costs));
  for (int row = 0; row < causes().model()->rowCount(); ++row) {
    const auto cell = [&](int column) {
      return causes().model()->index(row, column).data().toString();
    };
    EXPECT_EQ(cell(CausesModel::costs), cell(CausesModel::name) == QStringLiteral("matmul")
                                            ? QStringLiteral("fitted")
                                            : QStringLiteral("measured"));
  }
}

TEST_F(CompareViewTest, OfMeasuredRunsThereAreNoCostsToTell) {
  for (int n = 0; n < 2; ++n) {
    session.add(
        make_document(tests::two_runs().baseline, Source::measured, QStringLiteral("run"), {}));
  }
  wait();
  EXPECT_TRUE(causes().isColumnHidden(CausesModel::costs));
}

TEST_F(CompareViewTest, BracketsWalkFromTheWorstDifferenceOn) {
  open_both();
  const std::string worst = causes().current()->name;
  EXPECT_EQ(worst, view.comparison()->causes.front().name);
  EXPECT_FALSE(session.selection().event());
  QTest::keyClick(&view, Qt::Key_BracketRight);
  const std::string next = view.comparison()->causes[1].name;
  EXPECT_EQ(causes().current()->name, next);
  const EventId pair{0, view.comparison()->step.worst_pair(next)->events.baseline};
  EXPECT_EQ(session.selection().event(), pair);
  QTest::keyClick(&view, Qt::Key_BracketLeft);
  EXPECT_EQ(causes().current()->name, worst);
}

TEST_F(CompareViewTest, CommaAndPeriodWalkAlongTheLane) {
  open_both();
  const auto& boxes = view.comparison()->step.lanes.front().candidate.boxes;
  ASSERT_GE(boxes.size(), 3U);
  session.selection().select(EventId{1, boxes[1].event});
  QTest::keyClick(&view, Qt::Key_Period);
  EXPECT_EQ(session.selection().event(), (EventId{1, boxes[2].event}));
  QTest::keyClick(&view, Qt::Key_Comma);
  QTest::keyClick(&view, Qt::Key_Comma);
  EXPECT_EQ(session.selection().event(), (EventId{1, boxes[0].event}));
  QTest::keyClick(&view, Qt::Key_Comma);  // there is none before it
  EXPECT_EQ(session.selection().event(), (EventId{1, boxes[0].event}));
}

TEST_F(CompareViewTest, CommaAndPeriodChangeTheStepWhereNothingIsSelected) {
  open_both();
  const StepChoice shown = view.comparison()->step.choice;
  QTest::keyClick(&view, Qt::Key_Comma);
  wait();
  EXPECT_EQ(view.comparison()->step.choice.baseline_step, shown.baseline_step - 1);
  QTest::keyClick(&view, Qt::Key_Period);
  wait();
  EXPECT_EQ(view.comparison()->step.choice, shown);
}

TEST_F(CompareViewTest, AClickSelectsTheEventForAllViews) {
  open_both();
  const ComparedPair& pair = view.comparison()->step.pairs[3];
  QTest::mouseClick(&canvas(), Qt::LeftButton, {},
                    canvas().centre_of(true, pair.events.candidate).toPoint());
  const EventId expected{1, pair.events.candidate};
  EXPECT_EQ(session.selection().event(), expected);
  EXPECT_EQ(causes().current()->name, pair.name);
}

TEST_F(CompareViewTest, EnterOnACauseZoomsToItsWorstPair) {
  open_both();
  const traces::Interval whole = canvas().axis().window();
  QTest::keyClick(&causes(), Qt::Key_Return);
  const traces::Interval closer = canvas().axis().window();
  EXPECT_LT(closer.end_ns - closer.start_ns, (whole.end_ns - whole.start_ns) / 4);
  EXPECT_TRUE(session.selection().event());
}

TEST_F(CompareViewTest, TheTextHasTheTable) {
  open_both();
  const QStringList lines = view.as_text().split(QLatin1Char('\n'));
  EXPECT_TRUE(lines.contains(QStringLiteral(
      "operator\tevents\tmeasured\tpredicted\tdifference, ms a step\t%\tkind\tcosts")));
  EXPECT_TRUE(lines.last().startsWith(QStringLiteral("add\t6\t")) ||
              lines.last().startsWith(QStringLiteral("matmul\t6\t")));
}

TEST_F(CompareViewTest, IsStoppedByCancel) {
  tests::TwoRuns runs = tests::two_runs();
  session.add(make_document(std::move(runs.baseline), Source::measured, QStringLiteral("m"), {}));
  session.add(make_document(std::move(runs.candidate), Source::predicted, QStringLiteral("p"), {}));
  auto* cancel = view.findChild<QPushButton*>();
  ASSERT_TRUE(cancel->isVisible());
  QTest::mouseClick(cancel, Qt::LeftButton);
  wait();
  EXPECT_EQ(view.comparison(), nullptr);
  EXPECT_FALSE(cancel->isVisible());
  QTest::keyClick(&view, Qt::Key_BracketRight);  // of nothing
  session.set_current(0);
  wait();
  EXPECT_NE(view.comparison(), nullptr);
}

TEST_F(CompareViewTest, ZoomsPansAndFits) {
  open_both();
  const auto whole = canvas().axis().window();
  QTest::keyClick(&view, Qt::Key_W);
  const auto closer = canvas().axis().window();
  EXPECT_LT(closer.end_ns - closer.start_ns, whole.end_ns - whole.start_ns);
  QTest::keyClick(&view, Qt::Key_D);
  EXPECT_GT(canvas().axis().start_ns(), closer.start_ns);
  QTest::keyClick(&view, Qt::Key_F);
  EXPECT_EQ(canvas().axis().window(), whole);
}

TEST_F(CompareViewTest, AUnitThatFillsTheWindowHasItsNameInTheMiddle) {
  open_both();
  QRectF row;
  for (int n = 0; row.isNull(); ++n) {
    const AccessibleItem item = canvas().accessible_row(n);
    if (item.text.startsWith(QStringLiteral("Units, measured"))) row = item.box;
  }
  const double middle = (lane_left() + canvas().width()) / 2;
  const auto has_text = [&] {
    const QRect around(static_cast<int>(middle) - 12, static_cast<int>(row.top()) + 5, 24, 14);
    const QImage shown = canvas().grab(around).toImage();
    std::set<QRgb> colours;
    for (int x = 0; x < shown.width(); ++x) colours.insert(shown.pixel(x, shown.height() / 2));
    return colours.size() > 2;
  };
  QTest::mouseMove(&canvas(), QPoint(static_cast<int>(middle), static_cast<int>(row.center().y())));
  for (int zoom = 0; zoom < 8; ++zoom) QTest::keyClick(&view, Qt::Key_W, Qt::ShiftModifier);
  EXPECT_TRUE(has_text());
}

TEST_F(CompareViewTest, AltAndArrowsChooseOtherSteps) {
  open_both();
  QTest::keyClick(&view, Qt::Key_Right, Qt::AltModifier);
  wait();
  EXPECT_EQ(view.comparison()->step.choice, (StepChoice{0, 4, 4}));
}

TEST_F(CompareViewTest, ClosesWhileItComputes) {
  tests::TwoRuns runs = tests::two_runs();
  Session other;
  auto closing = std::make_unique<CompareView>(other);
  closing->show();
  other.add(make_document(std::move(runs.baseline), Source::measured, QStringLiteral("m"), {}));
  other.add(make_document(std::move(runs.candidate), Source::predicted, QStringLiteral("p"), {}));
  EXPECT_TRUE(closing->is_busy());
  closing.reset();
  QTest::qWait(50);
}

TEST_F(CompareViewTest, ComparesSnapshotsRequestByRequest) {
  const std::string sample = FORESHARD_SOURCE_DIR "/traces/samples/snapshot.pickle";
  for (int n = 0; n < 2; ++n) {
    const auto document = open_document(sample);
    ASSERT_TRUE(document) << document.error().text();
    session.add(*document);
  }
  wait();
  EXPECT_EQ(view.comparison(), nullptr);
  EXPECT_EQ(sentence().lead.toStdString(),
            "Both requested exactly the same memory, in the same order.");
  session.close(1);
  wait();
}

}  // namespace
}  // namespace foreshard::gui
