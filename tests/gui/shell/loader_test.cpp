#include "gui/models/session/loader.hpp"

#include <QSignalSpy>

#include "gui/models/session/growing_files.hpp"
#include "tests/gui/shell/shell_fixture.hpp"

namespace foreshard::gui {
namespace {

using LoaderTest = ShellTest;

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
