#include "gui/paint/style.hpp"

#include <QApplication>
#include <QPainter>
#include <QProxyStyle>
#include <QPushButton>
#include <QStyleOption>
#include <QTabBar>

#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

// %1 raised, %2 strong line, %3 text, %4 hover, %5 ink, %6 canvas, %7 focus, %8 line, %9 text3,
// %10 what holds among choices, %11 text2
constexpr const char* kSheet = R"(
QPushButton { background: %1; border: 1px solid %2; border-radius: 5px; padding: 4px 12px; color: %3; min-height: 18px; }
QPushButton:hover { background: %4; }
QPushButton:disabled { color: %9; border-color: %8; }
QPushButton:focus { border: 2px solid %7; padding: 3px 11px; }
QPushButton[primary="true"] { background: %5; color: %6; border-color: %5; font-weight: 600; }
QPushButton[primary="true"]:focus { border-color: %7; }
QLineEdit, QComboBox, QSpinBox { background: %1; border: 1px solid %2; border-radius: 5px; padding: 3px 8px; color: %3; min-height: 18px; selection-background-color: %7; }
QLineEdit:disabled, QComboBox:disabled { background: transparent; border-color: %8; color: %9; }
QLineEdit:focus, QComboBox:focus, QSpinBox:focus { border: 2px solid %7; padding: 2px 7px; }
QComboBox { combobox-popup: 0; }
QComboBox::drop-down { border: 0; width: 18px; }
QComboBox QAbstractItemView { background: %1; border: 1px solid %2; selection-background-color: %4; selection-color: %3; }
QComboBox QAbstractItemView::item { min-height: 22px; padding: 0 6px; color: %3; }
QComboBox QAbstractItemView::item:selected { background: %4; }
QMenu { background: %1; color: %3; border: 1px solid %2; padding: 4px 0; }
QMenu::item { padding: 4px 20px 4px 28px; }
QMenu::item:selected { background: %4; }
QMenu::item:disabled { color: %9; }
QToolTip { background: %1; color: %3; border: 1px solid %2; padding: 4px 6px; }
QHeaderView { background: %6; border: 0; }
QHeaderView::section { background: %6; color: %9; border: 0; border-bottom: 1px solid %8; padding: 4px 6px; font-weight: 400; }
QTableView { background: %6; border: 0; gridline-color: %8; selection-background-color: %4; selection-color: %3; }
QTreeView { background: transparent; border: 0; selection-background-color: %4; selection-color: %3; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: %2; border-radius: 4px; min-height: 24px; min-width: 24px; margin: 1px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QSplitter::handle { background: %8; }
QMainWindow::separator { background: %8; width: 1px; height: 1px; }
QPushButton[link="true"] { border: 0; background: transparent; padding: 2px 0; text-align: left; color: %3; }
QPushButton[link="true"]:hover { text-decoration: underline; }
QPushButton:flat { border: 0; background: transparent; }
QPushButton[chip="true"] { border-radius: 4px; padding: 1px 8px; min-height: 16px; }
QToolButton[mark="true"] { border: 0; border-radius: 4px; background: transparent; }
QToolButton[mark="true"]:hover, QToolButton[mark="true"]:pressed { background: %4; }
QToolButton[mark="true"]::menu-indicator { image: none; }
QToolButton[mark="true"]:focus { border: 2px solid %7; }
QToolButton[fold="true"] { border: 0; border-top: 1px solid %8; background: transparent; font-weight: 600; text-align: left; padding: 0 12px; min-height: 35px; color: %3; }
QToolButton[fold="true"]:focus { border: 2px solid %7; padding: 0 10px; }
QTabBar[look="pill"] { background: %4; border-radius: 5px; }
QTabBar[look="pill"]::tab { background: transparent; border: 1px solid transparent; border-radius: 4px; margin: 2px; padding: 0; color: %11; }
QTabBar[look="pill"]::tab:selected { background: %10; border-color: %2; color: %3; font-weight: 600; }
QTabBar[look="underlined"]::tab { background: transparent; border: 0; border-bottom: 2px solid transparent; margin: 0 12px; padding: 2px 0 0 0; color: %11; }
QTabBar[look="underlined"]::tab:selected { border-bottom-color: %5; color: %3; font-weight: 600; }
QTabBar[look]::tab:hover { color: %3; }
QTabBar[look]::tab:disabled { color: %9; }
QTabBar[look]:focus { border: 2px solid %7; border-radius: 5px; }
)";

// What the sheet cannot say: marks in the theme's colours.
class HouseStyle : public QProxyStyle {
 public:
  HouseStyle() : QProxyStyle(QStringLiteral("Fusion")) {}

  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
    const QRectF box = option->rect;
    switch (element) {
      case PE_IndicatorCheckBox:
      case PE_IndicatorItemViewItemCheck:
        return draw_check_box(*painter, box.center(), option->state);
      case PE_IndicatorBranch:
        if (!(option->state & State_Children)) return;
        return draw_triangle(*painter, box.center(), option->state & State_Open,
                             theme()[Role::text2]);
      case PE_FrameFocusRect:
        // Of these the sheet's border is it.
        if (qobject_cast<const QPushButton*>(widget) || qobject_cast<const QTabBar*>(widget))
          return;
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        painter->setPen(QPen(theme()[Role::focus], 2));
        painter->setBrush(Qt::NoBrush);
        painter->drawRoundedRect(box.adjusted(1, 1, -1, -1), 4, 4);
        return painter->restore();
      default: QProxyStyle::drawPrimitive(element, option, painter, widget);
    }
  }

  int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                QStyleHintReturn* more) const override {
    if (hint == SH_Slider_AbsoluteSetButtons) return Qt::LeftButton;
    return QProxyStyle::styleHint(hint, option, widget, more);
  }

 private:
  static void draw_check_box(QPainter& painter, QPointF centre, State state) {
    const bool is_checked = state & State_On;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    if (!(state & State_Enabled)) painter.setOpacity(0.45);
    painter.setPen(QPen(theme()[is_checked ? Role::ink : Role::strong_line], 1));
    painter.setBrush(theme()[is_checked ? Role::ink : Role::raised]);
    painter.drawRoundedRect(QRectF(centre - QPointF(6.5, 6.5), QSizeF(13, 13)), 3, 3);
    if (is_checked) draw_check(painter, centre, theme()[Role::canvas]);
    painter.restore();
  }
};

void apply(QApplication& application) {
  const Theme& t = theme();
  application.setFont(font(Text::body));
  application.setPalette(t.palette());
  application.setStyleSheet(
      QString::fromLatin1(kSheet)
          .arg(t[Role::raised].name(), t[Role::strong_line].name(), t[Role::text].name(),
               t[Role::hover].name(), t[Role::ink].name(), t[Role::canvas].name(),
               t[Role::focus].name(), t[Role::line].name(), t[Role::text3].name())
          .arg(t[t.is_dark() ? Role::strong_line : Role::raised].name(), t[Role::text2].name()));
}

bool is_dark_outside = false;

}  // namespace

bool system_is_dark() {
  return is_dark_outside;
}

void apply_style(QApplication& application) {
  is_dark_outside = QApplication::palette().color(QPalette::Window).lightness() < 128;
  QApplication::setStyle(new HouseStyle);
  load_fonts();
  apply(application);
  QObject::connect(&Appearance::instance(), &Appearance::changed, &application,
                   [&application] { apply(application); });
}

}  // namespace foreshard::gui
