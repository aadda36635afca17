// The memory view driven by real keys and mouse.
#include <QTemporaryDir>
#include <algorithm>
#include <memory>

#include "gui/models/base/units_text.hpp"
#include "models/llama/llama_config.hpp"
#include "simulator/predict/prediction.hpp"
#include "tests/gui/memory/shown_memory.hpp"

namespace foreshard::gui {
namespace {

using MemoryViewTest = ShownMemory;

// A prediction of a tiny model on a device that is too small, or large enough.
DocumentPtr predicted(std::int64_t device_memory) {
  Plan plan;
  plan.batch.micro_batch = 4;
  const auto job = make_job(*load_llama_config("llama-tiny-3m"), plan, "plan", 2);
  simulator::PredictionOptions options;
  options.keeps_memory_records = true;
  options.device_memory = device_memory;
  auto run = std::make_shared<PredictedRun>(PredictedRun{*job, simulator::predict(*job, options)});
  auto document = std::make_shared<Document>(
      *make_document(simulator::to_trace(*job, run->prediction, "test"), Source::what_if, {}, {}));
  document->run = run;
  return document;
}

TEST_F(MemoryViewTest, OpensAtThePeakInTheDevicesTime) {
  show_random();
  EXPECT_EQ(view.clock(), MemoryClock::device_time);
  EXPECT_EQ(view.sample(), curve().peak());
  EXPECT_FALSE(session.selection().cursor_ns());  // nobody has chosen a moment yet
  EXPECT_EQ(sentence().lead, QStringLiteral("Peak:"));
  EXPECT_TRUE(view.status().startsWith(QStringLiteral("1 row = ")));
}

TEST_F(MemoryViewTest, AClickMovesTheCursorOfAllViews) {
  show_random();
  const QRectF area = view.canvas().plot_area();
  const QPoint point(static_cast<int>(area.left() + area.width() / 3), 200);
  const auto expected = view.canvas().sample_at(point.x());
  QTest::mouseClick(view.canvas().viewport(), Qt::LeftButton, {}, point);
  wait_for(view);
  ASSERT_TRUE(expected);
  EXPECT_EQ(view.sample(), expected);
  EXPECT_EQ(session.selection().cursor_ns(), curve().position(MemoryClock::device_time, *expected));
}

TEST_F(MemoryViewTest, TheSameStretchOfTimeIsShownInAnyWidth) {
  show_random();
  const traces::Interval window = session.axis().window();
  for (const int width : {700, 1300, 900}) {
    view.resize(width, 800);
    QCoreApplication::processEvents();
    EXPECT_EQ(session.axis().width(), view.canvas().plot_area().width());
    EXPECT_NEAR(static_cast<double>(session.axis().end_ns()), static_cast<double>(window.end_ns),
                2);
    session.axis().set_width(333);  // as a view that is not shown may
    EXPECT_EQ(session.axis().width(), view.canvas().plot_area().width());
  }
}

TEST_F(MemoryViewTest, TheLegendNamesEveryCategoryInAnyWidth) {
  session.add(predicted(std::int64_t{1} << 30));
  wait_for(view);
  auto& legend = *view.findChild<MemoryLegend*>();
  EXPECT_GT(legend.heightForWidth(680), legend.heightForWidth(2400));
  for (const int width : {680, 2400}) {
    view.resize(width, 800);
    QCoreApplication::processEvents();
    EXPECT_EQ(legend.height(), legend.heightForWidth(width));
  }
}

TEST_F(MemoryViewTest, FollowsTheCursorOfOtherViews) {
  show_random();
  const std::int64_t moment = curve().position(MemoryClock::device_time, 500);
  session.selection().set_cursor(moment);
  wait_for(view);
  EXPECT_EQ(view.sample(), curve().sample_at(MemoryClock::device_time, moment));
}

TEST_F(MemoryViewTest, TCyclesTheClocksAndTheSampleStays) {
  show_random();
  const auto sample = view.sample();
  for (const auto clock :
       {MemoryClock::host_time, MemoryClock::event_order, MemoryClock::device_time}) {
    press(Qt::Key_T);
    EXPECT_EQ(view.clock(), clock);
    EXPECT_EQ(view.sample(), sample);
  }
}

TEST_F(MemoryViewTest, KGoesToThePeakAndShowsIt) {
  show_random();
  session.axis().show({0, 100});
  press(Qt::Key_K);
  EXPECT_EQ(view.sample(), curve().peak());
  const std::int64_t at = curve().position(MemoryClock::device_time, curve().peak());
  EXPECT_EQ(session.selection().cursor_ns(), at);
  EXPECT_GE(at, session.axis().start_ns());
  EXPECT_LE(at, session.axis().end_ns());
}

TEST_F(MemoryViewTest, KeysZoomAndPanTheSharedAxis) {
  show_random();
  const auto all = session.everything();
  const std::int64_t tenth = (all.end_ns - all.start_ns) / 10;
  session.axis().show({all.start_ns + 4 * tenth, all.start_ns + 5 * tenth});
  const double before = session.axis().ns_per_pixel();
  press(Qt::Key_W);
  EXPECT_LT(session.axis().ns_per_pixel(), before);
  const std::int64_t start = session.axis().start_ns();
  press(Qt::Key_D);
  EXPECT_GT(session.axis().start_ns(), start);
  press(Qt::Key_A);
  EXPECT_EQ(session.axis().start_ns(), start);
  press(Qt::Key_0);
  EXPECT_LE(session.axis().start_ns(), session.everything().start_ns);
  const auto sample = *view.sample();
  press(Qt::Key_Comma);
  EXPECT_EQ(view.sample(), sample - 1);
  press(Qt::Key_Period);
  EXPECT_EQ(view.sample(), sample);
}

TEST_F(MemoryViewTest, EventOrderHasAWindowOfItsOwn) {
  show_random();
  const std::int64_t start = session.axis().start_ns();
  press(Qt::Key_T);
  press(Qt::Key_T);
  ASSERT_EQ(view.clock(), MemoryClock::event_order);
  press(Qt::Key_W);
  press(Qt::Key_D);
  EXPECT_EQ(session.axis().start_ns(), start);
}

TEST_F(MemoryViewTest, ShiftDragMarksARangeAndEscapeClearsIt) {
  show_random();
  QWidget* canvas = view.canvas().viewport();
  QTest::mousePress(canvas, Qt::LeftButton, Qt::ShiftModifier, {300, 200});
  QTest::mouseMove(canvas, {500, 200});
  QTest::mouseRelease(canvas, Qt::LeftButton, Qt::ShiftModifier, {500, 200});
  ASSERT_TRUE(session.selection().range());
  EXPECT_EQ(session.selection().range()->start_ns,
            session.axis().ns_at(300 - MemoryCanvas::gutter()));
  EXPECT_EQ(session.selection().range()->end_ns,
            session.axis().ns_at(500 - MemoryCanvas::gutter()));
  press(Qt::Key_Escape);
  EXPECT_FALSE(session.selection().range());
}

TEST_F(MemoryViewTest, ABlockOfTheMapIsSelectedByAClick) {
  show_random();
  const auto live = view.memory()
                        ->states()
                        .after(curve().events(*view.sample()))
                        .tally.device_blocks()
                        .begin()
                        ->second;
  const QRectF box = view.map().box_of(live);
  ASSERT_FALSE(box.isEmpty());
  QTest::mouseClick(&view.map(), Qt::LeftButton, {}, box.center().toPoint());
  ASSERT_NE(view.map().selected(), nullptr);
  EXPECT_EQ(view.map().block_at(box.center())->allocation, view.map().selected());
  press(Qt::Key_Escape);
  EXPECT_EQ(view.map().selected(), nullptr);
}

// Of the run at random, a block whose memory is used before it and after it.
TEST_F(MemoryViewTest, ABlockIsFollowedThroughTime) {
  show_random();
  const auto& events = view.memory()->states().events();
  BlockLife life;
  for (auto at = events.begin() + 500; life.before == nullptr || life.completed == nullptr; ++at) {
    if (at->action == traces::MemoryAction::alloc) life = view.memory()->life(at);
  }
  const auto sample_of = [&](traces::MemoryEventPointer event) {
    return view.memory()->sample_of(event);
  };
  view.map().select(life.allocation);
  wait_for(view);
  press(Qt::Key_F);
  const traces::Interval shown = session.axis().window();
  EXPECT_LE(shown.start_ns, curve().position(view.clock(), sample_of(life.allocation)));
  EXPECT_GE(shown.end_ns, curve().position(view.clock(), sample_of(life.freed)));
  EXPECT_LT(shown.end_ns - shown.start_ns, session.everything().end_ns / 2);
  press(Qt::Key_BracketLeft);
  EXPECT_EQ(view.sample(), sample_of(life.allocation));
  EXPECT_FALSE(view.map().box_of(life.allocation).isEmpty());
  const std::int64_t allocated = curve().position(view.clock(), sample_of(life.allocation));
  session.axis().show({allocated - 10, allocated + 10});
  press(Qt::Key_BracketRight);
  EXPECT_EQ(view.sample(), sample_of(life.freed));
  const std::int64_t freed = curve().position(view.clock(), *view.sample());
  ASSERT_GT(freed, session.axis().bounds().start_ns);
  EXPECT_LE(session.axis().start_ns(), freed);
  EXPECT_GE(session.axis().end_ns(), freed);
  press(Qt::Key_T);
  press(Qt::Key_T);
  press(Qt::Key_R);
  EXPECT_FALSE(session.selection().range());  // the order of events has no time
  press(Qt::Key_T);
  press(Qt::Key_R);
  EXPECT_TRUE(session.selection().range());
  EXPECT_EQ(view.map().selected(), life.allocation);  // though it is freed
  press(Qt::Key_BraceRight, Qt::ShiftModifier);
  EXPECT_EQ(view.map().selected(), life.after);
  EXPECT_EQ(view.sample(), sample_of(life.after));
  press(Qt::Key_BraceLeft, Qt::ShiftModifier);
  press(Qt::Key_BraceLeft, Qt::ShiftModifier);
  EXPECT_EQ(view.map().selected(), life.before);
  FactList* facts = nullptr;  // of the block
  const auto next = [](const Fact& fact) { return fact.label == QStringLiteral("Here next"); };
  for (FactList* list : inspector().findChildren<FactList*>()) {
    if (std::ranges::any_of(list->facts(), next)) facts = list;
  }
  ASSERT_NE(facts, nullptr);
  const auto row = std::ranges::find_if(facts->facts(), next) - facts->facts().begin();
  EXPECT_TRUE(facts_text(facts->facts()).contains(QStringLiteral("forward  model.py:81")));
  QTest::mouseClick(facts, Qt::LeftButton, {}, facts->row_centre(static_cast<int>(row)));
  wait_for(view);
  EXPECT_EQ(view.map().selected(), life.allocation);
}

TEST_F(MemoryViewTest, BComparesWithAnotherMoment) {
  show_random();
  const std::size_t since = *view.sample();
  press(Qt::Key_B);
  EXPECT_EQ(view.since(), since);
  for (int n = 0; n < 40; ++n) press(Qt::Key_Comma);
  const std::int64_t change = curve().allocated(since - 40) - curve().allocated(since);
  ASSERT_LT(change, 0);
  const QString text = inspector().as_text();
  EXPECT_TRUE(text.contains(QStringLiteral("allocated\t") + exact_bytes(change)))
      << qPrintable(text);
  EXPECT_TRUE(text.contains(QStringLiteral("since"))) << qPrintable(text);
  QTest::mouseClick(&inspector().compare(), Qt::LeftButton);
  wait_for(view);
  EXPECT_FALSE(view.since());
  EXPECT_TRUE(inspector().as_text().contains(exact_bytes(curve().allocated(since - 40))));
}

TEST_F(MemoryViewTest, OwnersByCodeAreThereWhereStacksWereRecorded) {
  show_random();
  for (int n = 0; n < 2; ++n) QTest::keyClick(&inspector().owners_by(), Qt::Key_Right);
  EXPECT_EQ(inspector().owners_by().current(), static_cast<int>(OwnersBy::code));
  EXPECT_TRUE(inspector().as_text().contains(QStringLiteral("forward  model.py:81")));
  session.add(predicted(std::int64_t{1} << 30));  // which has none
  wait_for(view);
  EXPECT_NE(inspector().owners_by().current(), static_cast<int>(OwnersBy::code));
  EXPECT_FALSE(inspector().owners().shown_rows().empty());
}

TEST_F(MemoryViewTest, OwnersOpenAndCloseByMouseAndKeys) {
  show_random();
  OwnerTree& owners = inspector().owners();
  const qsizetype rows = owners.shown_rows().size();
  ASSERT_GT(rows, 1);
  QTest::mouseClick(owners.viewport(), Qt::LeftButton, {},
                    owners.visualItemRect(owners.topLevelItem(0)).center());
  EXPECT_LT(owners.shown_rows().size(), rows);  // the largest group was open
  QTest::keyClick(&owners, Qt::Key_Return);
  EXPECT_EQ(owners.shown_rows().size(), rows);
  QTest::keyClick(&owners, Qt::Key_Left);
  EXPECT_LT(owners.shown_rows().size(), rows);
  QTest::keyClick(&owners, Qt::Key_Right);
  EXPECT_EQ(owners.shown_rows().size(), rows);
  EXPECT_EQ(owners.height(), owners.visualItemRect(owners.shown_rows().back()).bottom() + 1);
  QTest::keyClick(&inspector().owners_by(), Qt::Key_Right);
  EXPECT_EQ(inspector().owners_by().current(), 1);
  EXPECT_NE(inspector().as_text().indexOf(QStringLiteral("matmul")), -1);
}

TEST_F(MemoryViewTest, WithoutMemoryASentenceStandsThere) {
  show(traces::Trace());
  EXPECT_EQ(sentence().state, Role::warn);
  EXPECT_FALSE(view.sample());
  for (const int key : {Qt::Key_K, Qt::Key_T, Qt::Key_W, Qt::Key_Comma}) press(key);
  session.close(0);
  wait_for(view);
  EXPECT_EQ(view.memory(), nullptr);
}

TEST_F(MemoryViewTest, WhatIsHiddenIsNotComputed) {
  show_random();
  view.hide();
  session.add(make_document(tests::random_memory(500, 9), Source::measured, {}, {}));
  EXPECT_FALSE(view.is_busy());
  EXPECT_EQ(view.memory(), nullptr);
  view.show();
  wait_for(view);
  EXPECT_EQ(&view.memory()->trace(), session.current()->trace.get());
  view.hide();
  const std::int64_t moment = curve().position(MemoryClock::device_time, 100);
  session.selection().set_cursor(moment);
  view.show();
  wait_for(view);
  EXPECT_EQ(view.sample(), curve().sample_at(MemoryClock::device_time, moment));
}

TEST_F(MemoryViewTest, TheNewestDocumentWins) {
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    session.add(make_document(tests::random_memory(3000, seed), Source::measured, {}, {}));
  }
  wait_for(view);
  EXPECT_EQ(&view.memory()->trace(), session.current()->trace.get());
}

TEST(MemoryViewAlone, ClosingWhileItLoadsIsClean) {
  Session session;
  for (int n = 0; n < 5; ++n) {
    auto view = std::make_unique<MemoryView>(session);
    view->show();
    session.add(make_document(tests::random_memory(20000, 1), Source::measured, {}, {}));
    EXPECT_TRUE(view->is_busy());
  }
}

TEST_F(MemoryViewTest, APredictionThatFitsSaysWhatIsToSpare) {
  session.add(predicted(std::int64_t{1} << 30));
  wait_for(view);
  EXPECT_EQ(sentence().state, Role::ok);
  EXPECT_EQ(sentence().lead, QStringLiteral("The step fits:"));
  EXPECT_TRUE(view.as_text().contains(QStringLiteral("Allocated memory is highest")));
}

TEST_F(MemoryViewTest, APredictionThatDoesNotFitIsShownUpToThere) {
  session.add(predicted(std::int64_t{24} << 20));
  wait_for(view);
  EXPECT_EQ(sentence().state, Role::error);
  EXPECT_EQ(sentence().lead, QStringLiteral("Does not fit:"));
  EXPECT_EQ(view.sample(), curve().failure());
}

TEST_F(MemoryViewTest, WhatWouldLowerItListsChangesOfThePlan) {
  session.add(predicted(std::int64_t{1} << 30));
  wait_for(view);
  QTest::mouseClick(&inspector().ask(), Qt::LeftButton);
  EXPECT_TRUE(view.changes().isVisible());
  wait_for(view);
  const MemoryChanges& found = view.changes().changes();
  EXPECT_EQ(found.present.peak_reserved, curve().peak_reserved());
  ASSERT_FALSE(found.changes.empty());
  EXPECT_TRUE(sentence().detail.endsWith(advice(found)));
  EXPECT_TRUE(advice(found).contains(found.changes.front().change));
  for (const MemoryChange& change : found.changes) {
    EXPECT_LT(change.peak_reserved, found.present.peak_reserved);
  }
  const DataTable& table = view.changes().table();
  EXPECT_EQ(table.model()->rowCount(), static_cast<int>(found.changes.size()) + 1);
  for (int column = 0; column < table.model()->columnCount(); ++column) {
    if (table.model()->headerData(column, Qt::Horizontal) != QStringLiteral("Step time")) continue;
    EXPECT_EQ(table.isColumnHidden(column), !found.present.step_time_ns);
  }
}

TEST_F(MemoryViewTest, ASnapshotOpensInEventOrderAndIsReplayed) {
  const auto document = open_document(FORESHARD_SOURCE_DIR "/traces/samples/snapshot.pickle");
  ASSERT_TRUE(document) << document.error().text();
  session.add(*document);
  wait_for(view);
  EXPECT_EQ(view.clock(), MemoryClock::event_order);
  EXPECT_EQ(sentence().lead, QStringLiteral("Out of memory:"));
  QTest::mouseClick(&inspector().ask(), Qt::LeftButton);
  wait_for(view);
  const MemoryChanges& found = view.changes().changes();
  ASSERT_NE(found.history, nullptr) << qPrintable(found.trouble);
  EXPECT_EQ(found.present.fits, false);
  for (const MemoryChange& change : found.changes) {
    if (change.settings.empty()) continue;
    std::int64_t most = 0;
    for (const auto& [event, bytes] : replayed_reserved(*found.history, change.settings)) {
      most = std::max(most, bytes);
    }
    EXPECT_EQ(most, change.peak_reserved) << change.settings;
  }
}

TEST_F(MemoryViewTest, OfAFolderTheSnapshotOfTheShownRankIsReplayed) {
  const QTemporaryDir folder;
  for (const char* name : {"rank0_snapshot.pickle", "rank1_snapshot.pickle"}) {
    ASSERT_TRUE(QFile::copy(QStringLiteral(FORESHARD_SOURCE_DIR "/traces/samples/snapshot.pickle"),
                            folder.filePath(QString::fromLatin1(name))));
  }
  const auto document = open_document(folder.path().toStdString());
  ASSERT_TRUE(document) << document.error().text();
  session.add(*document);
  session.selection().set_rank(1);
  wait_for(view);
  QTest::mouseClick(&inspector().ask(), Qt::LeftButton);
  wait_for(view);
  EXPECT_EQ(curve().rank(), 1);
  const MemoryChanges& found = view.changes().changes();
  ASSERT_NE(found.history, nullptr) << qPrintable(found.trouble);
  EXPECT_EQ(found.present.fits, false);
}

TEST_F(MemoryViewTest, AHistoryOfTheAllocatorIsReplayed) {
  const auto document = open_document(FORESHARD_SOURCE_DIR "/traces/samples/history.jsonl.gz");
  ASSERT_TRUE(document) << document.error().text();
  session.add(*document);
  wait_for(view);
  QTest::mouseClick(&inspector().ask(), Qt::LeftButton);
  wait_for(view);
  const MemoryChanges& found = view.changes().changes();
  ASSERT_NE(found.history, nullptr) << qPrintable(found.trouble);
  EXPECT_EQ(found.present.peak_reserved, curve().peak_reserved());
  EXPECT_FALSE(found.changes.empty());
}

// 38 of 64 MiB, as `foreshard inspect` has it; the profiler does not say where they lie.
TEST_F(MemoryViewTest, ARecordingWithoutSegmentsKnowsWhatIsFreeButNotWhere) {
  const auto document = open_document(FORESHARD_SOURCE_DIR "/traces/samples/drawn_gpu");
  ASSERT_TRUE(document) << document.error().text();
  session.add(*document);
  wait_for(view);
  EXPECT_TRUE(sentence().detail.contains(QStringLiteral("26.00 MiB are reserved but free")))
      << qPrintable(sentence().detail);
}

TEST_F(MemoryViewTest, EveryRecordingOfTheSamplesIsShown) {
  for (const char* name :
       {"run.fst.gz", "out_of_memory.fst.gz", "drawn_gpu", "pytorch_cpu", "snapshot.pickle"}) {
    const auto document =
        open_document(std::string(FORESHARD_SOURCE_DIR "/traces/samples/") + name);
    ASSERT_TRUE(document) << document.error().text();
    session.add(*document);
    wait_for(view);
    EXPECT_FALSE(sentence().lead.isEmpty());
    EXPECT_FALSE(view.grab().isNull());
  }
}

}  // namespace
}  // namespace foreshard::gui
