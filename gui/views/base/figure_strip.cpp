#include "gui/views/base/figure_strip.hpp"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "gui/paint/figures.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr double kColumnGap = 32, kLeastGap = 16;

bool has_same_labels(const std::vector<StripFigure>& a, const std::vector<StripFigure>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& one, const auto& other) { return one.label == other.label; });
}

}  // namespace

FigureStrip::FigureStrip(QWidget* parent) : PaintedWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(&Appearance::instance(), &Appearance::changed, this, [this] {
    widths_.assign(figures_.size(), {});
    widen();
  });
}

void FigureStrip::set_figures(std::vector<StripFigure> figures) {
  if (!has_same_labels(figures, figures_)) widths_.assign(figures.size(), {});
  figures_ = std::move(figures);
  widen();
  QStringList spoken;
  for (const StripFigure& figure : figures_) {
    spoken << figure.label + QLatin1String(": ") + figure.figure.text() + QLatin1Char(' ') +
                  figure.note;
  }
  setAccessibleName(spoken.join(QLatin1String("; ")));
  update();
}

void FigureStrip::set_stale(bool is_stale) {
  if (is_stale == is_stale_) return;
  is_stale_ = is_stale;
  update();
}

double FigureStrip::column_width(const StripFigure& figure, const QString& note) const {
  return std::max(figure_width(gui::font(Text::secondary), figure.label),
                  number_width(Text::strip_figure, figure.figure, note));
}

void FigureStrip::widen() {
  for (std::size_t n = 0; n < figures_.size(); ++n) {
    Widths& widths = widths_[n];
    const StripFigure& figure = figures_[n];
    widths.whole = std::max(widths.whole, std::ceil(column_width(figure, figure.note)));
    widths.without_note = std::max(widths.without_note, std::ceil(column_width(figure, QString())));
  }
}

std::size_t FigureStrip::shown_notes() const {
  double all = 2 * margin_ - kLeastGap;
  for (const Widths& widths : widths_) all += widths.whole + kLeastGap;
  std::size_t shown = widths_.size();
  while (shown > 0 && all > width()) {
    --shown;
    all -= widths_[shown].whole - widths_[shown].without_note;
  }
  return shown;
}

std::vector<double> FigureStrip::lefts() const {
  const std::size_t notes = shown_notes();
  std::vector<double> shown;
  for (std::size_t n = 0; n < widths_.size(); ++n) {
    shown.push_back(n < notes ? widths_[n].whole : widths_[n].without_note);
  }
  const double all = std::accumulate(shown.begin(), shown.end(), 0.0);
  const auto gaps = static_cast<double>(std::max<std::size_t>(widths_.size(), 2) - 1);
  const double gap = std::clamp((width() - 2 * margin_ - all) / gaps, kLeastGap, kColumnGap);
  std::vector<double> lefts{static_cast<double>(margin_)};
  for (const double width : shown) lefts.push_back(lefts.back() + width + gap);
  return lefts;
}

QSize FigureStrip::sizeHint() const {
  double all = 2 * margin_;
  for (const Widths& widths : widths_) all += widths.whole + kColumnGap;
  return {static_cast<int>(all), scaled(56)};
}

QSize FigureStrip::minimumSizeHint() const {
  return {0, scaled(56)};
}

void FigureStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const std::vector<double> left = lefts();
  const std::size_t notes = shown_notes();
  for (std::size_t n = 0; n < figures_.size(); ++n) {
    const StripFigure& figure = figures_[n];
    painter.setFont(gui::font(Text::secondary));
    painter.setPen(theme()[is_stale_ ? Role::text3 : Role::text2]);
    draw_figure_at(painter, {left[n], height() * 0.36}, figure.label);
    draw_number(painter, {left[n], height() * 0.78}, Text::strip_figure, figure.figure,
                n < notes ? figure.note : QString(), is_stale_ ? Role::text3 : figure.note_role,
                is_stale_ ? Role::text3 : Role::text);
  }
}

QRectF FigureStrip::figure_box(std::size_t figure) const {
  const std::vector<double> left = lefts();
  return {left[figure], 0, left[figure + 1] - left[figure], static_cast<double>(height())};
}

const StripFigure* FigureStrip::figure_at(double x) const {
  for (std::size_t n = 0; n < figures_.size(); ++n) {
    if (const QRectF box = figure_box(n); box.left() <= x && x < box.right()) return &figures_[n];
  }
  return nullptr;
}

void FigureStrip::mouseMoveEvent(QMouseEvent* event) {
  const StripFigure* figure = figure_at(event->position().x());
  const bool is_link = figure != nullptr && figure->link >= 0;
  setCursor(is_link ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

void FigureStrip::mouseReleaseEvent(QMouseEvent* event) {
  const StripFigure* figure = figure_at(event->position().x());
  if (figure != nullptr && figure->link >= 0) Q_EMIT followed(figure->link);
}

bool FigureStrip::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return PaintedWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  QString tooltip;
  if (const StripFigure* figure = figure_at(help->pos().x())) {
    QStringList lines{figure->tooltip};
    if (figure >= figures_.data() + shown_notes()) lines.prepend(figure->note);
    lines.removeAll(QString());
    tooltip = lines.join(QLatin1Char('\n'));
  }
  QToolTip::showText(help->globalPos(), tooltip, this);
  return true;
}

}  // namespace foreshard::gui
