#include "gui/views/shell/notice_bar.hpp"

#include <QHBoxLayout>
#include <QPushButton>
#include <utility>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kNoticePadding = 16;
constexpr int kStateWidth = 22;
constexpr int kProgressHeight = 2;

}  // namespace

NoticeBar::NoticeBar(QWidget* parent) : PaintedWidget(parent), row_(new QHBoxLayout(this)) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  row_->setContentsMargins(kNoticePadding, 0, 12, 1);
  row_->setSpacing(8);
  row_->addStretch(1);
  hide();
}

void NoticeBar::show_notice(std::optional<Role> state, const QString& text,
                            std::vector<NoticeButton> buttons, bool can_be_closed) {
  state_ = state;
  progress_ = -1;
  for (QPushButton* button : std::exchange(buttons_, {})) {
    button->hide();
    button->deleteLater();
  }
  if (can_be_closed) {
    buttons.push_back({QStringLiteral("×"), [this] {
                         hide();
                         Q_EMIT closed();
                       }});
  }
  for (NoticeButton& offer : buttons) {
    auto* button = new QPushButton(offer.text, this);
    const bool is_cross = offer.text == QStringLiteral("×");
    button->setFlat(is_cross);
    button->setAccessibleName(is_cross ? tr("Close this notice") : offer.text);
    if (is_cross) button->setFixedWidth(30);
    connect(button, &QPushButton::clicked, this, std::move(offer.act));
    row_->addWidget(button);
    button->show();
    buttons_.push_back(button);
  }
  set_text(text);
  show();
}

void NoticeBar::set_text(const QString& text) {
  text_ = text;
  setAccessibleName(text);
  setToolTip(text);
  update();
}

void NoticeBar::set_progress(double share) {
  progress_ = share;
  update();
}

QSize NoticeBar::sizeHint() const {
  return {800, scaled(40)};
}
QSize NoticeBar::minimumSizeHint() const {
  return {0, scaled(40)};
}

double NoticeBar::text_right() const {
  return buttons_.empty() ? width() - kNoticePadding : buttons_.front()->x() - kNoticePadding;
}

void NoticeBar::resizeEvent(QResizeEvent*) {
  update();
}

void NoticeBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::shade]);
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme()[Role::line]);
  double left = kNoticePadding;
  if (state_) {
    draw_state(painter, {left + 4, height() / 2.0}, *state_);
    left += kStateWidth - 4;
  }
  painter.setFont(gui::font(Text::body));
  painter.setPen(theme()[Role::text]);
  const double wide = text_right() - left;
  draw_figure(painter, QRectF(left, 0, wide, height()), Qt::AlignLeft,
              elided_figure(painter.font(), text_, wide));
  if (progress_ < 0) return;
  painter.fillRect(QRectF(0, height() - kProgressHeight, width() * progress_, kProgressHeight),
                   theme()[Role::focus]);
}

}  // namespace foreshard::gui
