// The help and the commands: real keys in a window.
#include <QAction>
#include <QApplication>
#include <QLineEdit>
#include <QTest>

#include <gtest/gtest.h>

#include "gui/views/inspector/command_palette.hpp"
#include "gui/views/inspector/help_overlay.hpp"
#include "gui/views/inspector/key_list.hpp"

namespace foreshard::gui {
namespace {

QString words(const char* latin1) {
  return QString::fromLatin1(latin1);
}

KeyRow heading(const char* title) {
  return {words(title), {}, true, true, -1};
}
KeyRow key_row(const char* action, const char* keys) {
  return {words(action), words(keys), false, true, 0};
}

QStringList texts(const std::vector<KeyRow>& rows) {
  QStringList texts;
  for (const KeyRow& row : rows) texts << row.text;
  return texts;
}

TEST(FilteredRows, KeepHeadingsOfWhatTheyKeep) {
  const std::vector<KeyRow> rows{heading("Timeline"), key_row("zoom in", "W"),
                                 key_row("pan", "A, D"), heading("Memory"),
                                 key_row("go to the peak", "K")};
  EXPECT_EQ(texts(filtered_rows(rows, {})).size(), 5);
  EXPECT_EQ(texts(filtered_rows(rows, words("PEAK"))),
            (QStringList{words("Memory"), words("go to the peak")}));
  EXPECT_EQ(texts(filtered_rows(rows, words("in zoom"))),
            (QStringList{words("Timeline"), words("zoom in")}));
  EXPECT_EQ(texts(filtered_rows(rows, words("timeline"))).size(), 3);
  EXPECT_TRUE(filtered_rows(rows, words("nothing")).empty());
}

class Window : public testing::Test {
 protected:
  Window() {
    window_.resize(1000, 640);
    below_ = new QLineEdit(&window_);
    window_.show();
    window_.activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(&window_));
    below_->setFocus();
  }

  QWidget window_;
  QLineEdit* below_;
};

TEST_F(Window, HelpFiltersAndEscapeGivesTheKeyboardBack) {
  HelpOverlay help(&window_);
  help.show_keys(
      {{words("Timeline"), {{words("Zoom in"), words("W")}, {words("Pan"), words("A, D")}}}});
  EXPECT_TRUE(help.isVisible());
  EXPECT_EQ(help.list()->shown().rowCount(), 3);
  QTest::keyClicks(QApplication::focusWidget(), words("zoom"));
  EXPECT_EQ(help.list()->shown().rowCount(), 2);
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
  EXPECT_FALSE(help.isVisible());
  EXPECT_TRUE(below_->hasFocus());
}

TEST_F(Window, ClickBesideThePanelCloses) {
  HelpOverlay help(&window_);
  help.show_keys({});
  QTest::mouseClick(&help, Qt::LeftButton, {}, help.panel().center());
  EXPECT_TRUE(help.isVisible());
  QTest::mouseClick(&help, Qt::LeftButton, {}, QPoint(5, 5));
  EXPECT_FALSE(help.isVisible());
}

TEST_F(Window, OverlayFollowsTheWindow) {
  HelpOverlay help(&window_);
  help.show_keys({});
  window_.resize(1400, 900);
  EXPECT_EQ(help.size(), window_.size());
}

TEST_F(Window, CommandsAreFoundAndTriggered) {
  QAction open(words("&Open...")), fit(words("Fit the step")), reload(words("Reload")),
      hidden(words("Fit all"));
  hidden.setVisible(false);
  reload.setEnabled(false);
  open.setShortcut(QKeySequence(words("Ctrl+O")));
  int fitted = 0, opened = 0;
  QObject::connect(&fit, &QAction::triggered, [&] { ++fitted; });
  QObject::connect(&open, &QAction::triggered, [&] { ++opened; });

  CommandPalette palette(&window_);
  const QList<QAction*> actions{&open, &reload, &fit, &hidden};
  palette.show_commands(actions);
  EXPECT_EQ(palette.list()->shown().rowCount(), 3);
  EXPECT_EQ(palette.list()->shown().row(0).text, words("Open"));
  QTest::keyClicks(QApplication::focusWidget(), words("step"));
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
  EXPECT_EQ(fitted, 1);
  EXPECT_FALSE(palette.isVisible());

  palette.show_commands(actions);
  EXPECT_TRUE(palette.field()->text().isEmpty());
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Down);  // over what is disabled
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Up);
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
  EXPECT_EQ(opened, 1);
}

TEST_F(Window, CommandsThatAreGoneDoNothing) {
  CommandPalette palette(&window_);
  {
    QAction closed(words("Close"));
    palette.show_commands({&closed});
  }
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
  EXPECT_FALSE(palette.isVisible());
}

}  // namespace
}  // namespace foreshard::gui
