// The comparison view driven by real keys and mouse.
#include <QHeaderView>
#include <set>

#include "gui/paint/theme.hpp"
#include "gui/views/base/choices.hpp"
#include "gui/views/compare/waterfall_plot.hpp"
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
  EXPECT_EQ(usual_documents(session), (ComparedDocuments{1, 0}));
  EXPECT_TRUE(view.comparison()->whole->has_prediction);
}

TEST_F(CompareViewTest, AnswersInWordsAndDrawsAllArrangements) {
  open_both();
  EXPECT_EQ(sentence().lead, view.comparison()->words.lead);
  EXPECT_TRUE(view.status().contains(QStringLiteral("Step 3 of both · rank 0")));
  auto* control = view.strip()->findChild<SegmentedControl*>();
  for (const int key : {Qt::Key_Right, Qt::Key_Right}) {
    QTest::keyClick(control, static_cast<Qt::Key>(key));
    EXPECT_FALSE(view.grab().isNull());
  }
  EXPECT_EQ(canvas().arrangement(), Arrangement::overlay);
}

TEST_F(CompareViewTest, DifferencesHaveRoomInAnyWindow) {
  open_both();
  for (const QSize size :
       {QSize(560, 500), QSize(680, 500), QSize(960, 700), QSize(1280, 900), QSize(2240, 1330)}) {
    view.resize(size);
    QCoreApplication::processEvents();
    const QHeaderView& header = *causes().horizontalHeader();
    EXPECT_GE(causes().columnWidth(CausesTable::kDifference),
              std::max(170, header.sectionSizeHint(CausesTable::kDifference)))
        << size.width();
    EXPECT_FALSE(causes().isColumnHidden(CausesTable::kCandidate));
    EXPECT_LE(canvas().width(), size.width());
    // The table begins where the canvas ends.
    const int canvas_end = canvas().mapTo(&view, QPoint(0, canvas().sizeHint().height())).y();
    const int table_top = causes().mapTo(&view, QPoint(0, 0)).y();
    EXPECT_LT(table_top - canvas_end, 60) << size.height();
  }
  EXPECT_FALSE(causes().isColumnHidden(CausesTable::kCategory));
}

