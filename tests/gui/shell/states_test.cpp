// Every state that a file or the window can be in is said in its sentence, in the window itself.
#include <QPushButton>
#include <filesystem>
#include <functional>

#include "gui/models/session/sentences.hpp"
#include "gui/views/base/labels.hpp"
#include "gui/views/inspector/results_panel.hpp"
#include "gui/views/shell/empty_page.hpp"
#include "gui/views/shell/notice_bar.hpp"
#include "tests/gui/shell/shell_fixture.hpp"

namespace foreshard::gui {
namespace {

class States : public ShellTest {
 protected:
  States() {
    window_.resize(1600, 1000);
    window_.show();
  }

  std::string notice_of(const std::string& path) {
    window_.notice().hide();
    open(window_, path);
    return window_.notice().isHidden() ? "" : window_.notice().text().toStdString();
  }
  static traces::Trace stopped() {
    traces::Trace trace = traces::sample_trace();
    trace.dropped.clear();
    trace.dropped_ranges.clear();
    trace.complete = false;
    trace.complete_until_ns = 3'500'000;
    return trace;
  }
  // A file of a format to come.
  std::string write_newer() const {
    std::string bytes = tests::read_file(write_trace("whole.fst"));
    const std::string key = "format_version";
    for (std::size_t at = bytes.find(key + "2"); at != std::string::npos;
         at = bytes.find(key + "2")) {
      bytes[at + key.size()] = '4';
    }
    return folder_.write("newer.fst", bytes);
  }

  MainWindow window_;
};

TEST_F(States, OfFilesAreSaidInTheNotice) {
  traces::Trace dropped = traces::sample_trace();
  dropped.dropped = {{"ring full", 1208}};
  dropped.dropped_ranges.clear();
  traces::Trace damaged = stopped();
  damaged.dropped = {{"truncated tables (damaged file)", 1}};
  traces::Trace empty;
  empty.metadata = traces::sample_trace().metadata;
  const std::string json = R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,)"
                           R"("ts":10,"dur":5},{"ph":"X","cat":"cpu_op","na)";
  const struct {
    std::string path, begins;
  } kStates[] = {
      {write_trace("empty.fst", empty),
       "empty.fst holds no events. It was recorded, but no step finished."},
      {write_trace("stopped.fst", stopped()), "This run was stopped: complete until "},
      {write_trace("dropped.fst", dropped),
       "1,208 records were dropped while recording. Idle time there is not reliable."},
      {write_trace("damaged.fst", damaged), "damaged.fst is damaged; copy it again."},
      {folder_.write("cut.json", json), "cut.json is cut short: parts of it are missing."},
      {folder_.write("notes.txt", "Dear diary,\n"), "notes.txt is not a trace: it is text"},
      {write_newer(),
       "newer.fst was written by a newer Foreshard (format 4; this one reads up to 2)."},
      {folder_.path("absent.fst"), "absent.fst "},
  };
  for (const auto& [path, begins] : kStates) {
    const std::string said = notice_of(path);
    EXPECT_EQ(said.substr(0, begins.size()), begins);
  }
}

TEST_F(States, OfTheWindowAreSaidWhereTheyBelong) {
  auto* page = window_.findChild<EmptyPage*>();
  ASSERT_NE(page, nullptr);
  EXPECT_TRUE(page->isVisible());
  EXPECT_EQ(page->findChild<TextLabel*>()->text(),
            QStringLiteral("Open a trace, drop one here, or start from a plan."));

  window_.open({QString::fromStdString(write_trace())});
  ASSERT_FALSE(window_.loading().isHidden());
  EXPECT_TRUE(window_.loading().text().startsWith(QStringLiteral("Reading run.fst")));
  EXPECT_EQ(window_.loading().findChild<QPushButton*>()->text(), QStringLiteral("Cancel"));
  wait(window_);
  EXPECT_TRUE(window_.loading().isHidden());
  EXPECT_FALSE(page->isVisible());

  window_.search().set_text(QStringLiteral("nothing_is_called_so rank:0"));
  wait(window_);
  EXPECT_EQ(window_.findChild<ResultsPanel*>()->headline(),
            QStringLiteral("No event matches. 1 filter is active:"));

  const std::string large = write_trace("large.fst");
  std::filesystem::resize_file(large, std::uintmax_t{8} << 40);
  open(window_, large);
  EXPECT_TRUE(window_.part().accessibleName().startsWith(
      QStringLiteral("Opening needs about 16384 GiB of memory; ")));
}

}  // namespace
}  // namespace foreshard::gui
