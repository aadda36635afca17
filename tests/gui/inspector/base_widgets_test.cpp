// The small widgets of gui/views/base: what stands in them stays in place, and keys work as the mouse
// does.
#include <QAbstractItemView>
#include <QApplication>
#include <QKeyEvent>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalSpy>
#include <QStandardItemModel>
#include <QTest>

#include <gtest/gtest.h>

#include "gui/paint/figures.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/choices.hpp"
#include "gui/views/base/data_table.hpp"
#include "gui/views/base/fact_list.hpp"
#include "gui/views/base/figure_strip.hpp"
#include "gui/views/base/labels.hpp"
#include "gui/views/base/sentence_strip.hpp"
#include "gui/views/base/side_panel.hpp"

namespace foreshard::gui {
namespace {

TEST(ProgressHairline, AppearsOnceWaitingTakesLongAndGoesWithTheAnswer) {
  QWidget strip;
  strip.resize(400, 64);
  ProgressHairline line(&strip);
  strip.show();
  line.set_awaiting(true);
  line.set_awaiting(false);
  QTest::qWait(ProgressHairline::kDelayMs + 50);
  EXPECT_TRUE(line.isHidden()) << "the answer came soon";
  line.set_awaiting(true);
  EXPECT_TRUE(line.isHidden());
  ASSERT_TRUE(QTest::qWaitFor([&] { return line.isVisible(); }));
  EXPECT_EQ(line.geometry(), QRect(0, 62, 400, 2));
  const QImage before = strip.grab().toImage();
  EXPECT_TRUE(QTest::qWaitFor([&] { return strip.grab().toImage() != before; })) << "it moves";
  strip.resize(500, 64);
  EXPECT_EQ(line.width(), 500);
  line.set_awaiting(false);
  EXPECT_TRUE(line.isHidden());
}

QString text(const char* latin1) {
  return QString::fromLatin1(latin1);
}

TEST(Figures, EqualDigitsTakeEqualRoom) {
  EXPECT_DOUBLE_EQ(number_width(Text::key_figure, {text("111.1"), text("ms")}, {}),
                   number_width(Text::key_figure, {text("888.8"), text("ms")}, {}));
}

TEST(TextLabel, ElidesAndTellsTheWholeInItsTooltip) {
  TextLabel label(Text::body, Role::text);
  label.set_text(text("a sentence that is far too long for so little room"));
  label.resize(80, 20);
  label.grab();
  EXPECT_EQ(label.toolTip(), label.text());
  label.resize(800, 20);
  label.grab();
  EXPECT_TRUE(label.toolTip().isEmpty());
}

TEST(FigureStrip, SpeaksItsFigures) {
  FigureStrip strip;
  strip.set_figures(
      {{text("Step time"), {text("849.3"), text("ms")}, text("90 %"), Role::text2, {}},
       {text("MFU"), {text("51.2"), text("%")}, {}, Role::text2, {}}});
  EXPECT_EQ(strip.accessibleName(), text("Step time: 849.3 ms 90 %; MFU: 51.2 % "));
  EXPECT_EQ(strip.sizeHint().height(), 56);
}

TEST(FigureStrip, ColumnsStayWhileFiguresChange) {
  FigureStrip strip;
  const auto show = [&](const char* number) {
    strip.set_figures({{text("Step time"), {text(number), text("ms")}, {}, Role::text2, {}}});
    return strip.sizeHint().width();
  };
  const int wide = show("1849345.3");
  EXPECT_EQ(show("1.1"), wide);
}

TEST(FigureStrip, KeepsTheFirstNotesWhereThereIsNoRoomForAll) {
  FigureStrip strip;
  const auto figure = [](const char* label) {
    return StripFigure{
        text(label), {text("849.3"), text("ms")}, text("2.0 % of the step"), Role::text2, {}};
  };
  strip.set_figures({figure("Step time"), figure("Exposed"), figure("Idle")});
  std::size_t before = 0;
  for (int width = 300; width <= strip.sizeHint().width(); width += 10) {
    strip.resize(width, 56);
    EXPECT_GE(strip.shown_notes(), before) << width;
    before = strip.shown_notes();
  }
  EXPECT_EQ(before, 3U);
  strip.resize(430, 56);
  EXPECT_GT(strip.shown_notes(), 0U);
  EXPECT_LT(strip.shown_notes(), 3U);
}

TEST(SentenceStrip, GoesOnInASecondLineWhereItIsNarrow) {
  SentenceStrip strip;
  const QString words = text("75.87 of 79.19 GiB reserved at the peak, which is little to spare.");
  strip.set_sentence({Role::ok, text("Fits, but only just:"), words, text("Costs are modelled.")});
  strip.resize(1000, 64);
  EXPECT_EQ(strip.lines().headline, QStringList(words));
  strip.resize(480, 64);
  EXPECT_EQ(strip.lines().headline.size(), 2);
  EXPECT_EQ(strip.lines().headline.join(QLatin1Char(' ')), words);
  strip.grab();
  EXPECT_TRUE(strip.toolTip().isEmpty());
  strip.resize(200, 64);
  strip.grab();
  EXPECT_TRUE(strip.toolTip().contains(words));
}

TEST(ChoiceList, ShowsAllOfAFewChoicesWhereItOpens) {
  ChoiceList list;
  for (const char* choice : {"rank 0", "rank 1", "rank 2"}) list.addItem(text(choice));
  list.show();
  list.showPopup();
  const QAbstractItemView& open = *list.view();
  ASSERT_TRUE(open.isVisible());
  for (int row = 0; row < 3; ++row) {
    const QRect choice = open.visualRect(open.model()->index(row, 0));
    EXPECT_TRUE(open.viewport()->rect().contains(choice)) << row;
    EXPECT_GE(choice.height(), 20) << row;
  }
}

TEST(DataTable, LeavesLettersToTheView) {
  QStandardItemModel model(3, 1);
  DataTable table;
  table.setModel(&model);
  QKeyEvent bracket(QEvent::KeyPress, Qt::Key_BracketRight, Qt::NoModifier, text("]"));
  QApplication::sendEvent(&table, &bracket);
  EXPECT_FALSE(bracket.isAccepted());
  QKeyEvent down(QEvent::KeyPress, Qt::Key_Down, Qt::NoModifier);
  QApplication::sendEvent(&table, &down);
  EXPECT_TRUE(down.isAccepted());
}

TEST(DataTable, RingsTheWholeRowOnWhichTheKeyboardIs) {
  QStandardItemModel model(3, 2);
  DataTable table;
  table.setModel(&model);
  table.resize(300, 200);
  table.show();
  table.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&table));
  table.setFocus();
  QTest::keyClick(&table, Qt::Key_Down);
  const QRect row = table.visualRect(table.currentIndex());
  const auto is_ringed = [&](int x) {
    const QImage shown = table.viewport()->grab().toImage();
    return shown.pixelColor(x, row.center().y()) == theme()[Role::focus];
  };
  EXPECT_TRUE(is_ringed(0));
  EXPECT_TRUE(is_ringed(table.viewport()->width() - 1));
  EXPECT_FALSE(is_ringed(row.right()));  // between two cells
  table.clearFocus();
  EXPECT_FALSE(is_ringed(0));
}

