// Tables of a trace: what they say is what the command line says, and their rows lead to places.
#include <QComboBox>
#include <QLineEdit>
#include <QTest>

#include <gtest/gtest.h>

#include "gui/views/base/data_table.hpp"
#include "gui/views/inspector/tables_panel.hpp"

namespace foreshard::gui {
namespace {

class Tables : public testing::Test {
 protected:
  void open(const std::string& sample) {
    auto document = open_document(FORESHARD_SOURCE_DIR "/traces/samples/" + sample);
    ASSERT_TRUE(document) << document.error().text();
    session_.add(*document);
    panel_.resize(1200, 300);
    panel_.show();
    settle();
  }
  void settle() {
    ASSERT_TRUE(QTest::qWaitFor([&] { return !panel_.is_busy(); }, 60'000));
  }
  void ask(const char* sql) {
    panel_.sql().setText(QString::fromUtf8(sql));
    QTest::keyClick(&panel_.sql(), Qt::Key_Return);
    settle();
  }
  QString cell(int row, const char* column) {
    const QAbstractItemModel& model = *panel_.table().model();
    for (int n = 0; n < model.columnCount(); ++n) {
      if (model.headerData(n, Qt::Horizontal).toString() == QLatin1String(column))
        return model.index(row, n).data().toString();
    }
    return QStringLiteral("no such column");
  }

  Session session_;
  TablesPanel panel_{session_};
};

TEST_F(Tables, TheFirstIsOfExposedCommunicationAndItsRowsAreTheCollectives) {
  open("run.fst.gz");
  ASSERT_GT(panel_.table().model()->rowCount(), 2);
  std::optional<EventId> before;
  for (const int row : {0, 1}) {
    panel_.table().selectRow(row);
    const auto& selected = session_.selection().event();
    ASSERT_TRUE(selected);
    EXPECT_NE(selected, before);
    before = selected;
    const traces::Trace& trace = *session_.current()->trace;
    const traces::Event event = trace.events[static_cast<std::size_t>(selected->event)];
    EXPECT_EQ(event.kind, traces::EventKind::communication);
    EXPECT_EQ(QString::fromStdString(trace.strings[event.name]), cell(row, "name"));
    EXPECT_EQ(QString::number(session_.selection().rank()), cell(row, "rank"));
    const traces::Interval window = session_.axis().window();
    EXPECT_LE(window.start_ns, event.start_ns);
    EXPECT_GE(window.end_ns, event.end_ns);
  }
}

TEST_F(Tables, EveryNamedTableHasAnAnswerAndTimesInTheirUnits) {
  open("run.fst.gz");
  for (std::size_t n = 0; n < named_tables().size(); ++n) {
    panel_.show_table(n);
    settle();
    EXPECT_TRUE(panel_.headline().endsWith(QStringLiteral("row")) ||
                panel_.headline().endsWith(QStringLiteral("rows")))
        << named_tables()[n].title.toStdString() << ": " << panel_.headline().toStdString();
  }
  ask("SELECT 1500000 AS duration, 2.5 AS idle_us, 3 AS ranks, 2048 AS bytes");
  EXPECT_EQ(cell(0, "duration"), QStringLiteral("1.500 ms"));
  EXPECT_EQ(cell(0, "idle_us"), QStringLiteral("2.500 us"));
  EXPECT_EQ(cell(0, "ranks"), QStringLiteral("3"));
  EXPECT_EQ(cell(0, "bytes"), QStringLiteral("2.000 KiB"));
}

TEST_F(Tables, AStretchThatIsNoEventIsARange) {
  open("run.fst.gz");
  ask("SELECT 1 AS rank, 20 AS from_ms, 500 AS idle_us");
  panel_.table().selectRow(0);
  EXPECT_FALSE(session_.selection().event());
  EXPECT_EQ(session_.selection().range(), (traces::Interval{20'000'000, 20'500'000}));
  EXPECT_EQ(session_.selection().rank(), 1);
}

// Such as a sum that somebody called start.
TEST_F(Tables, RowsThatTellNoMomentOrRankOfTheTraceLeadNowhere) {
  open("run.fst.gz");
  const traces::Interval before = session_.axis().window();
  ask("SELECT 1e300 AS start, 5 AS duration UNION ALL SELECT 9e18, 9e18 UNION ALL SELECT -9e18, "
      "-9e18");
  for (const int row : {0, 1, 2}) panel_.table().selectRow(row);
  EXPECT_EQ(session_.axis().window(), before);
  EXPECT_FALSE(session_.selection().range());
  ask("SELECT 2e7 AS start, 5 AS duration, 1e12 AS rank UNION ALL SELECT 3e7, 5, 99");
  for (const int row : {0, 1}) panel_.table().selectRow(row);
  EXPECT_EQ(session_.selection().rank(), 0);
}

// A trace of gigabytes would stay in memory.
TEST_F(Tables, NothingIsKeptOfADocumentThatIsClosed) {
  open("run.fst.gz");
  const std::weak_ptr<const Document> document = session_.current();
  panel_.hide();
  session_.close(0);
  QApplication::processEvents();
  EXPECT_TRUE(document.expired());
  EXPECT_EQ(panel_.table().model()->rowCount(), 0);
}

TEST_F(Tables, WhatIsWrongWithSqlIsSaidAndManyRowsAreCut) {
  open("run.fst.gz");
  ask("DELETE FROM STEPS");
  EXPECT_EQ(panel_.table().model()->rowCount(), 0);
  EXPECT_TRUE(panel_.headline().contains(QStringLiteral("SELECT")))
      << panel_.headline().toStdString();
  ask("SELECT a.start, b.name FROM EVENTS a, EVENTS b");
  EXPECT_EQ(panel_.table().model()->rowCount(), static_cast<int>(TraceTable::kMostRows));
  EXPECT_EQ(panel_.headline(), QStringLiteral("the first 5,000 rows"));
}

TEST_F(Tables, RowsOfARecordingThatGrowsStayAndLeadToItsEvents) {
  open("run.fst.gz");
  auto document = std::make_shared<Document>(*session_.current());
  auto growing = std::make_shared<traces::Trace>(*document->trace);
  growing->complete = false;
  document->trace = growing;
  session_.replace(0, document);
  settle();
  const QString exposed = cell(0, "exposed");
  auto grown = std::make_shared<Document>(*document);
  session_.replace(0, grown);
  EXPECT_FALSE(panel_.is_busy());
  EXPECT_EQ(cell(0, "exposed"), exposed);
  panel_.table().selectRow(0);
  EXPECT_TRUE(session_.selection().event());
}

TEST_F(Tables, AnotherDocumentIsAskedTheSame) {
  open("run.fst.gz");
  ask("SELECT count(*) AS events FROM EVENTS");
  const QString first = cell(0, "events");
  open("drawn_gpu");
  EXPECT_EQ(cell(0, "events"), QString::number(session_.current()->trace->events.size()));
  EXPECT_NE(cell(0, "events"), first);
}

}  // namespace
}  // namespace foreshard::gui