TEST_F(CompareViewTest, EveryKernelIsDrawnWhereItIsFound) {
  open_both();
  for (const auto arrangement :
       {Arrangement::by_clock, Arrangement::by_instruction, Arrangement::overlay}) {
    canvas().set_arrangement(arrangement);
    for (int round = 0; round < 3; ++round) {  // tiles are asked for by what is painted
      view.grab();
      wait();
    }
    const QImage shown = canvas().viewport()->grab().toImage();
    for (const ComparedPair& pair : view.comparison()->step.pairs) {
      for (const bool is_candidate : {false, true}) {
        const std::int32_t event = is_candidate ? pair.events.candidate : pair.events.baseline;
        const QPointF centre = canvas().centre_of(is_candidate, event);
        ASSERT_GT(centre.x(), lane_left());
        EXPECT_NE(shown.pixelColor(centre.toPoint() + QPoint(0, 4)), theme()[Role::canvas]);
        const auto hit = canvas().event_at(centre);
        ASSERT_TRUE(hit);
        EXPECT_EQ(hit->event, event);
        EXPECT_EQ(hit->is_candidate, is_candidate);
      }
    }
    // Right of the shorter step, and before the longer one ends, there is nothing of the next step.
    const StepSide& baseline = view.comparison()->step.baseline;
    const QPointF end = canvas().centre_of(false, view.comparison()->step.pairs[0].events.baseline);
    if (arrangement == Arrangement::by_clock) {
      const double x = lane_left() + canvas().axis().pixel_of(baseline.length_ns() + 700'000);
      EXPECT_EQ(shown.pixelColor(static_cast<int>(x), static_cast<int>(end.y())),
                theme()[Role::canvas]);
    }
  }
}

TEST_F(CompareViewTest, NoRowIsCut) {
  open_both();
  const QWidget& shown = canvas();
  for (int height = 620; height < 1000; height += 13) {
    view.resize(1200, height);
    for (int round = 0; round < 3; ++round) QCoreApplication::processEvents();
    bool ends_with_row = shown.height() >= canvas().sizeHint().height();
    for (int n = 0; n < canvas().accessible_rows(); ++n) {
      ends_with_row |= std::abs(canvas().accessible_row(n).box.bottom() - shown.height()) < 1;
    }
    EXPECT_TRUE(ends_with_row) << height;
    EXPECT_EQ(causes().viewport()->height() % causes().verticalHeader()->defaultSectionSize(), 0)
        << height;
  }
}

TEST_F(CompareViewTest, TheWaterfallLeavesItsTitleFree) {
  open_both();
  auto comparison = std::make_shared<TraceComparison>(*view.comparison());
  comparison->waterfall = {{"before", 0, 500'000'000, true}};
  for (int n = 0; n < 6; ++n) {  // as high as one another: each label stands on the one before
    const std::int64_t at = comparison->waterfall.back().to_ns;
    comparison->waterfall.push_back({"part", at, at + (n < 3 ? 90'000'000 : 0), false});
  }
  comparison->waterfall.push_back({"after", 0, 770'000'000, true});
  WaterfallPlot plot;
  const auto title = [&](int height) {
    plot.resize(220, height);
    return plot.grab(QRect(10, 0, 210, 32)).toImage();
  };
  plot.set_comparison(view.comparison());
  const QImage alone = title(2000);
  plot.set_comparison(comparison);
  EXPECT_EQ(title(150), alone);
  EXPECT_EQ(title(240), alone);
}

TEST_F(CompareViewTest, ThePictureSaysWhichStepOfHowManyItIs) {
  open_both();
  QStringList rows;
  for (int n = 0; n < canvas().accessible_rows(); ++n) rows << canvas().accessible_row(n).text;
  EXPECT_TRUE(rows.contains(QStringLiteral("Step 3 of both")));
  EXPECT_TRUE(
      rows.contains(QStringLiteral("step 3: ends +6.000 ms apart (medians of 2 steps: +6.000 ms)")))
      << rows.join(QLatin1Char('\n')).toStdString();
}

TEST_F(CompareViewTest, StepsThatCannotBeComparedHaveNoLengthsBesideTheSentence) {
  tests::TwoRuns runs = tests::two_runs();
  runs.candidate.metadata["unknown_costs"] = "3";
  session.add(make_document(std::move(runs.baseline), Source::measured, QStringLiteral("m"), {}));
  session.add(make_document(std::move(runs.candidate), Source::predicted, QStringLiteral("p"), {}));
  wait();
  ASSERT_FALSE(view.comparison()->are_steps_comparable());
  for (int n = 0; n < canvas().accessible_rows(); ++n) {
    const QString text = canvas().accessible_row(n).text;
    EXPECT_FALSE(text.startsWith(QStringLiteral("Step, ")) && text.contains(QLatin1Char('\t')));
    EXPECT_FALSE(text.contains(QStringLiteral("apart")) && text.contains(QStringLiteral("ends")));
  }
}

TEST_F(CompareViewTest, UnitsWithoutCounterpartsAreSaidToBe) {
  tests::TwoRuns runs = tests::two_runs();
  runs.candidate.events.update_all([](traces::Event& event) { event.stable_key = 0; });
  session.add(make_document(std::move(runs.baseline), Source::measured, QStringLiteral("m"), {}));
  session.add(make_document(std::move(runs.candidate), Source::predicted, QStringLiteral("p"), {}));
  wait();
  EXPECT_TRUE(view.comparison()->step.ribbons.empty());
  for (int n = 0; n < canvas().accessible_rows(); ++n) {
    const AccessibleItem row = canvas().accessible_row(n);
    if (!row.text.startsWith(QStringLiteral("difference"))) continue;
    const QImage shown =
        canvas().viewport()->grab(row.box.adjusted(lane_left(), 0, -4, 0).toRect()).toImage();
    std::set<QRgb> colours;
    for (int x = 0; x < shown.width(); ++x) colours.insert(shown.pixel(x, shown.height() / 2));
    EXPECT_GT(colours.size(), 2u);  // a sentence
  }
}

TEST_F(CompareViewTest, WhatIsComparedCanBeChosenAndStays) {
  const auto add = [&](const char* title) {
    session.add(make_document(tests::two_runs().baseline, Source::measured,
                              QString::fromLatin1(title), {}));
  };
  add("a");
  add("b");
  add("c");
  wait();
  const auto compared = [&] {
    const StepComparison& step = view.comparison()->step;
    return step.baseline.document->title + step.candidate.document->title;
  };
  EXPECT_EQ(compared(), QStringLiteral("ac"));
  const auto choose = [&](const char* box, const char* file) {
    for (auto* one : view.findChildren<ChoiceList*>()) {
      if (one->accessibleName() != QString::fromLatin1(box)) continue;
      QApplication::setKeyboardInputInterval(1);  // until letters begin another name
      QTest::qWait(5);
      one->setFocus();
      QTest::keyClicks(one, QString::fromLatin1(file));
    }
    wait();
  };
  choose("What is compared", "b");
  EXPECT_EQ(compared(), QStringLiteral("bc"));
  session.set_current(0);
  wait();
  EXPECT_EQ(compared(), QStringLiteral("bc"));
  choose("What is compared", "c");  // the two change places
  EXPECT_EQ(compared(), QStringLiteral("cb"));
  session.close(0);
  wait();
  EXPECT_EQ(compared(), QStringLiteral("cb"));
  session.selection().select(EventId{1, view.comparison()->step.pairs[0].events.baseline});
  EXPECT_TRUE(canvas().accessible_selection());
  add("d");
  session.close(0);  // b, one of the two: the usual ones
  wait();
  EXPECT_EQ(compared(), QStringLiteral("cd"));
}

TEST_F(CompareViewTest, FollowsTheRankThatIsChosenElsewhere) {
  tests::TwoRuns runs = tests::two_runs();
  for (traces::Trace* trace : {&runs.baseline, &runs.candidate}) {
    trace->lanes.push_back({1, true, trace->strings.intern("compute")});
    for (const traces::Step& step : std::vector<traces::Step>(trace->steps)) {
      trace->steps.push_back({1, step.step, step.start_ns, step.end_ns, 0, 0});
    }
    traces::Event event = *trace->events.begin();
    event.lane = static_cast<std::int32_t>(trace->lanes.size()) - 1;
    trace->events.push_back(event);
    traces::sort(*trace);
  }
  session.add(make_document(std::move(runs.baseline), Source::measured, QStringLiteral("m"), {}));
  session.add(make_document(std::move(runs.candidate), Source::predicted, QStringLiteral("p"), {}));
  wait();
  EXPECT_EQ(view.comparison()->step.choice.rank, 0);
  session.selection().set_rank(1);
  wait();
  EXPECT_EQ(view.comparison()->step.choice.rank, 1);
  session.selection().set_rank(5);  // which it has not
  wait();
  EXPECT_EQ(view.comparison()->step.choice.rank, 1);
}

TEST_F(CompareViewTest, SaysWhereThePredictedTimesComeFrom) {
  open_both();
  view.resize(2240, 1330);
  QCoreApplication::processEvents();
  ASSERT_FALSE(causes().isColumnHidden(CausesTable::kCosts));
  for (int row = 0; row < causes().model()->rowCount(); ++row) {
    const auto cell = [&](int column) {
      return causes().model()->index(row, column).data().toString();
    };
    EXPECT_EQ(cell(CausesTable::kCosts), cell(CausesTable::kName) == QStringLiteral("matmul")
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
  EXPECT_TRUE(causes().isColumnHidden(CausesTable::kCosts));
}

TEST_F(CompareViewTest, BracketsWalkFromTheWorstDifferenceOn) {
  open_both();
  const std::string worst = causes().current()->name;
  EXPECT_EQ(worst, view.comparison()->causes.front().name);
  EXPECT_FALSE(session.selection().event());
  QTest::keyClick(&view, Qt::Key_BracketRight);
  const std::string next = view.comparison()->causes[1].name;
  EXPECT_EQ(causes().current()->name, next);
  const EventId pair{0, view.comparison()->step.pairs_of(next)->worst.events.baseline};
  EXPECT_EQ(session.selection().event(), pair);
  QTest::keyClick(&view, Qt::Key_BracketLeft);
  EXPECT_EQ(causes().current()->name, worst);
}

TEST_F(CompareViewTest, CommaAndPeriodWalkAlongTheLane) {
  open_both();
  const StepComparison& step = view.comparison()->step;
  const Row& row = step.candidate.document->lanes->rows()[step.lanes.back().candidate.rows.at(0)];
  const std::size_t first = row.first_ending_after(step.candidate.step.start_ns);
  const auto nth = [&](std::size_t n) { return EventId{1, row.event(first + n)}; };
  session.selection().select(nth(1));
  QTest::keyClick(&view, Qt::Key_Period);
  EXPECT_EQ(session.selection().event(), nth(2));
  QTest::keyClick(&view, Qt::Key_Comma);
  QTest::keyClick(&view, Qt::Key_Comma);
  EXPECT_EQ(session.selection().event(), nth(0));
  QTest::keyClick(&view, Qt::Key_Comma);  // there is none before it in the step
  EXPECT_EQ(session.selection().event(), nth(0));
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
  QTest::mouseClick(canvas().viewport(), Qt::LeftButton, {},
                    canvas().centre_of(true, pair.events.candidate).toPoint());
  const EventId expected{1, pair.events.candidate};
  EXPECT_EQ(session.selection().event(), expected);
  EXPECT_EQ(causes().current()->name, view.comparison()->step.name(pair));
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
      "operator\tevents\tmeasured, ms\tpredicted, ms\tdifference, ms a step\t%\tkind\tcosts")));
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
    const QImage shown = canvas().viewport()->grab(around).toImage();
    std::set<QRgb> colours;
    for (int x = 0; x < shown.width(); ++x) colours.insert(shown.pixel(x, shown.height() / 2));
    return colours.size() > 2;
  };
  QTest::mouseMove(canvas().viewport(),
                   QPoint(static_cast<int>(middle), static_cast<int>(row.center().y())));
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
