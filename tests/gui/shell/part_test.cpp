// Recordings that are too large, and those of which somebody wants some steps only.
#include <QPushButton>
#include <QSpinBox>
#include <filesystem>

#include "gui/models/session/memory_need.hpp"
#include "gui/models/session/sentences.hpp"
#include "gui/views/shell/notice_bar.hpp"
#include "gui/views/shell/status_bar.hpp"
#include "gui/views/shell/unattended.hpp"
#include "gui/views/shell/window_actions.hpp"
#include "models/base/host_memory.hpp"
#include "tests/gui/shell/shell_fixture.hpp"

namespace foreshard::gui {
namespace {

class PartOfARecording : public ShellTest {
 protected:
  PartOfARecording() { window_.show(); }

  // A file with a hole behind its end, which takes no room: by its size it fits no memory.
  std::string write_enormous(const std::string& name = "run.fst") const {
    const std::string path = write_trace(name);
    std::filesystem::resize_file(path, std::uintmax_t{8} << 40);
    return path;
  }
  void ask(const std::string& path) {
    window_.open({QString::fromStdString(path)});
    wait(window_);
  }
  QStringList status() const {
    QStringList texts;
    for (const Statement& statement : window_.status().statements()) texts << statement.text;
    return texts;
  }

  mutable MainWindow window_;
};

TEST_F(PartOfARecording, IsOfferedWhereAllOfItDoesNotFit) {
  ask(write_enormous());
  PartBar& bar = window_.part();
  ASSERT_FALSE(bar.isHidden());
  EXPECT_TRUE(window_.session().documents().empty());
  EXPECT_TRUE(bar.accessibleName().startsWith(QStringLiteral("Opening needs about 16384 GiB")))
      << bar.accessibleName().toStdString();
  EXPECT_TRUE(bar.accessibleName().endsWith(QStringLiteral("Open steps 3 to 3 only?")));
  bar.first().setFocus();
  QTest::keyClick(&bar.first(), Qt::Key_Down);
  EXPECT_EQ(bar.first().value(), 2);
  QTest::mouseClick(&bar.open_part(), Qt::LeftButton);
  wait(window_);
  ASSERT_EQ(window_.session().documents().size(), 1U);
  EXPECT_TRUE(bar.isHidden());
  const DocumentPtr document = window_.session().current();
  EXPECT_EQ(document->trace->steps.size(), 4U);  // two steps on two ranks
  EXPECT_TRUE(status().contains(
      QStringLiteral("Steps 2 to 3 of 1 to 3 are open; the others were not read")))
      << status().join(QLatin1Char('|')).toStdString();
}

TEST_F(PartOfARecording, IsOfferedOfEachThatDoesNotFit) {
  window_.open({QString::fromStdString(write_enormous("a.fst")),
                QString::fromStdString(write_enormous("b.fst"))});
  wait(window_);
  for (std::size_t opened = 0; opened < 2; ++opened) {
    ASSERT_FALSE(window_.part().isHidden());
    QTest::mouseClick(&window_.part().open_part(), Qt::LeftButton);
    wait(window_);
    EXPECT_EQ(window_.session().documents().size(), opened + 1);
  }
  EXPECT_TRUE(window_.part().isHidden());
}

TEST_F(PartOfARecording, IsOfferedWhereFilesFitAloneButNotTogether) {
  QStringList files;
  for (const char* name : {"a.fst", "b.fst"}) {
    const std::string path = write_trace(name);
    const auto free = static_cast<double>(available_memory().value_or(std::int64_t{8} << 30));
    const double each = 0.6 * free / static_cast<double>(estimated_memory(path));
    std::filesystem::resize_file(
        path,
        static_cast<std::uintmax_t>(each * static_cast<double>(std::filesystem::file_size(path))));
    files << QString::fromStdString(path);
  }
  window_.open(files);
  wait(window_);
  EXPECT_EQ(window_.session().documents().size(), 1U);
  EXPECT_FALSE(window_.part().isHidden());
}

TEST_F(PartOfARecording, AllOfItCanBeWantedNevertheless) {
  ask(write_enormous());
  QTest::mouseClick(&window_.part().open_all(), Qt::LeftButton);
  wait(window_);
  ASSERT_EQ(window_.session().documents().size(), 1U);
  EXPECT_FALSE(window_.session().current()->part);
}

TEST_F(PartOfARecording, TheFirstStepIsNeverBehindTheLast) {
  ask(write_enormous());
  PartBar& bar = window_.part();
  bar.first().setValue(1);
  bar.last().setValue(1);
  bar.first().setValue(3);
  EXPECT_EQ(bar.last().value(), 3);
}

TEST_F(PartOfARecording, WithoutStepsOnlyAllOfItIsOffered) {
  traces::Trace trace = traces::sample_trace();
  trace.steps.clear();
  const std::string path = write_trace("run.fst", trace);
  std::filesystem::resize_file(path, std::uintmax_t{8} << 40);
  ask(path);
  EXPECT_TRUE(window_.part().isHidden());
  ASSERT_FALSE(window_.notice().isHidden());
  EXPECT_TRUE(window_.notice().text().startsWith(QStringLiteral("Opening needs about")));
  QTest::mouseClick(window_.notice().findChild<QPushButton*>(), Qt::LeftButton);
  wait(window_);
  EXPECT_EQ(window_.session().documents().size(), 1U);
}

TEST_F(PartOfARecording, IsOfferedWhereItIsAskedFor) {
  window_.open_part(QString::fromStdString(write_trace()));
  wait(window_);
  ASSERT_FALSE(window_.part().isHidden());
  EXPECT_EQ(window_.part().accessibleName().trimmed(), QStringLiteral("Open steps 3 to 3 only?"));
  window_.part().hide();
  window_.open_part(QString::fromStdString(sample("snapshot.pickle")));
  wait(window_);
  EXPECT_TRUE(window_.part().isHidden());
  EXPECT_TRUE(window_.notice().text().startsWith(
      QStringLiteral("snapshot.pickle cannot be opened in part")));
}

TEST_F(PartOfARecording, StaysAPartWhenItIsReadAgain) {
  const std::string path = write_trace();
  window_.open({QString::fromStdString(path)}, traces::StepRange{2, 2});
  wait(window_);
  const DocumentPtr before = window_.session().current();
  ASSERT_TRUE(before != nullptr && before->part);
  window_.actions().reload->trigger();
  wait(window_);
  ASSERT_NE(window_.session().current(), before);
  EXPECT_EQ(window_.session().current()->part->steps, (traces::StepRange{2, 2}));
  EXPECT_TRUE(
      status().contains(QStringLiteral("Step 2 of 1 to 3 is open; the others were not read")));
}

TEST_F(PartOfARecording, OfTheCommandLineIsReadOrRefusedInASentence) {
  ViewerOptions options;
  options.files = {write_trace()};
  options.steps = traces::StepRange{1, 2};
  options.picture = folder_.path("a.png");
  MainWindow window;
  ASSERT_TRUE(run_unattended(window, options));
  EXPECT_EQ(window.session().current()->part->steps, *options.steps);
  options.steps = traces::StepRange{8, 9};
  const auto none = run_unattended(window, options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "has the steps 1 to 3; expected some of them");
}

}  // namespace
}  // namespace foreshard::gui
