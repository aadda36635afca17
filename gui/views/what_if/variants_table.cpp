#include "gui/views/what_if/variants_table.hpp"

#include <QKeyEvent>
#include <QMouseEvent>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/models/what_if/outcome_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

// At the usual size of text.
constexpr int kTop = 56, kRow = 34;
constexpr std::array kColumns{62, 66, 56, 74};
constexpr int kNameLeft = 54, kGap = 12, kFigure = 82, kBar = 84;

}  // namespace

VariantsTable::VariantsTable(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Variants"));
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void VariantsTable::set_variants(std::vector<Variant> variants) {
  if (variants.size() != variants_.size()) updateGeometry();
  variants_ = std::move(variants);
  current_ = std::clamp(current_, 0, std::max(0, static_cast<int>(variants_.size()) - 1));
  setAccessibleDescription(as_text());
  update();
}

QStringList VariantsTable::cells(const Variant& variant) const {
  const Outcome& outcome = *variant.outcome;
  const QString nothing(QChar(0x2013));
  const bool has_time = outcome.step_ns > 0;
  return {has_time ? count_figure(std::llround(outcome.tokens_per_s)).number : nothing,
          has_time ? time_figure(outcome.step_ns).text() : nothing,
          has_time ? percent_text(outcome.mfu) : nothing, bytes_figure(outcome.allocated).text()};
}

QString VariantsTable::as_text() const {
  QStringList lines;
  for (const Variant& variant : variants_) {
    QStringList line{variant.letter, variant.name};
    line << cells(variant) << bytes_figure(variant.outcome->reserved).text();
    lines << line.join(QLatin1Char('\t'));
  }
  return lines.join(QLatin1Char('\n'));
}

QSize VariantsTable::sizeHint() const {
  const int rows = std::max(1, static_cast<int>(variants_.size()));
  return {scaled(620), scaled(kTop) + scaled(kRow) * rows + 6};
}

double VariantsTable::widest_name() const {
  const QFontMetricsF metrics(gui::font(Text::body));
  double widest = 0;
  for (const Variant& variant : variants_) {
    widest = std::max(widest, metrics.horizontalAdvance(variant.name));
  }
  return widest;
}

std::size_t VariantsTable::columns() const {
  const double most_for_name = scaled(140);
  double room = width() - scaled(kNameLeft) - std::min(widest_name(), most_for_name) -
                2 * scaled(kGap) - scaled(kFigure);
  std::size_t shown = 0;
  while (shown < kColumns.size() && (room -= scaled(kColumns[shown])) >= 0) ++shown;
  return shown;
}

double VariantsTable::columns_width() const {
  double sum = 0;
  for (std::size_t n = 0; n < columns(); ++n) sum += scaled(kColumns[n]);
  return sum;
}

double VariantsTable::bar_width() const {
  const double room = width() - scaled(kNameLeft) - widest_name() - columns_width() -
                      2 * scaled(kGap) - scaled(kFigure);
  return room >= scaled(kBar) ? scaled(kBar) : room >= scaled(kBar) / 2 ? scaled(kBar) / 2 : 0;
}

double VariantsTable::columns_right() const {
  return width() - scaled(kFigure) - bar_width() - scaled(kGap);
}

QString VariantsTable::shown_name(int row) const {
  const double room = columns_right() - columns_width() - scaled(kNameLeft) - scaled(kGap);
  return QFontMetricsF(gui::font(Text::body))
      .elidedText(variants_[static_cast<std::size_t>(row)].name, Qt::ElideRight, room);
}

void VariantsTable::paint_bar(QPainter& painter, const Outcome& outcome, const QRectF& bar) const {
  const Theme& t = theme();
  const auto most = static_cast<double>(outcome.capacity.value_or(outcome.reserved));
  const double share = most > 0 ? std::min(1.0, static_cast<double>(outcome.reserved) / most) : 0;
  const Role role = !outcome.fits             ? Role::error
                    : fits_only_just(outcome) ? Role::warn
                                              : Role::text3;
  painter.fillRect(bar, t[Role::hover]);
  painter.fillRect(QRectF(bar.left(), bar.top(), bar.width() * share, 8), t[role]);
  if (outcome.capacity) painter.fillRect(QRectF(bar.right(), bar.top() - 4, 1, 16), t[Role::error]);
}

void VariantsTable::paint_row(QPainter& painter, int row) const {
  const Theme& t = theme();
  const Variant& variant = variants_[static_cast<std::size_t>(row)];
  const QRectF box(0, scaled(kTop) + scaled(kRow) * row, width(), scaled(kRow));
  if (row == 0 || row == hovered_) painter.fillRect(box, t[row == 0 ? Role::shade : Role::hover]);
  painter.fillRect(QRectF(0, box.bottom(), width(), 1), t[Role::line]);
  const double badge = badge_width(variant.letter);
  draw_badge(painter, {8 + badge / 2, box.center().y()}, variant);
  const Outcome& outcome = *variant.outcome;
  double right = columns_right();
  const double bar = bar_width();
  if (bar > 0)
    paint_bar(painter, outcome, QRectF(right + scaled(kGap), box.center().y() - 4, bar, 8));
  painter.setFont(gui::font(Text::strong));
  painter.setPen(t[outcome.fits ? Role::text : Role::error]);
  draw_figure(painter, box.adjusted(0, 0, -8, 0), Qt::AlignRight,
              outcome.fits ? bytes_figure(outcome.reserved).text() : tr("does not fit"));
  const QStringList texts = cells(variant);
  for (std::size_t n = columns(); n-- > 0;) {
    painter.setFont(gui::font(n == 0 ? Text::strong : Text::body));
    painter.setPen(t[n == 0 ? Role::text : Role::text2]);
    draw_figure(painter,
                QRectF(right - scaled(kColumns[n]), box.top(), scaled(kColumns[n]), scaled(kRow)),
                Qt::AlignRight, texts[static_cast<int>(n)]);
    right -= scaled(kColumns[n]);
  }
  painter.setFont(gui::font(Text::body));
  painter.setPen(t[Role::text]);
  painter.drawText(QRectF(scaled(kNameLeft), box.top(), right - scaled(kNameLeft), scaled(kRow)),
                   Qt::AlignVCenter, shown_name(row));
  if (hasFocus() && row == current_) draw_focus(painter, box.adjusted(0, 1, 0, 0));
}

void VariantsTable::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme& t = theme();
  painter.fillRect(rect(), t[Role::canvas]);
  draw_heading(painter, {0, static_cast<double>(scaled(18))}, tr("Variants"),
               tr("P pins the present one, Delete drops a pin"));
  painter.setFont(gui::font(Text::secondary));
  painter.setPen(t[Role::text3]);
  double right = columns_right();
  if (bar_width() == scaled(kBar)) {
    painter.drawText(QRectF(right + scaled(kGap), scaled(30), width(), scaled(24)),
                     Qt::AlignVCenter, tr("reserved, of the device"));
  } else {
    painter.drawText(QRectF(0, scaled(30), width() - 8, scaled(24)),
                     Qt::AlignRight | Qt::AlignVCenter, tr("reserved"));
  }
  const QStringList heads{tr("tokens/s"), tr("step"), tr("MFU"), tr("allocated")};
  for (std::size_t n = columns(); n-- > 0;) {
    painter.drawText(
        QRectF(right - scaled(kColumns[n]), scaled(30), scaled(kColumns[n]), scaled(24)),
        Qt::AlignRight | Qt::AlignVCenter, heads[static_cast<int>(n)]);
    right -= scaled(kColumns[n]);
  }
  painter.fillRect(QRectF(0, scaled(kTop), width(), 1), t[Role::line]);
  for (int row = 0; row < static_cast<int>(variants_.size()); ++row) paint_row(painter, row);
}

