#include "gui/views/base/sentence_strip.hpp"

#include <algorithm>
#include <utility>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kTextLeft = 38;
constexpr int kAsideWidth = 320;
constexpr int kPadding = 16;

}  // namespace

SentenceStrip::SentenceStrip(QWidget* parent)
    : PaintedWidget(parent), progress_(new ProgressHairline(this)) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void SentenceStrip::set_sentence(Sentence sentence) {
  sentence_ = std::move(sentence);
  setAccessibleName(sentence_.lead + QLatin1Char(' ') + sentence_.text);
  setAccessibleDescription(sentence_.detail);
  update();
}

void SentenceStrip::set_aside(QWidget* control) {
  aside_ = control;
  control->setParent(this);
  control->show();
  resizeEvent(nullptr);
}

void SentenceStrip::set_stale(bool is_stale) {
  if (is_stale == is_stale_) return;
  is_stale_ = is_stale;
  update();
}

void SentenceStrip::set_awaiting(bool awaits) {
  progress_->set_awaiting(awaits);
}

QSize SentenceStrip::sizeHint() const {
  return {900, scaled(64)};
}
QSize SentenceStrip::minimumSizeHint() const {
  return {0, scaled(64)};
}

double SentenceStrip::text_right() const {
  return aside_ == nullptr ? width() - kPadding : aside_->x() - kPadding;
}

void SentenceStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const double right = text_right();
  const QFont small = gui::font(Text::secondary);
  const QStringList details = detail_lines(small, right - kTextLeft);
  const bool is_full = details.size() > 1;
  const double first = height() * (is_full ? 0.26 : 0.36);
  draw_state(painter, {20.0, first}, sentence_.state);

  QFont bold = gui::font(Text::tab), plain = bold;
  bold.setPixelSize(scaled(14));
  plain.setPixelSize(scaled(14));
  bold.setWeight(QFont::DemiBold);
  plain.setWeight(QFont::Normal);
  painter.setPen(theme()[is_stale_ ? Role::text3 : Role::text]);
  double x = kTextLeft;
  const auto draw = [&](const QFont& shown, const QString& text) {
    painter.setFont(shown);
    const QRectF box(x, first - 12, std::max(0.0, right - x), 24);
    draw_figure(painter, box, Qt::AlignLeft, elided_figure(shown, text, box.width()));
    x += figure_width(shown, text + QLatin1Char(' '));
  };
  draw(bold, sentence_.lead);
  draw(plain, sentence_.text);

  bool is_cut = x - figure_width(plain, QStringLiteral(" ")) > right + 1;
  painter.setFont(small);
  painter.setPen(theme()[is_stale_ ? Role::text3 : Role::text2]);
  double middle = height() * (is_full ? 0.58 : 0.7);
  if (sentence_.detail_state) draw_state(painter, {20.0, middle}, *sentence_.detail_state);
  for (const QString& line : details) {
    const QRectF box(kTextLeft, middle - 10, std::max(0.0, right - kTextLeft), 20);
    const QString shown = elided_figure(small, line, box.width());
    is_cut = is_cut || shown != line;
    draw_figure(painter, box, Qt::AlignLeft, shown);
    middle += height() * 0.25;
  }
  const QStringList all{sentence_.lead + QLatin1Char(' ') + sentence_.text, sentence_.detail};
  setToolTip(is_cut ? all.join(QLatin1Char('\n')) : QString());
}

// Two at most: the second has all that the first has no room for.
QStringList SentenceStrip::detail_lines(const QFont& font, double width) const {
  const QString& text = sentence_.detail;
  qsizetype end = 0;  // of the first line
  for (qsizetype at = text.indexOf(QLatin1Char(' ')); at >= 0;
       at = text.indexOf(QLatin1Char(' '), at + 1)) {
    if (figure_width(font, text.left(at)) > width) break;
    end = at;
  }
  if (end == 0 || figure_width(font, text) <= width) return {text};
  return {text.left(end), text.mid(end + 1)};
}

void SentenceStrip::resizeEvent(QResizeEvent*) {
  if (aside_ == nullptr) return;
  const QSize size = aside_->sizeHint().boundedTo({kAsideWidth - 2 * kPadding, height()});
  aside_->setGeometry(width() - kAsideWidth + kPadding, (height() - size.height()) / 2,
                      kAsideWidth - 2 * kPadding, size.height());
}

}  // namespace foreshard::gui
