// A window that is closed while it computes: at once, and later each time.
#include <functional>

#include "gui/views/memory/memory_view.hpp"
#include "gui/views/timeline/timeline_canvas.hpp"
#include "gui/views/what_if/what_if_view.hpp"
#include "tests/gui/shell/shell_fixture.hpp"

namespace foreshard::gui {
namespace {

struct Computation {
  const char* name;
  std::vector<std::string> recordings;  // open before it begins
  std::function<void(MainWindow&)> begin;
};

void open_two(MainWindow& window) {
  window.open({QString::fromStdString(sample("run.fst.gz")),
               QString::fromStdString(sample("snapshot.pickle"))});
}

WhatIf& change_plan(MainWindow& window) {
  window.choose_view(kWhatIfView);
  WhatIf& what_if = window.findChild<WhatIfView*>()->what_if();
  for (const char* size : {"2", "3", "4"}) what_if.set_value("batch.micro_batch", size);
  return what_if;
}

// Once the last prediction has been there for a while, what lies around it is predicted.
void sweep(MainWindow& window) {
  const WhatIf& what_if = change_plan(window);
  EXPECT_TRUE(QTest::qWaitFor([&] { return !what_if.is_stale(); }, kSecondsMs));
  QTest::qWait(WhatIf::kRestMs);
}

// What would lower memory is looked for as soon as there is any.
void replay(MainWindow& window) {
  window.choose_view(kMemoryView);
  const ChangesPanel& changes = window.findChild<MemoryView*>()->changes();
  EXPECT_TRUE(QTest::qWaitFor([&] { return changes.is_asked(); }, kSecondsMs));
}

void compare(MainWindow& window) {
  window.choose_view(kCompareView);
}

void search(MainWindow& window) {
  for (const char* text : {"matmul", "mat", "dur>1us"}) {
    window.search().set_text(QString::fromUtf8(text));
  }
}

void paint_tiles(MainWindow& window) {
  window.choose_view(kTimelineView);
  auto* canvas = window.findChild<TimelineCanvas*>();
  for (const Qt::Key key : {Qt::Key_W, Qt::Key_C, Qt::Key_D, Qt::Key_W, Qt::Key_C}) {
    QTest::keyClick(canvas, key);
    QTest::qWait(1);
  }
}

class Closing : public ShellTest, public testing::WithParamInterface<Computation> {};

TEST_P(Closing, IsCleanAtAnyTime) {
  for (const int later_ms : {0, 1, 3, 10, 30, 100}) {
    auto window = std::make_unique<MainWindow>();
    window->resize(1600, 1000);
    window->show();
    for (const std::string& recording : GetParam().recordings) open(*window, sample(recording));
    GetParam().begin(*window);
    QTest::qWait(later_ms);
    EXPECT_TRUE(window->close());
    window.reset();
  }
  QTest::qWait(100);  // what was asked for comes, and nobody is there
}

INSTANTIATE_TEST_SUITE_P(
    WhileIt, Closing,
    testing::Values(Computation{"Opens", {}, open_two}, Computation{"Predicts", {}, change_plan},
                    Computation{"Sweeps", {}, sweep},
                    Computation{"Replays", {"snapshot.pickle"}, replay},
                    Computation{"Compares", {"run.fst.gz", "no_reshard.fst.gz"}, compare},
                    Computation{"Searches", {"run.fst.gz"}, search},
                    Computation{"PaintsTiles", {"run.fst.gz"}, paint_tiles}),
    [](const auto& computation) { return std::string(computation.param.name); });

}  // namespace
}  // namespace foreshard::gui