int VariantsTable::row_at(QPointF point) const {
  const int row = static_cast<int>((point.y() - scaled(kTop)) / scaled(kRow));
  return point.y() >= scaled(kTop) && row < static_cast<int>(variants_.size()) ? row : -1;
}

void VariantsTable::drop(int row) {
  if (row < 0 || row >= static_cast<int>(variants_.size())) return;
  const int place = variants_[static_cast<std::size_t>(row)].place;
  if (place > 0) Q_EMIT dropped(static_cast<std::size_t>(place - 1));
}

void VariantsTable::mousePressEvent(QMouseEvent* event) {
  const int row = row_at(event->position());
  if (row >= 0) current_ = row;
  update();
}

void VariantsTable::mouseMoveEvent(QMouseEvent* event) {
  hovered_ = row_at(event->position());
  const QString name =
      hovered_ < 0 ? QString() : variants_[static_cast<std::size_t>(hovered_)].name;
  setToolTip(hovered_ >= 0 && shown_name(hovered_) != name ? name : QString());
  update();
}

void VariantsTable::leaveEvent(QEvent*) {
  hovered_ = -1;
  update();
}

void VariantsTable::keyPressEvent(QKeyEvent* event) {
  const int last = static_cast<int>(variants_.size()) - 1;
  switch (event->key()) {
    case Qt::Key_Up: current_ = std::max(0, current_ - 1); break;
    case Qt::Key_Down: current_ = std::min(last, current_ + 1); break;
    case Qt::Key_Delete: drop(current_); break;
    default: return PaintedWidget::keyPressEvent(event);
  }
  update();
}

}  // namespace foreshard::gui
