#include "gui/views/what_if/neighbours_table.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/what_if/variant.hpp"

namespace foreshard::gui {
namespace {

constexpr double kHeadings = 52, kLine = 28, kApply = 56, kNote = 190, kReserved = 92, kTokens = 76;

QString tokens_text(double more) {
  const double percent = std::round(more * 1000) / 10;
  const QString text = QString::number(std::abs(percent), 'f', 1) + QStringLiteral(" %");
  return percent == 0 ? text : (percent < 0 ? QString(QChar(0x2212)) : QStringLiteral("+")) + text;
}

QString reserved_text(std::int64_t more) {
  if (more == 0) return QStringLiteral("0");
  return signed_text(bytes_figure(std::abs(more)), more < 0);
}

Role role_of(double gain) {
  return gain > 0 ? Role::ok : gain < 0 ? Role::text : Role::text3;
}

}  // namespace

NeighboursTable::NeighboursTable(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("One change away"));
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setMinimumSize(420, 140);
}

void NeighboursTable::set_surroundings(std::shared_ptr<const Surroundings> surroundings) {
  is_stale_ = surroundings == nullptr;
  if (!is_stale_) {
    surroundings_ = std::move(surroundings);
    current_ = 0;
  }
  update();
}

int NeighboursTable::rows() const {
  if (surroundings_ == nullptr) return 0;
  const int room = static_cast<int>((height() - kHeadings) / kLine);
  return std::min(room, static_cast<int>(surroundings_->neighbours.size()));
}

QPointF NeighboursTable::apply_centre(int row) const {
  return {width() - kApply / 2, kHeadings + kLine * (row + 0.5)};
}

// None where there is no note: then the names have the room.
double NeighboursTable::note_width() const {
  if (surroundings_ == nullptr) return 0;
  const auto& all = surroundings_->neighbours;
  const bool has_notes =
      std::any_of(all.begin(), all.end(), [](const Neighbour& one) { return !one.note.isEmpty(); });
  return has_notes ? std::min(kNote, 0.25 * width()) : 0;
}

void NeighboursTable::paint_row(QPainter& painter, int row) const {
  const Theme& t = theme();
  const Neighbour& neighbour = surroundings_->neighbours[static_cast<std::size_t>(row)];
  const QRectF box(0, kHeadings + kLine * row, width(), kLine);
  if (row == hovered_) painter.fillRect(box.adjusted(0, 1, 0, 0), t[Role::hover]);
  painter.fillRect(QRectF(0, box.bottom(), width(), 1), t[Role::line]);
  const auto cell = [&](double right, double wide) {
    return QRectF(width() - right - wide, box.top(), wide, kLine);
  };
  painter.setFont(gui::font(Text::body));
  if (neighbour.candidate.fits) {
    painter.setPen(t[role_of(std::round(neighbour.more_tokens * 1000))]);
    draw_figure(painter, cell(kApply + note_width() + kReserved, kTokens), Qt::AlignRight,
                tokens_text(neighbour.more_tokens));
    painter.setPen(t[role_of(-static_cast<double>(neighbour.more_reserved))]);
    draw_figure(painter, cell(kApply + note_width(), kReserved), Qt::AlignRight,
                reserved_text(neighbour.more_reserved));
    painter.setFont(gui::font(Text::secondary_strong));
    painter.setPen(t[is_stale_ ? Role::text3 : Role::text]);
    painter.drawText(cell(0, kApply), Qt::AlignVCenter | Qt::AlignRight, tr("Apply"));
  }
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(t[neighbour.candidate.fits ? Role::text3 : Role::error]);
  const QRectF note = cell(0, kApply + note_width() - 16);
  painter.drawText(
      note, Qt::AlignVCenter,
      QFontMetricsF(painter.font()).elidedText(neighbour.note, Qt::ElideRight, note.width()));
  const double room = width() - kApply - note_width() - kReserved - kTokens - 8;
  painter.setFont(gui::font(Text::body));
  painter.setPen(t[Role::text]);
  painter.drawText(QRectF(0, box.top(), room, kLine), Qt::AlignVCenter,
                   QFontMetricsF(painter.font()).elidedText(neighbour.text, Qt::ElideRight, room));
  if (hasFocus() && row == current_) draw_focus(painter, box.adjusted(0, 1, 0, 0));
}

void NeighboursTable::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& t = theme();
  painter.fillRect(rect(), t[Role::canvas]);
  draw_heading(painter, {0, 18}, tr("One change away"),
               tr("every key moved by one notch from Now, best first"));
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(t[Role::text3]);
  const double right = width() - kApply - note_width();
  painter.drawText(QRectF(right - kReserved, 26, kReserved, 24), Qt::AlignRight | Qt::AlignVCenter,
                   tr("reserved"));
  painter.drawText(QRectF(right - kReserved - kTokens, 26, kTokens, 24),
                   Qt::AlignRight | Qt::AlignVCenter, tr("tokens/s"));
  painter.fillRect(QRectF(0, kHeadings, width(), 1), t[Role::line]);
  if (is_stale_) painter.setOpacity(0.55);
  for (int row = 0; row < rows(); ++row) paint_row(painter, row);
}

int NeighboursTable::row_at(QPointF point) const {
  const int row = static_cast<int>((point.y() - kHeadings) / kLine);
  return point.y() >= kHeadings && row < rows() ? row : -1;
}

void NeighboursTable::apply(int row) {
  if (is_stale_ || row < 0 || row >= rows()) return;
  Q_EMIT applied(surroundings_->neighbours[static_cast<std::size_t>(row)].candidate.changes);
}

void NeighboursTable::mousePressEvent(QMouseEvent* event) {
  const int row = row_at(event->position());
  if (row < 0) return;
  current_ = row;
  update();
  if (event->position().x() > width() - kApply) apply(row);
}

void NeighboursTable::mouseMoveEvent(QMouseEvent* event) {
  hovered_ = row_at(event->position());
  const bool is_link = hovered_ >= 0 && event->position().x() > width() - kApply;
  setCursor(is_link ? Qt::PointingHandCursor : Qt::ArrowCursor);
  update();
}

void NeighboursTable::leaveEvent(QEvent*) {
  hovered_ = -1;
  update();
}

void NeighboursTable::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Up: current_ = std::max(0, current_ - 1); break;
    case Qt::Key_Down: current_ = std::max(0, std::min(rows() - 1, current_ + 1)); break;
    case Qt::Key_Return:
    case Qt::Key_Enter: apply(current_); break;
    default: return PaintedWidget::keyPressEvent(event);
  }
  update();
}

}  // namespace foreshard::gui
