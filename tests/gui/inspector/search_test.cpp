// The search: the field, what it finds, the table of results, chips and the histogram's brush, against
// a plain look through all events.
#include <QPushButton>
#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

#include "gui/views/base/data_table.hpp"
#include "gui/views/inspector/duration_histogram.hpp"
#include "gui/views/inspector/results_panel.hpp"
#include "tests/gui/inspector/recording.hpp"

namespace foreshard::gui {
namespace {

QString query(const char* text) {
  return QString::fromLatin1(text);
}

class SearchTest : public testing::Test {
 protected:
  SearchTest() : search_(session_), field_(search_), panel_(session_, search_) {
    session_.add(recording());
    panel_.resize(1000, 300);
    panel_.show();
    field_.show();
  }

  const traces::Trace& trace() const { return *session_.current()->trace; }
  traces::Event event(std::int32_t n) const { return trace().events[static_cast<std::size_t>(n)]; }
  const std::vector<EventIndex>& found() const { return search_.result()->hits.events(); }
  QAbstractItemModel& rows() { return *panel_.table().model(); }

  // The buttons that drop a filter, from left to right.
  QList<QPushButton*> chips() {
    QList<QPushButton*> shown;
    for (auto* chip : panel_.findChildren<QPushButton*>()) {
      if (!chip->isHidden()) shown << chip;
    }
    return shown;
  }
  QStringList filters() {
    QStringList names;
    for (const QPushButton* chip : chips()) names << chip->accessibleName();
    return names;
  }

  void look_for(const char* text) {
    field_.setText(query(text));
    ASSERT_TRUE(finishes(search_));
  }
  // By hand: of the name, longer than that.
  std::size_t count(const std::string& name, std::int64_t above_ns) const {
    std::size_t events = 0;
    for (const traces::Event& one : trace().events) {
      events += trace().strings[one.name].find(name) != std::string::npos &&
                one.end_ns - one.start_ns > above_ns;
    }
    return events;
  }

