#include "gui/views/shell/document_chips.hpp"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainterPath>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/hatch.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kGutter = 5;
constexpr int kBetween = 8;
constexpr int kCrossWidth = 22;
constexpr double kNarrowest = 56;

QString chip_title(const Document& document) {
  if (document.detail.isEmpty()) return document.title;
  if (document.source == Source::what_if) return document.detail;  // its title is its source's word
  return document.detail + QStringLiteral(" · ") + document.title;
}

}  // namespace

QString source_word(Source source) {
  switch (source) {
    case Source::measured: return DocumentChips::tr("Measured");
    case Source::predicted: return DocumentChips::tr("Predicted");
    case Source::what_if: return DocumentChips::tr("What-if");
  }
  return {};
}

DocumentChips::DocumentChips(Session& session, QWidget* parent)
    : PaintedWidget(parent), session_(session) {
  setFocusPolicy(Qt::TabFocus);
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(tr("Open documents"));
  const auto refresh = [this] {
    const DocumentPtr current = session_.current();
    setAccessibleDescription(current ? source_word(current->source) + QLatin1Char(' ') +
                                           chip_title(*current)
                                     : QString());
    updateGeometry();
    update();
  };
  connect(&session_, &Session::documents_changed, this, refresh);
  connect(&session_, &Session::current_changed, this, refresh);
}

QSize DocumentChips::sizeHint() const {
  return {400, scaled(43)};
}
QSize DocumentChips::minimumSizeHint() const {
  return {40, scaled(43)};
}

double DocumentChips::wish(const Document& document) const {
  const double word =
      QFontMetricsF(gui::font(Text::secondary)).horizontalAdvance(source_word(document.source));
  return std::ceil(kGutter + 8 + word + 7 +
                   figure_width(gui::font(Text::value), chip_title(document)) + 8 + kCrossWidth);
}

std::vector<QRectF> DocumentChips::boxes() const {
  const auto& documents = session_.documents();
  std::vector<double> widths;
  for (const DocumentPtr& document : documents) widths.push_back(wish(*document));
  const double room = width() - kBetween * static_cast<double>(widths.size());
  const double sum = std::accumulate(widths.begin(), widths.end(), 0.0);
  const double share = sum > room ? std::max(0.0, room) / sum : 1;
  std::vector<QRectF> all;
  double left = 0;
  const double tall = scaled(22);
  for (const double wanted : widths) {
    const double wide = std::max(kNarrowest, std::floor(wanted * share));
    all.emplace_back(left, std::floor((height() - tall) / 2), wide, tall);
    left += wide + kBetween;
  }
  return all;
}

QRectF DocumentChips::chip(int index) const {
  return boxes().at(static_cast<std::size_t>(index));
}
QRectF DocumentChips::cross(int index) const {
  const QRectF box = chip(index);
  return {box.right() - kCrossWidth, box.top(), kCrossWidth, box.height()};
}

int DocumentChips::chip_at(QPointF point) const {
  const std::vector<QRectF> all = boxes();
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n].contains(point)) return static_cast<int>(n);
  }
  return -1;
}

void DocumentChips::draw_chip(QPainter& painter, const QRectF& box, int index) const {
  const Document& document = *session_.documents()[static_cast<std::size_t>(index)];
  const bool is_current = index == session_.current_index();
  const QRectF outline = box.adjusted(0.5, 0.5, -0.5, -0.5);
  QPainterPath shape;
  shape.addRoundedRect(outline, 4, 4);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillPath(shape, theme()[is_current ? Role::raised : Role::panel]);
  painter.save();
  painter.setClipPath(shape);
  const QRectF gutter(box.left(), box.top(), kGutter, box.height());
  if (document.is_predicted()) {
    painter.fillRect(gutter, theme()[Role::canvas]);
    painter.fillRect(gutter, hatch(theme()[Role::text2], Hatch::diagonal, 4));
  } else {
    painter.fillRect(gutter, theme()[Role::host]);
  }
  painter.restore();
  painter.setPen(QPen(theme()[is_current ? Role::text3 : Role::strong_line], 1));
  painter.setBrush(Qt::NoBrush);
  painter.drawPath(shape);

  const double right = box.right() - kCrossWidth;
  double left = box.left() + kGutter + 8;
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(theme()[Role::text2]);
  const double word = painter.fontMetrics().horizontalAdvance(source_word(document.source));
  if (left + word + 7 < right) {
    painter.drawText(QRectF(left, box.top(), word + 1, box.height()), Qt::AlignVCenter,
                     source_word(document.source));
    left += word + 7;
  }
  painter.setFont(gui::font(Text::value));
  painter.setPen(theme()[Role::text]);
  draw_figure(painter, QRectF(left, box.top(), right - left, box.height()), Qt::AlignLeft,
              elided_figure(painter.font(), chip_title(document), right - left));

  const bool is_hot = index == hovered_ && is_on_cross_;
  painter.setPen(QPen(theme()[is_hot ? Role::text : Role::text3], 1.3));
  const QPointF middle(box.right() - kCrossWidth / 2.0 - 1, box.center().y());
  painter.drawLine(middle + QPointF(-3, -3), middle + QPointF(3, 3));
  painter.drawLine(middle + QPointF(-3, 3), middle + QPointF(3, -3));
}

void DocumentChips::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const std::vector<QRectF> all = boxes();
  for (std::size_t n = 0; n < all.size(); ++n) draw_chip(painter, all[n], static_cast<int>(n));
  if (session_.current_index() >= 0) {
    draw_focus(painter, all[static_cast<std::size_t>(session_.current_index())]);
  }
}

void DocumentChips::mousePressEvent(QMouseEvent* event) {
  const int index = chip_at(event->position());
  if (index < 0) return;
  const bool closes =
      event->button() == Qt::MiddleButton ||
      (event->button() == Qt::LeftButton && cross(index).contains(event->position()));
  if (closes) {
    Q_EMIT close_asked(index);
  } else if (event->button() == Qt::LeftButton) {
    session_.set_current(index);
  }
}

void DocumentChips::mouseMoveEvent(QMouseEvent* event) {
  hovered_ = chip_at(event->position());
  is_on_cross_ = hovered_ >= 0 && cross(hovered_).contains(event->position());
  update();
}

void DocumentChips::leaveEvent(QEvent*) {
  hovered_ = -1;
  update();
}

void DocumentChips::keyPressEvent(QKeyEvent* event) {
  const int current = session_.current_index();
  const int last = static_cast<int>(session_.documents().size()) - 1;
  if (event->key() == Qt::Key_Right && current < last) return session_.set_current(current + 1);
  if (event->key() == Qt::Key_Left && current > 0) return session_.set_current(current - 1);
  if (event->key() == Qt::Key_Delete && current >= 0) return void(Q_EMIT close_asked(current));
  PaintedWidget::keyPressEvent(event);
}

bool DocumentChips::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return PaintedWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int index = chip_at(help->pos());
  if (index < 0) {
    QToolTip::hideText();
  } else {
    const Document& document = *session_.documents()[static_cast<std::size_t>(index)];
    QStringList paths;
    for (const std::string& file : document.files) paths << QString::fromStdString(file);
    QToolTip::showText(
        help->globalPos(),
        document.files.empty() ? chip_title(document) : paths.join(QLatin1Char('\n')), this);
  }
  return true;
}

}  // namespace foreshard::gui
