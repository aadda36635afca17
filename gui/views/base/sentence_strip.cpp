#include "gui/views/base/sentence_strip.hpp"

#include <QEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kHairlineHeight = 2, kFrameMs = 40;
constexpr double kStretch = 0.25, kFramesOfPass = 40;
constexpr int kTextLeft = 38;
constexpr int kAsideWidth = 320;
constexpr int kPadding = 16;

QFont headline_font(QFont::Weight weight) {
  QFont font = gui::font(Text::tab);
  font.setPixelSize(scaled(14));
  font.setWeight(weight);
  return font;
}

// Two at most: the second has all that the first, where `used` is taken already, has no room for.
QStringList broken(const QFont& font, const QString& text, double used, double width) {
  if (used + figure_width(font, text) <= width) return {text};
  qsizetype end = 0;  // of the first line
  for (qsizetype at = text.indexOf(QLatin1Char(' ')); at >= 0;
       at = text.indexOf(QLatin1Char(' '), at + 1)) {
    if (used + figure_width(font, text.left(at)) > width) break;
    end = at;
  }
  if (end == 0) return {text};
  return {text.left(end), text.mid(end + 1)};
}

}  // namespace

ProgressHairline::ProgressHairline(QWidget* parent) : PaintedWidget(parent) {
  setAccessibleName(tr("Waiting for the result"));
  setAttribute(Qt::WA_TransparentForMouseEvents);
  parent->installEventFilter(this);
  delay_.setSingleShot(true);
  delay_.setInterval(kDelayMs);
  connect(&delay_, &QTimer::timeout, this, &ProgressHairline::appear);
  motion_.setInterval(kFrameMs);
  connect(&motion_, &QTimer::timeout, this, [this] {
    place_ = std::fmod(place_ + 1 / kFramesOfPass, 1.0);
    update();
  });
  hide();
}

void ProgressHairline::set_awaiting(bool awaits) {
  if (!awaits) {
    delay_.stop();
    motion_.stop();
    hide();
  } else if (isHidden() && !delay_.isActive()) {
    delay_.start();
  }
}

void ProgressHairline::appear() {
  place_ = 0;
  follow_parent();
  show();
  raise();
  if (!Appearance::instance().has_less_motion()) motion_.start();
}

void ProgressHairline::follow_parent() {
  const QWidget* const parent = parentWidget();
  setGeometry(0, parent->height() - kHairlineHeight, parent->width(), kHairlineHeight);
}

bool ProgressHairline::eventFilter(QObject*, QEvent* event) {
  if (event->type() == QEvent::Resize) follow_parent();
  return false;
}

void ProgressHairline::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (!motion_.isActive()) return painter.fillRect(rect(), theme()[Role::focus]);
  // It enters at the left before it leaves at the right.
  const double stretch = width() * kStretch;
  painter.fillRect(QRectF((width() + stretch) * place_ - stretch, 0, stretch, height()),
                   theme()[Role::focus]);
}

SentenceStrip::SentenceStrip(QWidget* parent)
    : PaintedWidget(parent), progress_(new ProgressHairline(this)) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(&Appearance::instance(), &Appearance::changed, this, [this] { resizeEvent(nullptr); });
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

// Three at most: a headline that needs two leaves one for the detail.
SentenceStrip::Lines SentenceStrip::lines() const {
  const double width = std::max(0.0, text_right() - kTextLeft);
  const QString lead = sentence_.lead + QLatin1Char(' ');
  Lines lines{broken(headline_font(QFont::Normal), sentence_.text,
                     figure_width(headline_font(QFont::DemiBold), lead), width),
              {sentence_.detail}};
  if (lines.headline.size() == 1) {
    lines.detail = broken(gui::font(Text::secondary), sentence_.detail, 0, width);
  }
  return lines;
}

void SentenceStrip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Lines shown = lines();
  const bool is_full = shown.headline.size() + shown.detail.size() > 2;
  double middle = height() * (is_full ? 0.24 : 0.36), left = kTextLeft;
  bool is_cut = false;
  const auto draw = [&](const QFont& font, const QString& text) {
    painter.setFont(font);
    const QRectF box(left, middle - 12, std::max(0.0, text_right() - left), 24);
    const QString fitting = elided_figure(font, text, box.width());
    is_cut = is_cut || fitting != text;
    draw_figure(painter, box, Qt::AlignLeft, fitting);
  };

  draw_state(painter, {20.0, middle}, sentence_.state);
  painter.setPen(theme()[is_stale_ ? Role::text3 : Role::text]);
  const QFont bold = headline_font(QFont::DemiBold);
  draw(bold, sentence_.lead);
  left += figure_width(bold, sentence_.lead + QLatin1Char(' '));
  for (const QString& line : shown.headline) {
    draw(headline_font(QFont::Normal), line);
    left = kTextLeft;
    middle += height() * (is_full ? 0.29 : 0.34);
  }
  if (shown.headline.size() == 1 && is_full) middle += height() * 0.05;
  painter.setPen(theme()[is_stale_ ? Role::text3 : Role::text2]);
  if (sentence_.detail_state) draw_state(painter, {20.0, middle}, *sentence_.detail_state);
  for (const QString& line : shown.detail) {
    draw(gui::font(Text::secondary), line);
    middle += height() * 0.25;
  }
  const QStringList all{sentence_.lead + QLatin1Char(' ') + sentence_.text, sentence_.detail};
  setToolTip(is_cut ? all.join(QLatin1Char('\n')) : QString());
}

void SentenceStrip::resizeEvent(QResizeEvent*) {
  if (aside_ == nullptr) return;
  const int wide = scaled(kAsideWidth);
  const QSize size = aside_->sizeHint().boundedTo({wide - 2 * kPadding, height()});
  aside_->setGeometry(width() - wide + kPadding, (height() - size.height()) / 2,
                      wide - 2 * kPadding, size.height());
}

}  // namespace foreshard::gui
