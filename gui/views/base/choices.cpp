#include "gui/views/base/choices.hpp"

#include <QPainter>
#include <QSignalBlocker>
#include <QStyledItemDelegate>
#include <QWheelEvent>
#include <algorithm>

#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kPadding = 12, kLeastPadding = 4;

}  // namespace

SegmentedControl::SegmentedControl(const QStringList& choices, QWidget* parent, Look look)
    : QTabBar(parent), look_(look) {
  const bool is_pill = look == Look::pill;
  setProperty("look", is_pill ? QStringLiteral("pill") : QStringLiteral("underlined"));
  setAttribute(Qt::WA_StyledBackground);
  setDrawBase(false);
  setExpanding(is_pill);
  setUsesScrollButtons(false);
  setElideMode(Qt::ElideRight);
  setFocusPolicy(is_pill ? Qt::StrongFocus : Qt::TabFocus);
  setSizePolicy(is_pill ? QSizePolicy::Preferred : QSizePolicy::Fixed,
                is_pill ? QSizePolicy::Fixed : QSizePolicy::Expanding);
  set_choices(choices);
  connect(this, &QTabBar::currentChanged, this, &SegmentedControl::chosen);
  const auto fit = [this] {
    setFont(gui::font(look_ == Look::pill ? Text::secondary : Text::tab));
  };
  connect(&Appearance::instance(), &Appearance::changed, this, fit);
  fit();
}

void SegmentedControl::set_choices(const QStringList& choices) {
  const QSignalBlocker quiet(this);
  while (count() > 0) removeTab(count() - 1);
  for (const QString& choice : choices) addTab(choice);
}

void SegmentedControl::set_current(int choice) {
  const QSignalBlocker quiet(this);
  setCurrentIndex(choice);
}

void SegmentedControl::set_choice_enabled(int choice, bool is_enabled, const QString& why_not) {
  const QSignalBlocker quiet(this);
  setTabEnabled(choice, is_enabled);
  setTabToolTip(choice, is_enabled ? QString() : why_not);
}

int SegmentedControl::words_width(int choice) const {
  QFont bold = gui::font(look_ == Look::pill ? Text::secondary_strong : Text::tab);
  bold.setWeight(QFont::DemiBold);
  return QFontMetrics(bold).horizontalAdvance(tabText(choice)) + 2;
}

QSize SegmentedControl::tabSizeHint(int choice) const {
  if (look_ == Look::underlined) return {words_width(choice) + 2 * kPadding, scaled(43)};
  int widest = 0;
  for (int n = 0; n < count(); ++n) widest = std::max(widest, words_width(n));
  return {widest + 2 * kPadding, scaled(24)};
}

QSize SegmentedControl::minimumTabSizeHint(int choice) const {
  return {words_width(choice) + 2 * kLeastPadding, tabSizeHint(choice).height()};
}

// It scrolls the panel around it.
void SegmentedControl::wheelEvent(QWheelEvent* event) {
  event->ignore();
}

ChoiceList::ChoiceList(QWidget* parent) : QComboBox(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setItemDelegate(new QStyledItemDelegate(this));  // the usual one knows no style sheet
}

void ChoiceList::paintEvent(QPaintEvent* event) {
  QComboBox::paintEvent(event);
  QPainter painter(this);
  draw_triangle(painter, {width() - 13.0, height() / 2.0}, true,
                theme()[isEnabled() ? Role::text2 : Role::text3]);
}

void ChoiceList::wheelEvent(QWheelEvent* event) {
  if (hasFocus()) return QComboBox::wheelEvent(event);
  event->ignore();
}

}  // namespace foreshard::gui