TEST(SegmentedControl, ArrowsMoveOverWhatCannotBeHad) {
  SegmentedControl control({text("Device time"), text("Host time"), text("Event order")});
  control.set_choice_enabled(1, false, text("This recording has no host."));
  QSignalSpy chosen(&control, &SegmentedControl::chosen);
  QTest::keyClick(&control, Qt::Key_Right);
  EXPECT_EQ(control.current(), 2);
  QTest::keyClick(&control, Qt::Key_Right);
  EXPECT_EQ(control.current(), 2);
  QTest::keyClick(&control, Qt::Key_Left);
  EXPECT_EQ(control.current(), 0);
  EXPECT_EQ(chosen.count(), 2);
}

TEST(SegmentedControl, ClicksChoose) {
  SegmentedControl control({text("a"), text("b"), text("c")});
  control.resize(300, 24);
  QSignalSpy chosen(&control, &SegmentedControl::chosen);
  QTest::mouseClick(&control, Qt::LeftButton, {}, QPoint(150, 12));
  EXPECT_EQ(control.current(), 1);
  QTest::mouseClick(&control, Qt::LeftButton, {}, QPoint(150, 12));
  EXPECT_EQ(chosen.count(), 1);
  control.set_choice_enabled(2, false);
  QTest::mouseClick(&control, Qt::LeftButton, {}, QPoint(290, 12));
  EXPECT_EQ(control.current(), 1);
}

