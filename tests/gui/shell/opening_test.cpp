// Opening, closing, dropping and following files in the real window.
#include <QDropEvent>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QTimer>
#include <filesystem>

#include "gui/views/base/data_table.hpp"
#include "gui/views/base/figure_strip.hpp"
#include "gui/views/inspector/tables_panel.hpp"
#include "gui/views/shell/notice_bar.hpp"
#include "gui/views/shell/top_bar.hpp"
#include "gui/views/shell/window_actions.hpp"
#include "gui/views/timeline/timeline_view.hpp"
#include "gui/views/what_if/what_if_view.hpp"
#include "tests/gui/shell/shell_fixture.hpp"

namespace foreshard::gui {
namespace {

using Opening = ShellTest;

QUrl local(const std::string& path) {
  return QUrl::fromLocalFile(QString::fromStdString(path));
}

TEST_F(Opening, OneTraceShowsTheTimelineAndTwoAreCompared) {
  MainWindow window;
  open(window, write_trace("a.fst"));
  EXPECT_EQ(window.current_view()->title(), QStringLiteral("Timeline"));
  open(window, write_trace("b.fst"));
  EXPECT_EQ(window.current_view()->title(), QStringLiteral("Compare"));
  EXPECT_EQ(window.session().documents().size(), 2U);
}

TEST_F(Opening, AViewThatWasChosenStays) {
  MainWindow window;
  window.choose_view(kMemoryView);
  open(window, write_trace("a.fst"));
  EXPECT_EQ(window.current_view()->title(), QStringLiteral("Memory"));
}

TEST_F(Opening, ASnapshotShowsMemory) {
  MainWindow window;
  open(window, sample("snapshot.pickle"));
  EXPECT_EQ(window.current_view()->title(), QStringLiteral("Memory"));
}

TEST_F(Opening, AnAllocatorsEventListShowsMemory) {
  MainWindow window;
  open(window, sample("history.jsonl.gz"));
  EXPECT_EQ(window.current_view()->title(), QStringLiteral("Memory"));
  ASSERT_EQ(window.session().documents().size(), 1U);
  EXPECT_FALSE(window.session().current()->trace->memory.empty());
}

TEST_F(Opening, TheSameFileUnderTwoPathsIsOneDocument) {
  MainWindow window;
  const std::string path = write_trace("a.fst");
  std::filesystem::create_symlink(path, folder_.path("b.fst"));
  for (const std::string& name : {path, folder_.path("./a.fst"), folder_.path("b.fst")}) {
    open(window, name);
    EXPECT_EQ(window.session().documents().size(), 1U) << name;
  }
  window.open(QStringList{QString::fromStdString(path), QString::fromStdString(path)});
  wait(window);
  EXPECT_EQ(window.session().documents().size(), 1U);
}

TEST_F(Opening, DocumentsTellTheirModel) {
  MainWindow window;
  open(window, sample("run.fst.gz"));
  EXPECT_EQ(window.session().current()->detail, QStringLiteral("llama · 2 ranks"));
}

TEST_F(Opening, AFolderOfRanksIsOneDocument) {
  MainWindow window;
  open(window, sample("pytorch_cpu"));
  ASSERT_EQ(window.session().documents().size(), 1U);
  EXPECT_GE(window.session().current()->analysis->ranks.size(), 2U);
}

TEST_F(Opening, FilesOfRanksThatAreOpenedTogetherAreOneDocument) {
  MainWindow window;
  window.open({QString::fromStdString(sample("pytorch_cpu/rank0.json.gz")),
               QString::fromStdString(write_trace("a.fst")),
               QString::fromStdString(sample("pytorch_cpu/rank1.json.gz"))});
  wait(window);
  const auto& documents = window.session().documents();
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(documents.front()->analysis->ranks.size(), 2U);
  EXPECT_EQ(documents.front()->title, QStringLiteral("pytorch_cpu, 2 files"));
  open(window, sample("pytorch_cpu/rank1.json.gz"));
  EXPECT_EQ(documents.size(), 2U);
}

TEST_F(Opening, FilesOfRanksThatAreOpenedOneAfterTheOtherAreOneDocumentOnDemand) {
  MainWindow window;
  window.show();
  open(window, sample("pytorch_cpu/rank1.json.gz"));
  EXPECT_FALSE(window.notice().isVisible());
  open(window, sample("pytorch_cpu/rank0.json.gz"));
  ASSERT_EQ(window.session().documents().size(), 2U);
  EXPECT_EQ(window.notice().text(),
            QStringLiteral("rank1.json.gz and rank0.json.gz seem to be ranks of one run."));
  QTest::mouseClick(window.notice().findChild<QPushButton*>(), Qt::LeftButton);
  wait(window);
  ASSERT_EQ(window.session().documents().size(), 1U);
  EXPECT_EQ(window.session().current()->analysis->ranks.size(), 2U);
  window.actions().reload->trigger();
  wait(window);
  EXPECT_EQ(window.session().documents().size(), 1U);
  EXPECT_EQ(window.session().current()->analysis->ranks.size(), 2U);
}

TEST_F(Opening, APlanBesideARecordingIsOfItsQuestion) {
  MainWindow window;
  window.show();
  window.open(
      {QString::fromStdString(sample("plan.toml")), QString::fromStdString(sample("run.fst.gz"))});
  wait(window);
  auto* view = qobject_cast<WhatIfView*>(window.current_view());
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(view->what_if().settings().question.ranks, 2);
  EXPECT_EQ(view->what_if().settings().question.model.name, "llama");
  EXPECT_EQ(view->panel().base(), QStringLiteral("From plan.toml · run.fst.gz"));
  EXPECT_TRUE(view->what_if().changed_keys().empty());
}

TEST_F(Opening, ChangesOfAPlanFileAreAskedAboutWhereTheyWouldBeLost) {
  MainWindow window;
  window.show();
  window.open({QString::fromStdString(folder_.write("mine.toml", "[batch]\nmicro_batch = 2\n"))});
  wait(window);
  auto* view = qobject_cast<WhatIfView*>(window.current_view());
  ASSERT_NE(view, nullptr);
  view->what_if().set_value("batch.micro_batch", "3");
  const auto closes = [&](QMessageBox::StandardButton answer) {
    QTimer::singleShot(0, [answer] {
      auto* question = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      ASSERT_NE(question, nullptr);
      question->button(answer)->click();
    });
    return window.close();
  };
  EXPECT_FALSE(closes(QMessageBox::Cancel));
  EXPECT_TRUE(window.isVisible());
  EXPECT_TRUE(closes(QMessageBox::Discard));
}

TEST_F(Opening, TheFigureOfExposedCommunicationLeadsToItsPlaces) {
  MainWindow window;
  window.show();
  open(window, sample("run.fst.gz"));
  auto* strip = qobject_cast<FigureStrip*>(window.timeline().strip());
  ASSERT_NE(strip, nullptr);
  EXPECT_FALSE(window.tables().isVisible());
  for (std::size_t n = 0; n < strip->figures().size(); ++n) {
    if (strip->figures()[n].label != QStringLiteral("Exposed communication")) continue;
    QTest::mouseClick(strip, Qt::LeftButton, {}, strip->figure_box(n).center().toPoint());
  }
  wait(window);
  EXPECT_TRUE(window.tables().isVisible());
  ASSERT_GT(window.tables().table().model()->rowCount(), 1);
  QTest::keyClick(&window.tables().table(), Qt::Key_Down);
  EXPECT_TRUE(window.session().selection().event());
}

// Such as before and after a change, on one GPU.
TEST_F(Opening, RecordingsThatDoNotTellTheirRankStayApart) {
  MainWindow window;
  QStringList files;
  for (const char* name : {"before.json", "after.json"}) {
    files << QString::fromStdString(folder_.write(
        name,
        R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm",
               "pid": 1, "tid": 1, "ts": 10, "dur": 5}]})"));
  }
  window.open(files);
  wait(window);
  EXPECT_EQ(window.session().documents().size(), 2U);
  EXPECT_TRUE(window.notice().isHidden());
}

