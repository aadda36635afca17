#include "gui/views/inspector/panel_head.hpp"

#include <QMouseEvent>
#include <utility>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/number_label.hpp"

namespace foreshard::gui {
namespace {

constexpr int kTitleHeight = 22, kDetailHeight = 22, kFigureHeight = 34;
constexpr double kHeadGap = 8;
constexpr double kOpens = 12;       // room of the mark that others can be chosen
constexpr double kHeadSwatch = 18;  // room of the swatch before the title

// Draws what stands right and returns what is left of the line.
QRectF draw_right(QPainter& painter, QRectF line, Text size, Role role, const QString& text) {
  if (text.isEmpty()) return line;
  painter.setFont(gui::font(size));
  painter.setPen(theme()[role]);
  draw_figure(painter, line, Qt::AlignRight, text);
  line.setRight(line.right() - figure_width(painter.font(), text) - kHeadGap);
  return line;
}

void draw_left(QPainter& painter, const QRectF& line, Text size, Role role, const QString& text) {
  painter.setFont(gui::font(size));
  painter.setPen(theme()[role]);
  draw_figure(painter, line, Qt::AlignLeft, elided_figure(painter.font(), text, line.width()));
}

}  // namespace

PanelHead::PanelHead(QWidget* parent) : PaintedWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setMouseTracking(true);
}

void PanelHead::set_headline(Headline headline) {
  headline_ = std::move(headline);
  setAccessibleName(QStringList{headline_.title, headline_.detail, headline_.figure.text()}.join(
      QStringLiteral(", ")));
  setToolTip(headline_.title);
  update();
}

QString PanelHead::as_text() const {
  QStringList parts{headline_.title,       headline_.detail,       headline_.figure.text(),
                    headline_.figure_note, headline_.figure_aside, headline_.whose};
  parts.removeAll(QString());
  return parts.join(QStringLiteral(", "));
}

QSize PanelHead::sizeHint() const {
  return {288, scaled(kTitleHeight) + scaled(kDetailHeight) + scaled(kFigureHeight)};
}

QRectF PanelHead::whose_box() const {
  if (headline_.whose.isEmpty()) return {};
  const double wide = figure_width(gui::font(Text::secondary), headline_.whose) + kOpens;
  return {width() - wide, 0, wide, static_cast<double>(scaled(kTitleHeight))};
}

void PanelHead::mouseMoveEvent(QMouseEvent* event) {
  setCursor(whose_box().contains(event->position()) ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

void PanelHead::mouseReleaseEvent(QMouseEvent* event) {
  if (!whose_box().contains(event->position())) return;
  Q_EMIT whose_asked(mapToGlobal(whose_box().bottomLeft().toPoint()));
}

void PanelHead::draw_title(QPainter& painter, QRectF line) const {
  if (!headline_.whose.isEmpty()) {
    const QPointF tip(line.right() - 4, line.center().y() + 2);
    painter.setPen(QPen(theme()[Role::text3], 1.2));
    painter.drawPolyline(QPolygonF({tip + QPointF(-3, -3), tip, tip + QPointF(3, -3)}));
    line.setRight(line.right() - kOpens);
  }
  line = draw_right(painter, line, Text::secondary, Role::text2, headline_.whose);
  if (headline_.swatch) {
    painter.fillRect(QRectF(line.left(), line.center().y() - 5, 10, 10),
                     theme()[*headline_.swatch]);
    line.setLeft(line.left() + kHeadSwatch);
  }
  draw_left(painter, line, Text::title, Role::text, headline_.title);
}

void PanelHead::draw_detail(QPainter& painter, QRectF line) const {
  for (auto key = headline_.detail_keys.rbegin(); key != headline_.detail_keys.rend(); ++key) {
    const double left = line.right() - key_cap_width(*key);
    draw_key_cap(painter, left, line.center().y(), *key);
    line.setRight(left - kHeadGap);
  }
  line = draw_right(painter, line, Text::body, Role::text2, headline_.detail_note);
  draw_left(painter, line, Text::body, Role::text2, headline_.detail);
}

void PanelHead::draw_figure_line(QPainter& painter, QRectF line) const {
  draw_right(painter, line, Text::body, Role::text2, headline_.figure_aside);
  const double capital = QFontMetricsF(gui::font(Text::key_figure)).capHeight();
  draw_number(painter, {line.left(), line.center().y() + capital / 2}, Text::key_figure,
              headline_.figure, headline_.figure_note, Role::text2);
}

void PanelHead::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  double top = 0;
  const auto line = [&](int tall) {
    const QRectF box(0, top, width(), scaled(tall));
    top += scaled(tall);
    return box;
  };
  draw_title(painter, line(kTitleHeight));
  draw_detail(painter, line(kDetailHeight));
  draw_figure_line(painter, line(kFigureHeight));
}

}  // namespace foreshard::gui
