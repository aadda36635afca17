#include "gui/models/session/loader.hpp"

#include <QSignalSpy>
#include <QThreadPool>
#include <tuple>

#include "gui/models/session/growing_files.hpp"
#include "tests/gui/shell/shell_fixture.hpp"

namespace foreshard::gui {
namespace {

using LoaderTest = ShellTest;

// Some 300,000 events.
traces::Trace large_trace() {
  traces::Trace trace = traces::sample_trace();
  const traces::EventList events = trace.events;
  for (int n = 0; n < 17'000; ++n) {
    trace.events.append(events.begin(), events.end());
  }
  traces::sort(trace);
  return trace;
}

TEST_F(LoaderTest, FilesComeInTheOrderInWhichTheyWereAskedFor) {
  Loader loader;
  std::vector<QString> titles;
  QObject::connect(&loader, &Loader::opened,
                   [&](const DocumentPtr& document) { titles.push_back(document->title); });
  loader.open(sample("out_of_memory.fst.gz"));
  loader.open(write_trace("small.fst"));
  EXPECT_TRUE(loader.is_busy());
  EXPECT_EQ(loader.loading().name, QStringLiteral("out_of_memory.fst.gz"));
  EXPECT_EQ(loader.loading().waiting, 1);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !loader.is_busy(); }, kSecondsMs));
  EXPECT_EQ(titles, (std::vector<QString>{QStringLiteral("out_of_memory.fst.gz"),
                                          QStringLiteral("small.fst")}));
}

TEST_F(LoaderTest, AFileAmongRanksThatCannotBeReadLosesNoneOfTheOthers) {
  Loader loader;
  std::vector<DocumentPtr> opened;
  std::vector<std::string> failed;
  QObject::connect(&loader, &Loader::opened,
                   [&](const DocumentPtr& document) { opened.push_back(document); });
  QObject::connect(&loader, &Loader::failed,
                   [&](const Error& error) { failed.push_back(error.file); });
  const std::string broken = folder_.write("rank2.json", "no JSON at all");
  loader.open_ranks(
      {sample("pytorch_cpu/rank0.json.gz"), broken, sample("pytorch_cpu/rank1.json.gz")});
  ASSERT_TRUE(QTest::qWaitFor([&] { return !loader.is_busy(); }, kSecondsMs));
  EXPECT_EQ(failed, std::vector{broken});
  ASSERT_EQ(opened.size(), 1U);
  EXPECT_EQ(opened.front()->analysis->ranks.size(), 2U);
  EXPECT_EQ(opened.front()->files.size(), 2U);
}

TEST_F(LoaderTest, WhatIsCancelledDoesNotCome) {
  Loader loader;
  QSignalSpy opened(&loader, &Loader::opened), finished(&loader, &Loader::finished);
  loader.open(sample("run.fst.gz"));
  loader.open(write_trace());
  loader.cancel();
  EXPECT_FALSE(loader.is_busy());
  EXPECT_EQ(finished.count(), 1);
  QTest::qWait(300);
  EXPECT_EQ(opened.count(), 0);

  loader.open(write_trace());
  ASSERT_TRUE(QTest::qWaitFor([&] { return !loader.is_busy(); }, kSecondsMs));
  EXPECT_EQ(opened.count(), 1);
}

TEST_F(LoaderTest, WhatIsCancelledIsNotReadToItsEnd) {
  const std::string path = write_trace("large.fst", large_trace());
  Loader loader;
  loader.open(path);
  ASSERT_TRUE(QTest::qWaitFor([&] { return loader.loading().done > 0; }, kSecondsMs));
  EXPECT_TRUE(loader.loading().counts_events);
  loader.cancel();
  EXPECT_FALSE(loader.is_busy());
  EXPECT_TRUE(QThreadPool::globalInstance()->waitForDone(kSecondsMs));

  // As the loader asks for it: a stop while a tenth has been read.
  std::stop_source stop;
  std::int64_t read = 0, there = 0;
  traces::ImportOptions options;
  options.stop = stop.get_token();
  options.on_progress = [&](std::int64_t done, std::int64_t total) {
    std::tie(read, there) = std::pair(done, total);
    if (done > total / 10) stop.request_stop();
  };
  const auto document = open_document(path, options);
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().message, "was not read to its end; reading was stopped");
  EXPECT_LT(read, there / 2);
}

TEST_F(LoaderTest, AFileThatCannotBeReadDoesNotKeepOthersBack) {
  Loader loader;
  std::vector<std::string> failed;
  int opened = 0;
  QObject::connect(&loader, &Loader::failed,
                   [&](const Error& error) { failed.push_back(error.file); });
  QObject::connect(&loader, &Loader::opened, [&] { ++opened; });
  const std::string absent = folder_.path("absent.fst");
  loader.open(absent);
  loader.open(write_trace());
  ASSERT_TRUE(QTest::qWaitFor([&] { return !loader.is_busy(); }, kSecondsMs));
  EXPECT_EQ(failed, std::vector<std::string>{absent});
  EXPECT_EQ(opened, 1);
}

TEST_F(LoaderTest, ALoaderMayGoWhileItReads) {
  auto loader = std::make_unique<Loader>();
  loader->open(sample("run.fst.gz"));
  loader.reset();
  QTest::qWait(100);
}

TEST_F(LoaderTest, FilesThatGrowAreNoticedAndOthersAreNot) {
  GrowingFiles files;
  files.set_interval(10);
  std::vector<std::string> grown;
  QObject::connect(&files, &GrowingFiles::grew,
                   [&](const std::string& path) { grown.push_back(path); });
  const std::string a = folder_.write("a", "1"), b = folder_.write("b", "1");
  files.watch({a, b});
  QTest::qWait(60);
  EXPECT_TRUE(grown.empty());
  folder_.write("b-wal", "more");  // SQLite's log beside it
  ASSERT_TRUE(QTest::qWaitFor([&] { return !grown.empty(); }, kSecondsMs));
  EXPECT_EQ(grown, std::vector<std::string>{b});
  files.watch({});
  folder_.write("a", "12");
  QTest::qWait(60);
  EXPECT_EQ(grown.size(), 1U);
}

}  // namespace
}  // namespace foreshard::gui