TEST_F(Opening, FilesThatAreOpenAreReadAgainInTheirPlace) {
  MainWindow window;
  const std::string path = write_trace("a.fst");
  open(window, path);
  const DocumentPtr before = window.session().current();
  open(window, path);
  ASSERT_EQ(window.session().documents().size(), 1U);
  EXPECT_NE(window.session().current(), before);
  const DocumentPtr second = window.session().current();
  window.actions().reload->trigger();
  wait(window);
  EXPECT_NE(window.session().current(), second);
}

TEST_F(Opening, FilesThatAreDroppedAreOpened) {
  MainWindow window;
  QMimeData data;
  data.setUrls({local(write_trace("a.fst")), local(write_trace("b.fst"))});
  QDragEnterEvent over(QPoint(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&window, &over);
  EXPECT_TRUE(over.isAccepted());
  QDropEvent event(QPointF(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&window, &event);
  EXPECT_TRUE(event.isAccepted());
  wait(window);
  EXPECT_EQ(window.session().documents().size(), 2U);

  QMimeData words;
  words.setText(QStringLiteral("no file"));
  QDragEnterEvent enter(QPoint(5, 5), Qt::CopyAction, &words, Qt::LeftButton, Qt::NoModifier);
  enter.setAccepted(false);
  QCoreApplication::sendEvent(&window, &enter);
  EXPECT_FALSE(enter.isAccepted());
}

TEST_F(Opening, AFileOfNoKnownKindIsSaidInTheWindow) {
  MainWindow window;
  window.show();
  std::string noise;
  for (int n = 0; n < 5000; ++n) noise += static_cast<char>(n * 7919 >> 3);
  const std::string whole = tests::read_file(write_trace("whole.fst"));
  for (const std::string& path :
       {folder_.write("empty.fst", ""), folder_.write("text.fst", "hello\n"),
        folder_.write("deep.json", std::string(100'000, '[')), folder_.write("noise.pickle", noise),
        folder_.write("cut.fst", whole.substr(0, 3000)), folder_.path("absent.fst")}) {
    window.notice().hide();
    open(window, path);
    EXPECT_FALSE(window.notice().isHidden()) << path;
    EXPECT_EQ(window.notice().state(), Role::error) << path;
    const std::string name = path.substr(path.rfind('/') + 1);
    EXPECT_NE(window.notice().text().toStdString().find(name), std::string::npos)
        << window.notice().text().toStdString();
  }
  EXPECT_TRUE(window.session().documents().empty());
}

TEST_F(Opening, APlanIsTriedOut) {
  MainWindow window;
  window.show();
  window.open({QString::fromStdString(sample("plan.toml"))});
  EXPECT_EQ(window.current_view()->title(), QStringLiteral("What-if"));
  wait(window);
  window.open({QString::fromStdString(folder_.write("wrong.toml", "[batch]\nmicro_batch = 0\n"))});
  EXPECT_EQ(window.notice().state(), Role::error);
  EXPECT_TRUE(window.notice().text().startsWith(QStringLiteral("wrong.toml")));
}

TEST_F(Opening, TheExampleStaysUntilSomethingElseIsOpened) {
  MainWindow window;
  window.show();
  window.show_example();
  wait(window);
  ASSERT_EQ(window.session().documents().size(), 2U);
  EXPECT_FALSE(window.session().documents()[0]->is_predicted());
  EXPECT_TRUE(window.session().documents()[1]->is_predicted());
  EXPECT_EQ(window.current_view()->title(), QStringLiteral("Compare"));
  EXPECT_TRUE(window.notice().text().startsWith(QStringLiteral("This is an example")));
  open(window, write_trace());
  EXPECT_EQ(window.session().documents().size(), 1U);
  EXPECT_FALSE(window.notice().text().startsWith(QStringLiteral("This is an example")));
}

TEST_F(Opening, CancelLeavesTheWindowAsItWas) {
  MainWindow window;
  window.show();
  window.open({QString::fromStdString(sample("run.fst.gz"))});
  ASSERT_FALSE(window.loading().isHidden());
  auto* cancel = window.loading().findChild<QPushButton*>();
  ASSERT_NE(cancel, nullptr);
  QTest::mouseClick(cancel, Qt::LeftButton);
  EXPECT_FALSE(window.loader().is_busy());
  EXPECT_TRUE(window.loading().isHidden());
  QTest::qWait(200);
  EXPECT_TRUE(window.session().documents().empty());
}

TEST_F(Opening, TheWindowMayBeClosedWhileAFileIsRead) {
  auto window = std::make_unique<MainWindow>();
  window->show();
  window->open({QString::fromStdString(sample("run.fst.gz"))});
  EXPECT_TRUE(window->close());
  window.reset();
  QTest::qWait(50);
}

TEST_F(Opening, CrossesAndCtrlWCloseDocuments) {
  MainWindow window;
  window.resize(1600, 1000);
  window.show();
  open(window, write_trace("a.fst"));
  open(window, write_trace("b.fst"));
  DocumentChips& chips = window.top_bar().chips();
  QTest::mouseClick(&chips, Qt::LeftButton, {}, chips.chip(0).center().toPoint());
  EXPECT_EQ(window.session().current_index(), 0);
  QTest::mouseClick(&chips, Qt::LeftButton, {}, chips.cross(1).center().toPoint());
  ASSERT_EQ(window.session().documents().size(), 1U);
  EXPECT_EQ(window.session().current()->title, QStringLiteral("a.fst"));
  window.actions().close->trigger();
  EXPECT_TRUE(window.session().documents().empty());
  window.actions().close->trigger();  // there is none
}

// Each stays wide enough to be told apart, and the current one is in view.
TEST_F(Opening, ManyDocumentsScroll) {
  MainWindow window;
  window.resize(1280, 800);
  window.show();
  for (int n = 0; n < 9; ++n) open(window, write_trace("run" + std::to_string(n) + ".fst"));
  DocumentChips& chips = window.top_bar().chips();
  ASSERT_EQ(chips.count(), 9);
  const auto is_in_view = [&](int n) { return QRectF(chips.rect()).contains(chips.chip(n)); };
  for (int n = 0; n < chips.count(); ++n) EXPECT_GE(chips.chip(n).width(), 120) << n;
  EXPECT_TRUE(is_in_view(8));
  EXPECT_FALSE(is_in_view(0));
  chips.setFocus();
  for (int n = 0; n < 8; ++n) QTest::keyClick(&chips, Qt::Key_Left);
  EXPECT_EQ(window.session().current_index(), 0);
  EXPECT_TRUE(is_in_view(0));
}

TEST_F(Opening, AStoppedRunIsSaidUntilItsNoticeIsClosed) {
  traces::Trace trace = traces::sample_trace();
  trace.complete = false;
  trace.dropped.clear();
  MainWindow window;
  window.show();
  open(window, write_trace("stopped.fst", trace));
  ASSERT_FALSE(window.notice().isHidden());
  EXPECT_TRUE(window.notice().text().startsWith(QStringLiteral("This run was stopped")));
  QTest::mouseClick(window.notice().findChild<QPushButton*>(), Qt::LeftButton);
  EXPECT_TRUE(window.notice().isHidden());
}

TEST_F(Opening, ARecordingThatGrowsIsFollowed) {
  const std::string path = folder_.path("live.fst");
  auto writer = traces::FstWriter::create(path, {{"ranks", "1"}});
  ASSERT_TRUE(writer) << writer.error().text();
  const std::int32_t lane = writer->add(traces::Lane{0, true, writer->strings().intern("compute")});
  const auto record = [&](std::int64_t start) {
    traces::Event event;
    event.start_ns = start;
    event.end_ns = start + 500;
    event.lane = lane;
    event.kind = traces::EventKind::compute;
    event.name = writer->strings().intern("matmul");
    writer->append(std::span<const traces::Event>(&event, 1));
    ASSERT_TRUE(writer->commit(event.end_ns));
  };
  record(1000);
  MainWindow window;
  window.show();
  open(window, path);
  ASSERT_EQ(window.session().documents().size(), 1U);
  ASSERT_EQ(window.session().current()->trace->events.size(), 1U);
  window.actions().follow->trigger();
  record(1'000'000);
  EXPECT_TRUE(QTest::qWaitFor([&] { return window.session().current()->trace->events.size() == 2; },
                              kSecondsMs));
  EXPECT_GE(window.session().axis().end_ns(), 1'000'000);
}

}  // namespace
}  // namespace foreshard::gui