  Session session_;
  Search search_;
  SearchField field_;
  ResultsPanel panel_;
};

// As the ruler and the inspector have it.
TEST(Results, CountTimeFromTheStepOfEach) {
  traces::Trace trace;
  trace.lanes = {{3, true, trace.strings.intern("compute")}};
  trace.steps = {{3, 1, 0, 1'000'000, 0, 0}, {3, 2, 1'000'000, 2'000'000, 0, 0}};
  traces::Event event;
  event.kind = traces::EventKind::compute;
  event.start_ns = 1'120'000;
  event.end_ns = 1'320'000;
  event.step = 2;
  trace.events.push_back(event);
  event.start_ns = 2'500'000;
  event.end_ns = 2'600'000;
  event.step = 0;  // outside of all
  trace.events.push_back(event);
  ResultsModel rows;
  rows.set_events(make_document(std::move(trace), Source::measured, QStringLiteral("run"), {}),
                  {0, 1});
  const auto start = [&](int row) {
    return rows.data(rows.index(row, ResultsModel::kStart), Qt::DisplayRole).toString();
  };
  EXPECT_EQ(start(0), QStringLiteral("2 \u00b7 120.0 us"));
  EXPECT_EQ(start(1), QStringLiteral("2.500 ms"));
}

TEST_F(SearchTest, FindsWhatAPlainLookFinds) {
  look_for("name:matmul dur>50us");
  EXPECT_GT(found().size(), 0U);
  EXPECT_EQ(found().size(), count("matmul", 50'000));
  EXPECT_EQ(rows().rowCount(), static_cast<int>(found().size()));
  EXPECT_EQ(panel_.headline(), query("%1 found").arg(found().size()));
}

TEST_F(SearchTest, NothingIsLookedForUntilSomethingIsTyped) {
  EXPECT_FALSE(search_.is_active());
  EXPECT_EQ(panel_.headline(), query("Type / to search."));
  look_for("matmul");
  look_for("");
  EXPECT_EQ(rows().rowCount(), 0);
}

TEST_F(SearchTest, NoMatchNamesItsFilters) {
  look_for("rank:77 phase:backward");
  EXPECT_EQ(panel_.headline(), query("No event matches. 2 filters are active:"));
  EXPECT_EQ(filters(), (QStringList{query("rank:77"), query("phase:backward")}));
  look_for("no_such_operator");
  EXPECT_EQ(panel_.headline(), query("No event matches."));
}

TEST_F(SearchTest, WhatCannotBeReadIsTold) {
  look_for("dur>soon");
  EXPECT_TRUE(panel_.headline().contains(query("dur>soon")));
  EXPECT_EQ(rows().rowCount(), 0);
}

TEST_F(SearchTest, ChipsDropTheirFilters) {
  look_for("matmul rank:0 phase:backward");
  const std::size_t narrow = found().size();
  EXPECT_EQ(filters(), (QStringList{query("rank:0"), query("phase:backward")}));
  QTest::mouseClick(chips()[1], Qt::LeftButton);
  EXPECT_EQ(field_.text(), query("matmul rank:0"));
  ASSERT_TRUE(finishes(search_));
  EXPECT_GT(found().size(), narrow);
  chips()[0]->setFocus();
  QTest::keyClick(chips()[0], Qt::Key_Space);
  EXPECT_EQ(field_.text(), query("matmul"));
}

TEST_F(SearchTest, EnterGoesFromHitToHitAndAround) {
  look_for("name:reduce_scatter rank:0");
  ASSERT_GT(found().size(), 2U);
  QTest::keyClick(&field_, Qt::Key_Return);
  EXPECT_EQ(session_.selection().event(), (EventId{0, found()[0]}));
  QTest::keyClick(&field_, Qt::Key_Return);
  EXPECT_EQ(session_.selection().event(), (EventId{0, found()[1]}));
  EXPECT_EQ(panel_.table().selectionModel()->selectedRows().value(0).row(), 1);
  QTest::keyClick(&field_, Qt::Key_Return, Qt::ShiftModifier);
  QTest::keyClick(&field_, Qt::Key_Return, Qt::ShiftModifier);
  EXPECT_EQ(session_.selection().event(), (EventId{0, found().back()}));
}

TEST_F(SearchTest, RowsSelectTheirEvents) {
  look_for("all_gather rank:0");
  panel_.table().selectRow(2);
  EXPECT_EQ(session_.selection().event(), (EventId{0, found()[2]}));
  QSignalSpy zoomed(&panel_, &ResultsPanel::zoom_asked);
  panel_.table().setFocus();
  QTest::keyClick(&panel_.table(), Qt::Key_Return);
  EXPECT_EQ(zoomed.count(), 1);
}

TEST_F(SearchTest, HeadersSortAndKeepTheSelectedRow) {
  look_for("matmul");
  panel_.table().selectRow(5);
  const EventId selected = *session_.selection().event();
  panel_.table().sortByColumn(ResultsModel::kDuration, Qt::DescendingOrder);
  ASSERT_TRUE(finishes(panel_));
  const auto& model = static_cast<const ResultsModel&>(rows());
  std::int64_t before = INT64_MAX;
  for (int row = 0; row < model.rowCount(); ++row) {
    const traces::Event& one = event(model.event_at(row));
    EXPECT_LE(one.end_ns - one.start_ns, before);
    before = one.end_ns - one.start_ns;
  }
  EXPECT_EQ(session_.selection().event(), selected);
  const int row = panel_.table().selectionModel()->selectedRows().value(0).row();
  EXPECT_EQ(model.event_at(row), selected.event);
}

TEST_F(SearchTest, TextColumnsSortByTheAlphabet) {
  look_for("rank:0");
  panel_.table().sortByColumn(ResultsModel::kName, Qt::AscendingOrder);
  ASSERT_TRUE(finishes(panel_));
  for (int row = 1; row < rows().rowCount(); ++row) {
    EXPECT_LE(rows().index(row - 1, ResultsModel::kName).data().toString(),
              rows().index(row, ResultsModel::kName).data().toString());
  }
}

TEST_F(SearchTest, BrushIsAFilterThatAClickRemoves) {
  look_for("matmul");
  const std::size_t all = found().size();
  DurationHistogram& durations = panel_.durations();
  ASSERT_TRUE(durations.isVisible());
  const QPoint middle = durations.rect().center();
  QTest::mousePress(&durations, Qt::LeftButton, {}, middle);
  QTest::mouseMove(&durations, QPoint(durations.width() - 10, middle.y()));
  QTest::mouseRelease(&durations, Qt::LeftButton, {}, QPoint(durations.width() - 10, middle.y()));
  ASSERT_TRUE(finishes(search_));
  ASSERT_TRUE(durations.brush());
  std::size_t inside = 0;
  for (const traces::Event& one : trace().events) {
    const auto ns = static_cast<double>(one.end_ns - one.start_ns);
    inside += trace().strings[one.name].find("matmul") != std::string::npos &&
              ns >= durations.brush()->shortest_ns && ns <= durations.brush()->longest_ns;
  }
  EXPECT_LT(inside, all);
  EXPECT_EQ(found().size(), inside);
  QTest::mouseClick(&durations, Qt::LeftButton, {}, middle);
  ASSERT_TRUE(finishes(search_));
  EXPECT_EQ(field_.text(), query("matmul"));
  EXPECT_EQ(found().size(), all);
}

TEST_F(SearchTest, BrushMovesByKeys) {
  look_for("matmul");
  panel_.durations().setFocus();
  QTest::keyClick(&panel_.durations(), Qt::Key_Right);
  ASSERT_TRUE(panel_.durations().brush());
  const DurationRange first = *panel_.durations().brush();
  QTest::keyClick(&panel_.durations(), Qt::Key_Left, Qt::ShiftModifier);
  EXPECT_LT(panel_.durations().brush()->longest_ns, first.longest_ns);
  QTest::keyClick(&panel_.durations(), Qt::Key_Delete);
  EXPECT_FALSE(panel_.durations().brush());
}

TEST_F(SearchTest, EscapeEmptiesAndLeaves) {
  look_for("matmul");
  QSignalSpy left(&field_, &SearchField::left);
  QTest::keyClick(&field_, Qt::Key_Escape);
  EXPECT_TRUE(field_.text().isEmpty());
  EXPECT_EQ(left.count(), 1);
}

TEST_F(SearchTest, AnotherDocumentIsSearchedAnew) {
  look_for("matmul");
  const std::size_t before = found().size();
  session_.add(recording("run.fst.gz"));
  ASSERT_TRUE(finishes(search_));
  EXPECT_EQ(search_.result_document(), 1);
  EXPECT_NE(found().size(), 0U);
  session_.close(1);
  ASSERT_TRUE(finishes(search_));
  EXPECT_EQ(found().size(), before);
}

TEST(SearchClosing, DuringTheSearchIsClean) {
  Session session;
  session.add(recording());
  for (int n = 0; n < 20; ++n) {
    Search search(session);
    ResultsPanel panel(session, search);
    search.set_text(query("matmul"));
    search.set_text(query("mat"));
    panel.table().sortByColumn(ResultsModel::kName, Qt::AscendingOrder);
  }
}

}  // namespace
}  // namespace foreshard::gui