Fact link(const char* label) {
  Fact fact;
  fact.label = text(label);
  fact.leads_to = EventId{0, 7};
  return fact;
}

TEST(FactList, LinksAreFollowedByMouseAndKeys) {
  FactList list;
  Fact plain;
  plain.label = text("plain");
  list.set_facts({plain, link("first"), plain, link("second")});
  list.resize(list.sizeHint());
  list.show();
  QSignalSpy followed(&list, &FactList::followed);
  QTest::mouseClick(&list, Qt::LeftButton, {}, list.row_centre(0));
  EXPECT_EQ(followed.count(), 0);
  QTest::mouseClick(&list, Qt::LeftButton, {}, list.row_centre(3));
  ASSERT_EQ(followed.count(), 1);
  EXPECT_EQ(followed[0][0].toInt(), 3);
  QTest::keyClick(&list, Qt::Key_Up);
  QTest::keyClick(&list, Qt::Key_Return);
  ASSERT_EQ(followed.count(), 2);
  EXPECT_EQ(followed[1][0].toInt(), 1);
}

TEST(FactList, IsReachedByTabOnlyForItsLinks) {
  FactList list;
  Fact plain;
  plain.label = text("plain");
  list.set_facts({plain});
  EXPECT_EQ(list.focusPolicy(), Qt::NoFocus);
  list.set_facts({link("first")});
  EXPECT_EQ(list.focusPolicy(), Qt::StrongFocus);
}

// Keys go on where they were: a panel of other figures, and of another event, has the same lists.
TEST(SidePanel, KeepsTheKeyboardAndTheScrollBarWhileItsFiguresChange) {
  SidePanel panel;
  const auto content = [](const char* figure) {
    PanelContent shown{{text("matmul")}, {{text("Cost")}, {text("Before and after")}}};
    shown.sections[0].text = text("modelled");
    shown.sections[1].facts = {link("first"), link("second")};
    shown.sections[1].facts[1].value = text(figure);
    for (int n = 0; n < 40; ++n) shown.sections[1].facts.push_back({text("more"), text(figure)});
    return shown;
  };
  panel.show_content(content("1 ms"));
  panel.resize(320, 300);
  panel.show();
  panel.activateWindow();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&panel));
  auto* const scroll = panel.findChild<QScrollArea*>();
  scroll->verticalScrollBar()->setValue(100);
  FactList* links = nullptr;
  for (auto* list : panel.findChildren<FactList*>()) {
    if (!list->facts().empty()) links = list;
  }
  ASSERT_NE(links, nullptr);
  links->setFocus();
  QTest::keyClick(links, Qt::Key_Down);
  QSignalSpy followed(&panel, &SidePanel::event_followed);
  PanelContent other = content("2 ms");
  other.sections[0] = {text("Cost")};  // of this one none is known
  panel.show_content(other);
  EXPECT_TRUE(links->hasFocus());
  EXPECT_EQ(scroll->verticalScrollBar()->value(), 100);
  EXPECT_EQ(links->facts()[1].value, text("2 ms"));
  QTest::keyClick(links, Qt::Key_Return);
  ASSERT_EQ(followed.count(), 1);
  EXPECT_EQ(followed[0][0].value<EventId>(), (EventId{0, 7}));
  EXPECT_FALSE(panel.as_text().contains(text("modelled")));
}

TEST(DataTable, SortsRowsByWhatTheyMeanAndKnowsWhichTheyWere) {
  DataTable table;
  table.setSortingEnabled(true);
  table.show_rows({{text("name")}, {text("bytes"), true}},
                  {{{text("a")}, {text("2 GiB"), Role::text, 2048}},
                   {{text("b")}, {text("9 MiB"), Role::text, 9}},
                   {{text("c")}, {text("1 GiB"), Role::text, 1024}}});
  table.sortByColumn(1, Qt::AscendingOrder);
  EXPECT_EQ(table.as_text(), text("name\tbytes\nb\t9 MiB\nc\t1 GiB\na\t2 GiB"));
  EXPECT_EQ(table.source_row(0), 1);
  EXPECT_EQ(table.source_row(2), 0);
}

}  // namespace
}  // namespace foreshard::gui
