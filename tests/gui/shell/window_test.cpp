// The window's views, keys, theme and what it remembers.
#include <QDockWidget>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QToolButton>

#include "gui/paint/theme.hpp"
#include "gui/views/base/choices.hpp"
#include "gui/views/inspector/key_overlay.hpp"
#include "gui/views/inspector/search.hpp"
#include "gui/views/shell/empty_page.hpp"
#include "gui/views/shell/inspector_overlay.hpp"
#include "gui/views/shell/notice_bar.hpp"
#include "gui/views/shell/top_bar.hpp"
#include "gui/views/shell/window_actions.hpp"
#include "gui/views/timeline/timeline_canvas.hpp"
#include "gui/views/timeline/timeline_view.hpp"
#include "gui/views/what_if/what_if_view.hpp"
#include "tests/gui/shell/shell_fixture.hpp"

namespace foreshard::gui {
namespace {

class Window : public ShellTest {
 protected:
  Window() {
    window_.resize(1600, 1000);
    window_.show();
    window_.activateWindow();
    EXPECT_TRUE(QTest::qWaitForWindowActive(&window_));
  }
  QString shown() const { return window_.current_view()->title(); }
  QDockWidget& dock(const char* name) {
    return *window_.findChild<QDockWidget*>(QLatin1String(name));
  }

