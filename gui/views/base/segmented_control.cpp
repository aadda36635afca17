#include "gui/views/base/segmented_control.hpp"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kTrough = 2;  // around the segments
constexpr int kSegmentPadding = 12;

}  // namespace

SegmentedControl::SegmentedControl(QStringList choices, QWidget* parent) : PaintedWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  set_choices(std::move(choices));
}

void SegmentedControl::set_choices(QStringList choices) {
  choices_ = std::move(choices);
  why_not_.assign(static_cast<std::size_t>(choices_.size()), QString());
  current_ = hovered_ = -1;
  set_current(0);
  updateGeometry();
}

void SegmentedControl::set_current(int choice) {
  if (choice == current_) return;
  current_ = choice;
  setAccessibleDescription(choices_.value(choice));
  update();
}

void SegmentedControl::set_choice_enabled(int choice, bool is_enabled, const QString& why_not) {
  const QString reason = why_not.isNull() ? QStringLiteral("") : why_not;
  why_not_.at(static_cast<std::size_t>(choice)) = is_enabled ? QString() : reason;
  update();
}

QSize SegmentedControl::sizeHint() const {
  const QFontMetricsF metrics(gui::font(Text::secondary_strong));
  double widest = 0;
  for (const QString& choice : choices_)
    widest = std::max(widest, metrics.horizontalAdvance(choice));
  const double segment = std::ceil(widest) + 2 * kSegmentPadding;
  return {static_cast<int>(segment * static_cast<double>(choices_.size()) + 2 * kTrough),
          scaled(24)};
}

QSize SegmentedControl::minimumSizeHint() const {
  const QFontMetricsF metrics(gui::font(Text::secondary_strong));
  double all = 2 * kTrough;
  for (const QString& choice : choices_) all += std::ceil(metrics.horizontalAdvance(choice)) + 8;
  return {static_cast<int>(all), scaled(24)};
}

// Of one width; where the longest name has no room then, each as much wider than its own.
QRectF SegmentedControl::segment(int choice) const {
  const QFontMetricsF metrics(gui::font(Text::secondary_strong));
  const double room = width() - 2 * kTrough, count = static_cast<double>(choices_.size());
  double widest = 0, all = 0, before = 0;
  for (int n = 0; n < choices_.size(); ++n) {
    const double name = metrics.horizontalAdvance(choices_[n]);
    widest = std::max(widest, name);
    all += name;
    if (n < choice) before += name;
  }
  const double height_within = height() - 2 * kTrough;
  if (widest + 8 <= room / count) {
    return {kTrough + choice * room / count, kTrough, room / count, height_within};
  }
  const double more = (room - all) / count;
  return {kTrough + before + choice * more, kTrough,
          metrics.horizontalAdvance(choices_[choice]) + more, height_within};
}

int SegmentedControl::choice_at(QPointF point) const {
  for (int choice = 0; choice < choices_.size(); ++choice) {
    if (segment(choice).contains(point)) return choice;
  }
  return -1;
}

void SegmentedControl::choose(int choice) {
  if (choice < 0 || choice == current_ || !can_have(choice)) return;
  set_current(choice);
  Q_EMIT chosen(choice);
}

void SegmentedControl::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme()[Role::hover]);
  painter.drawRoundedRect(rect(), 5, 5);
  for (int choice = 0; choice < choices_.size(); ++choice) {
    const QRectF box = segment(choice);
    const bool is_current = choice == current_;
    const bool is_enabled = isEnabled() && can_have(choice);
    if (is_current) {
      painter.setPen(QPen(theme()[Role::strong_line], 1));
      painter.setBrush(theme()[theme().is_dark() ? Role::strong_line : Role::raised]);
      painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    }
    painter.setFont(gui::font(is_current ? Text::secondary_strong : Text::secondary));
    const bool stands_out = is_current || choice == hovered_;
    painter.setPen(theme()[!is_enabled ? Role::text3 : stands_out ? Role::text : Role::text2]);
    if (!can_have(choice)) painter.setOpacity(0.6);
    painter.drawText(box, Qt::AlignCenter, choices_[choice]);
    painter.setOpacity(1);
  }
  draw_focus(painter, rect(), 5);
}

void SegmentedControl::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) choose(choice_at(event->position()));
}

void SegmentedControl::mouseMoveEvent(QMouseEvent* event) {
  hovered_ = choice_at(event->position());
  update();
}

void SegmentedControl::leaveEvent(QEvent*) {
  hovered_ = -1;
  update();
}

void SegmentedControl::keyPressEvent(QKeyEvent* event) {
  const int step = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
  if (step == 0) return PaintedWidget::keyPressEvent(event);
  int choice = current_ + step;
  while (choice >= 0 && choice < choices_.size() && !can_have(choice)) choice += step;
  if (choice < choices_.size()) choose(choice);
}

bool SegmentedControl::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int choice = choice_at(help->pos());
    const QString why = choice < 0 ? QString() : why_not_[static_cast<std::size_t>(choice)];
    QToolTip::showText(help->globalPos(), why.isEmpty() ? toolTip() : why, this);
    return true;
  }
  return PaintedWidget::event(event);
}

}  // namespace foreshard::gui
