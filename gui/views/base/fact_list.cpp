#include "gui/views/base/fact_list.hpp"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kFactGap = 10;
constexpr double kSwatchRoom = 16;
constexpr double kBarHeight = 2;
constexpr double kRingRoom = 4;  // beside links, for the ring of the keyboard

double fact_height(const Fact& fact) {
  return scaled(20) + (fact.bar > 0 ? kBarHeight : 0);
}

bool has_same_fact_labels(const std::vector<Fact>& a, const std::vector<Fact>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& one, const auto& other) { return one.label == other.label; });
}

}  // namespace

FactList::FactList(QWidget* parent) : PaintedWidget(parent) {
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(&Appearance::instance(), &Appearance::changed, this, [this] {
    caption_width_ = value_width_ = note_width_ = 0;
    measure();
  });
}

void FactList::set_facts(std::vector<Fact> facts) {
  if (!has_same_fact_labels(facts, facts_)) {
    caption_width_ = value_width_ = note_width_ = 0;
    hovered_ = current_ = -1;
  }
  facts_ = std::move(facts);
  measure();
  has_links_ = std::ranges::any_of(facts_, &Fact::is_link);
  setFocusPolicy(has_links_ ? Qt::StrongFocus : Qt::NoFocus);
  setAccessibleDescription(facts_text(facts_));
  updateGeometry();
  update();
}

QString facts_text(const std::vector<Fact>& facts) {
  QStringList lines;
  for (const Fact& fact : facts) {
    QStringList columns{fact.label, fact.value};
    if (!fact.caption.isEmpty()) columns.prepend(fact.caption);
    if (!fact.note.isEmpty()) columns << fact.note;
    lines << columns.join(QLatin1Char('\t'));
  }
  return lines.join(QLatin1Char('\n'));
}

void FactList::measure() {
  for (const Fact& fact : facts_) {
    value_width_ = std::max(value_width_, figure_width(gui::font(Text::value), fact.value));
    caption_width_ =
        std::max(caption_width_, figure_width(gui::font(Text::secondary), fact.caption));
    note_width_ = std::max(note_width_, figure_width(gui::font(Text::body), fact.note));
  }
}

double FactList::row_top(int row) const {
  double top = 0;
  for (int n = 0; n < row; ++n) top += fact_height(facts_[static_cast<std::size_t>(n)]);
  return top;
}

QPoint FactList::row_centre(int row) const {
  return {width() / 2, static_cast<int>(row_top(row)) + scaled(20) / 2};
}

int FactList::row_at(QPointF point) const {
  double bottom = 0;
  for (std::size_t n = 0; n < facts_.size(); ++n) {
    bottom += fact_height(facts_[n]);
    if (point.y() < bottom) return static_cast<int>(n);
  }
  return -1;
}

bool FactList::is_link(int row) const {
  return row >= 0 && row < static_cast<int>(facts_.size()) &&
         facts_[static_cast<std::size_t>(row)].is_link();
}

QSize FactList::sizeHint() const {
  return {288, static_cast<int>(std::ceil(row_top(static_cast<int>(facts_.size()))))};
}

QSize FactList::minimumSizeHint() const {
  return {0, sizeHint().height()};
}

void FactList::draw_row(QPainter& painter, int row) const {
  const Fact& fact = facts_[static_cast<std::size_t>(row)];
  const double top = row_top(row);
  QRectF box(0, top, width(), scaled(20));
  if (fact.is_link() && (row == hovered_ || (row == current_ && hasFocus()))) {
    painter.fillRect(box, theme()[Role::hover]);
  }
  if (has_links_) box.adjust(kRingRoom, 0, -kRingRoom, 0);
  if (fact.bar > 0) {
    const double bar = std::max(1.0, std::min(fact.bar, 1.0) * width());
    painter.fillRect(QRectF(0, box.bottom() - 1, bar, kBarHeight),
                     theme()[fact.swatch.value_or(EventColour{Role::text3, Tint::plain})]);
  } else if (fact.swatch) {
    draw_swatch(painter, {4, box.center().y()}, theme()[*fact.swatch]);
    box.setLeft(kSwatchRoom);
  }
  if (caption_width_ > 0) {
    painter.setFont(gui::font(Text::secondary));
    painter.setPen(theme()[Role::text2]);
    draw_figure(painter, box, Qt::AlignLeft, fact.caption);
    box.setLeft(box.left() + caption_width_ + kFactGap);
  }
  if (note_width_ > 0) {
    painter.setFont(gui::font(Text::body));
    painter.setPen(theme()[Role::text2]);
    draw_figure(painter, box, Qt::AlignRight, fact.note);
    box.setRight(box.right() - note_width_ - kFactGap);
  }
  painter.setFont(gui::font(Text::value));
  painter.setPen(theme()[isEnabled() ? fact.value_role : Role::text3]);
  const QString value = elided_figure(painter.font(), fact.value, box.width() * 0.75);
  draw_figure(painter, box, Qt::AlignRight, value);
  box.setRight(box.right() - figure_width(painter.font(), value) - kFactGap);

  painter.setFont(gui::font(fact.is_link() ? Text::value : Text::body));
  painter.setPen(theme()[Role::text]);
  draw_figure(painter, box, Qt::AlignLeft, elided_figure(painter.font(), fact.label, box.width()));
}

void FactList::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  for (std::size_t row = 0; row < facts_.size(); ++row) draw_row(painter, static_cast<int>(row));
  if (is_link(current_)) draw_focus(painter, QRectF(0, row_top(current_), width(), scaled(20)));
}

void FactList::hover(int row) {
  hovered_ = row;
  setCursor(is_link(row) ? Qt::PointingHandCursor : Qt::ArrowCursor);
  update();
}

void FactList::mousePressEvent(QMouseEvent* event) {
  const int row = row_at(event->position());
  if (event->button() != Qt::LeftButton || !is_link(row))
    return PaintedWidget::mousePressEvent(event);
  current_ = row;
  Q_EMIT followed(row);
}

void FactList::mouseMoveEvent(QMouseEvent* event) {
  hover(row_at(event->position()));
}

void FactList::leaveEvent(QEvent*) {
  hover(-1);
}

void FactList::keyPressEvent(QKeyEvent* event) {
  const int step = event->key() == Qt::Key_Down ? 1 : event->key() == Qt::Key_Up ? -1 : 0;
  if (step != 0) {
    int row = current_ + step;
    while (row >= 0 && row < static_cast<int>(facts_.size()) && !is_link(row)) row += step;
    if (is_link(row)) current_ = row;
    return update();
  }
  const bool is_enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (!is_enter || !is_link(current_)) return PaintedWidget::keyPressEvent(event);
  Q_EMIT followed(current_);
}

bool FactList::event(QEvent* event) {
  if (event->type() == QEvent::FocusIn && !is_link(current_)) {
    const auto first = std::ranges::find_if(facts_, &Fact::is_link);
    current_ = first == facts_.end() ? -1 : static_cast<int>(first - facts_.begin());
  }
  if (event->type() != QEvent::ToolTip) return PaintedWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int row = row_at(help->pos());
  QToolTip::showText(help->globalPos(),
                     row < 0 ? QString() : facts_[static_cast<std::size_t>(row)].tooltip, this);
  return true;
}

}  // namespace foreshard::gui