  MainWindow window_;
};

TEST_F(Window, CtrlAndAFigureShowTheViews) {
  const QStringList titles{QStringLiteral("Timeline"), QStringLiteral("Memory"),
                           QStringLiteral("What-if"), QStringLiteral("Compare")};
  for (int n = 3; n >= 0; --n) {
    QTest::keyClick(&window_, static_cast<Qt::Key>(Qt::Key_1 + n), Qt::ControlModifier);
    EXPECT_EQ(shown(), titles[n]);
    EXPECT_EQ(window_.top_bar().tabs().current(), n);
  }
}

TEST_F(Window, TheAxisIsAsWideAsTheViewThatIsShown) {
  open(window_, write_trace());
  const auto width_in = [&](int view) {
    window_.choose_view(view);
    wait(window_);
    return window_.session().axis().width();
  };
  const double timeline = width_in(kTimelineView), memory = width_in(kMemoryView);
  EXPECT_NE(timeline, memory);  // their lanes begin at different places
  EXPECT_EQ(width_in(kTimelineView), timeline);
  width_in(kMemoryView);
  QSignalSpy changes(&window_.session().axis(), &TimeAxis::changed);
  QKeyEvent fold(QEvent::KeyPress, Qt::Key_Space, Qt::NoModifier);
  QCoreApplication::sendEvent(&window_.timeline().canvas(), &fold);  // lays out the hidden view
  EXPECT_EQ(changes.count(), 0);
  EXPECT_EQ(window_.session().axis().width(), memory);
  window_.resize(1400, 900);
  EXPECT_NEAR(window_.session().axis().width(), memory - 200, 2);
  EXPECT_NEAR(width_in(kTimelineView), timeline - 200, 2);
}

TEST_F(Window, TabsAreChosenByMouseAndArrows) {
  SegmentedControl& tabs = window_.top_bar().tabs();
  QTest::mouseClick(&tabs, Qt::LeftButton, {}, QPoint(tabs.width() - 20, tabs.height() / 2));
  EXPECT_EQ(shown(), QStringLiteral("Compare"));
  QTest::keyClick(&tabs, Qt::Key_Left);
  EXPECT_EQ(shown(), QStringLiteral("What-if"));
}

TEST_F(Window, NothingOpenOffersWhatCanBeDone) {
  auto* page = window_.findChild<EmptyPage*>();
  ASSERT_NE(page, nullptr);
  EXPECT_TRUE(page->isVisible());
  for (QPushButton* button : page->findChildren<QPushButton*>()) {
    if (button->text() == QStringLiteral("Start from a plan")) {
      QTest::mouseClick(button, Qt::LeftButton);
      break;
    }
  }
  EXPECT_EQ(shown(), QStringLiteral("What-if"));
  EXPECT_FALSE(page->isVisible());
}

TEST_F(Window, SlashLeadsToTheSearchAndEscBack) {
  open(window_, write_trace());
  QTest::keyClick(&window_, Qt::Key_Slash);
  SearchField& search = window_.top_bar().search();
  EXPECT_TRUE(search.hasFocus());
  QTest::keyClicks(&search, QStringLiteral("n/?l"));  // keys of the window are letters here
  EXPECT_EQ(search.text(), QStringLiteral("n/?l"));
  EXPECT_TRUE(dock("results").isVisible());
  QTest::keyClick(&search, Qt::Key_Escape);
  EXPECT_FALSE(search.hasFocus());
  EXPECT_TRUE(search.text().isEmpty());
}

TEST_F(Window, KeysOfTheViewWorkWhereverTheKeyboardIs) {
  open(window_, write_trace());
  QTest::keyClick(&window_, Qt::Key_2, Qt::ControlModifier);
  wait(window_);
  auto* clock = window_.current_view()->strip()->findChild<SegmentedControl*>();
  auto* button = window_.current_view()->inspector()->findChild<QPushButton*>();
  ASSERT_TRUE(clock != nullptr && button != nullptr);
  for (QWidget* elsewhere : std::initializer_list<QWidget*>{button, clock, &dock("inspector")}) {
    const int before = clock->current();
    elsewhere->setFocus();
    QTest::keyClick(elsewhere, Qt::Key_T);
    EXPECT_NE(clock->current(), before) << elsewhere->metaObject()->className();
  }
  QTest::keyClick(&window_, Qt::Key_1, Qt::ControlModifier);
  dock("inspector").setFocus();
  const traces::Interval window = window_.session().axis().window();
  QTest::keyClick(&dock("inspector"), Qt::Key_W);
  EXPECT_TRUE(QTest::qWaitFor([&] { return window_.session().axis().window() != window; }));
}

TEST_F(Window, F4AndCtrlJShowAndHideTheDocks) {
  open(window_, write_trace());
  EXPECT_TRUE(dock("inspector").isVisible());
  EXPECT_EQ(dock("inspector").width(), 320);
  QTest::keyClick(&window_, Qt::Key_F4);
  EXPECT_FALSE(dock("inspector").isVisible());
  QTest::keyClick(&window_, Qt::Key_F4);
  EXPECT_TRUE(dock("inspector").isVisible());
  QTest::keyClick(&window_, Qt::Key_J, Qt::ControlModifier);
  EXPECT_TRUE(dock("results").isVisible());
  window_.actions().float_inspector->trigger();
  EXPECT_TRUE(dock("inspector").isFloating());
}

TEST_F(Window, BelowTwelveHundredPixelsTheInspectorLiesOverTheView) {
  open(window_, write_trace());
  auto* overlay = window_.findChild<InspectorOverlay*>();
  ASSERT_NE(overlay, nullptr);
  EXPECT_FALSE(overlay->isVisible());
  window_.resize(1100, 800);
  EXPECT_TRUE(QTest::qWaitFor([&] { return !dock("inspector").isVisible(); }, kSecondsMs));
  EXPECT_FALSE(overlay->isVisible());  // until it is wanted
  EXPECT_TRUE(
      QTest::qWaitFor([&] { return window_.centralWidget()->width() == 1100; }, kSecondsMs));
  QTest::keyClick(&window_, Qt::Key_F4);
  EXPECT_TRUE(overlay->isVisible());
  EXPECT_EQ(window_.centralWidget()->width(), 1100);
  EXPECT_EQ(overlay->geometry().right(), window_.centralWidget()->geometry().right());
  EXPECT_EQ(overlay->height(), window_.centralWidget()->height());
  window_.choose_view(kMemoryView);
  EXPECT_TRUE(overlay->isVisible());
  overlay->setFocus();
  QTest::keyClick(overlay, Qt::Key_Escape);
  EXPECT_FALSE(overlay->isVisible());
  window_.resize(1400, 800);
  EXPECT_TRUE(QTest::qWaitFor([&] { return dock("inspector").isVisible(); }, kSecondsMs));
  EXPECT_EQ(dock("inspector").width(), 320);
}

TEST_F(Window, IsNeverSmallerThanItsViewsNeed) {
  window_.resize(300, 200);
  EXPECT_EQ(window_.size(), QSize(1000, 640));
}

TEST_F(Window, QuestionMarkAndCtrlShiftPOpenTheLists) {
  QTest::keyClick(&window_, Qt::Key_Question, Qt::ShiftModifier);
  const auto overlay = [this](const char* name) {
    KeyOverlay* found = nullptr;
    for (auto* one : window_.findChildren<KeyOverlay*>()) {
      if (one->accessibleName() == QLatin1String(name)) found = one;
    }
    return found;
  };
  KeyOverlay* help = overlay("Keys");
  ASSERT_NE(help, nullptr);
  if (!help->isVisible()) window_.actions().help->trigger();  // keyboards differ in where ? is
  EXPECT_TRUE(help->isVisible());
  help->close_overlay();
  QTest::keyClick(&window_, Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
  KeyOverlay* palette = overlay("Commands");
  ASSERT_NE(palette, nullptr);
  EXPECT_TRUE(palette->isVisible());
}

TEST_F(Window, CommandsAreAlsoWhatTheViewDoesByAKey) {
  const auto command = [this](const char* words) {
    window_.actions().commands->trigger();
    QTest::keyClicks(QApplication::focusWidget(), QString::fromLatin1(words));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
  };
  QTest::keyClick(&window_, Qt::Key_3, Qt::ControlModifier);
  wait(window_);
  command("what-if: pin the present");
  EXPECT_EQ(window_.findChild<WhatIfView*>()->what_if().pins().size(), 1U);
  open(window_, write_trace());
  QTest::keyClick(&window_, Qt::Key_2, Qt::ControlModifier);
  wait(window_);
  auto* clock = window_.current_view()->strip()->findChild<SegmentedControl*>();
  const int before = clock->current();
  command("memory: next clock");
  EXPECT_NE(clock->current(), before);
}

TEST_F(Window, TheMenuHasAllCommands) {
  QMenu* menu = window_.top_bar().menu().menu();
  ASSERT_NE(menu, nullptr);
  QTest::keyClick(&window_, Qt::Key_2, Qt::ControlModifier);
  Q_EMIT menu->aboutToShow();
  QList<QAction*> listed;
  for (const QAction* group : menu->actions()) listed += group->menu()->actions();
  for (QAction* action : window_.actions().all()) EXPECT_TRUE(listed.contains(action));
  const auto next_clock = std::ranges::find_if(
      listed, [](const QAction* one) { return one->text().endsWith(QStringLiteral("\tT")); });
  ASSERT_NE(next_clock, listed.end());
  open(window_, write_trace());
  wait(window_);
  auto* clock = window_.current_view()->strip()->findChild<SegmentedControl*>();
  const int before = clock->current();
  (*next_clock)->trigger();
  EXPECT_NE(clock->current(), before);
}

TEST_F(Window, ThemeAndTextChange) {
  window_.actions().dark_theme->trigger();
  EXPECT_TRUE(theme().is_dark());
  window_.actions().light_theme->trigger();
  EXPECT_FALSE(theme().is_dark());
  const int before = window_.top_bar().height();
  for (int n = 0; n < 4; ++n) QTest::keyClick(&window_, Qt::Key_Plus, Qt::ControlModifier);
  EXPECT_NEAR(Appearance::instance().text_scale(), 1.4, 1e-9);
  EXPECT_TRUE(QTest::qWaitFor([&] { return window_.top_bar().height() > before; }, kSecondsMs));
  for (int n = 0; n < 9; ++n) QTest::keyClick(&window_, Qt::Key_Minus, Qt::ControlModifier);
  EXPECT_NEAR(Appearance::instance().text_scale(), 0.8, 1e-9);
  window_.actions().usual->trigger();
}

TEST_F(Window, AThemeThatWasAskedForStaysThroughActivationAndNewWindows) {
  QTemporaryDir settings;
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings.path());
  MainWindow window(true);
  window.take_remembered_appearance();
  EXPECT_FALSE(theme().is_dark());
  Appearance::instance().set_theme(ThemeName::dark);
  window.show();
  window.activateWindow();
  EXPECT_TRUE(QTest::qWaitForWindowActive(&window));
  EXPECT_TRUE(theme().is_dark());
  const MainWindow another(true);
  EXPECT_TRUE(theme().is_dark());
  Appearance::instance().set_theme(ThemeName::light);
}

TEST_F(Window, NoticesTakeNoRoomOnceTheyAreClosed) {
  const int top = window_.centralWidget()->y();
  window_.notice().show_notice(Role::error, QStringLiteral("Something."));
  EXPECT_TRUE(QTest::qWaitFor([&] { return window_.centralWidget()->y() > top; }, kSecondsMs));
  QTest::mouseClick(window_.notice().findChild<QPushButton*>(), Qt::LeftButton);
  EXPECT_TRUE(QTest::qWaitFor([&] { return window_.centralWidget()->y() == top; }, kSecondsMs));
}

TEST_F(Window, AnotherWindowHasTheSameDocuments) {
  open(window_, write_trace());
  const auto before = QApplication::topLevelWidgets();
  window_.actions().new_window->trigger();
  MainWindow* other = nullptr;
  for (QWidget* widget : QApplication::topLevelWidgets()) {
    if (!before.contains(widget) && qobject_cast<MainWindow*>(widget) != nullptr) {
      other = qobject_cast<MainWindow*>(widget);
    }
  }
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(other->session().documents(), window_.session().documents());
  other->close();
}

TEST_F(Window, SomethingIsRememberedOfEachTrace) {
  QTemporaryDir settings;
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings.path());
  const std::string path = write_trace();
  {
    MainWindow window(true);
    open(window, path);
    window.session().selection().set_marks({1000, 2000});
    window.close();
  }
  MainWindow window(true);
  open(window, path);
  EXPECT_EQ(window.session().selection().marks(), (std::vector<std::int64_t>{1000, 2000}));
  EXPECT_FALSE(Remembered(true).recent_files().isEmpty());
  EXPECT_TRUE(Remembered(false).recent_files().isEmpty());
}

TEST_F(Window, AnInspectorThatWasHiddenStaysSo) {
  QTemporaryDir settings;
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings.path());
  const std::string path = write_trace();
  {
    MainWindow window(true);
    window.resize(1500, 900);
    window.show();
    open(window, path);
    window.actions().inspector->trigger();
    window.actions().results->trigger();
    window.close();
  }
  MainWindow window(true);
  window.show();
  open(window, path);
  EXPECT_FALSE(window.actions().inspector->isChecked());
  EXPECT_FALSE(window.findChild<QDockWidget*>(QStringLiteral("inspector"))->isVisible());
  EXPECT_TRUE(window.actions().results->isChecked());
  EXPECT_TRUE(window.findChild<QDockWidget*>(QStringLiteral("results"))->isVisible());
}

}  // namespace
}  // namespace foreshard::gui
