// The help and the commands: real keys in a window.
#include <QAction>
#include <QApplication>
#include <QLineEdit>
#include <QTest>

#include <gtest/gtest.h>

#include "gui/views/inspector/key_overlay.hpp"

namespace foreshard::gui {
namespace {

QString words(const char* latin1) {
  return QString::fromLatin1(latin1);
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
  KeyOverlay overlay_{&window_, {680, 720}, words("Keys"), words("Filter the keys")};
};

TEST_F(Window, TypingKeepsHeadingsOfWhatItKeeps) {
  overlay_.show_keys(
      {{words("Timeline"), {{words("zoom in"), words("W")}, {words("pan"), words("A, D")}}},
       {words("Memory"), {{words("go to the peak"), words("K")}}}});
  const auto shown = [this](const char* typed) {
    overlay_.field()->setText(words(typed));
    return overlay_.shown();
  };
  EXPECT_EQ(shown("").size(), 5);
  EXPECT_EQ(shown("PEAK"), (QStringList{words("Memory"), words("go to the peak")}));
  EXPECT_EQ(shown("in zoom"), (QStringList{words("Timeline"), words("zoom in")}));
  EXPECT_EQ(shown("timeline").size(), 3);
  EXPECT_EQ(shown("nothing"), QStringList{words("Nothing matches.")});
}

TEST_F(Window, HelpFiltersAndEscapeGivesTheKeyboardBack) {
  overlay_.show_keys(
      {{words("Timeline"), {{words("Zoom in"), words("W")}, {words("Pan"), words("A, D")}}}});
  EXPECT_TRUE(overlay_.isVisible());
  EXPECT_EQ(overlay_.shown().size(), 3);
  QTest::keyClicks(QApplication::focusWidget(), words("zoom"));
  EXPECT_EQ(overlay_.shown().size(), 2);
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
  EXPECT_FALSE(overlay_.isVisible());
  EXPECT_TRUE(below_->hasFocus());
}

TEST_F(Window, ClickBesideThePanelCloses) {
  overlay_.show_keys({});
  QTest::mouseClick(&overlay_, Qt::LeftButton, {}, overlay_.panel().center());
  EXPECT_TRUE(overlay_.isVisible());
  QTest::mouseClick(&overlay_, Qt::LeftButton, {}, QPoint(5, 5));
  EXPECT_FALSE(overlay_.isVisible());
}

TEST_F(Window, OverlayFollowsTheWindow) {
  overlay_.show_keys({});
  window_.resize(1400, 900);
  EXPECT_EQ(overlay_.size(), window_.size());
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

  const QList<QAction*> actions{&open, &reload, &fit, &hidden};
  overlay_.show_commands(actions);
  EXPECT_EQ(overlay_.shown().size(), 3);
  EXPECT_EQ(overlay_.shown().front(), words("Open"));
  QTest::keyClicks(QApplication::focusWidget(), words("step"));
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
  EXPECT_EQ(fitted, 1);
  EXPECT_FALSE(overlay_.isVisible());

  overlay_.show_commands(actions);
  EXPECT_TRUE(overlay_.field()->text().isEmpty());
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Down);  // over what is disabled
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Up);
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
  EXPECT_EQ(opened, 1);
}

TEST_F(Window, CommandsThatAreGoneDoNothing) {
  {
    QAction closed(words("Close"));
    overlay_.show_commands({&closed});
  }
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
  EXPECT_FALSE(overlay_.isVisible());
}

}  // namespace
}  // namespace foreshard::gui
