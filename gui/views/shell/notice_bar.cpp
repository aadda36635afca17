#include "gui/views/shell/notice_bar.hpp"

#include <QHBoxLayout>
#include <QPushButton>
#include <QSpinBox>
#include <array>
#include <utility>

#include "gui/models/session/sentences.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/labels.hpp"

namespace foreshard::gui {
namespace {

constexpr int kNoticePadding = 16;
constexpr int kStateWidth = 22;
constexpr int kProgressHeight = 2;

constexpr int kPartPadding = 16, kPartMarkWidth = 18;

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

PartBar::PartBar(QWidget* parent)
    : PaintedWidget(parent),
      too_large_(new TextLabel(Text::body, Role::text, this)),
      first_(new QSpinBox(this)),
      last_(new QSpinBox(this)),
      open_part_(new QPushButton(tr("Open these steps"), this)),
      open_all_(new QPushButton(tr("Open all of it"), this)) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  first_->setAccessibleName(tr("First step"));
  last_->setAccessibleName(tr("Last step"));
  for (QSpinBox* box : {first_, last_}) box->setButtonSymbols(QAbstractSpinBox::NoButtons);
  open_part_->setProperty("primary", true);
  auto* close = new QPushButton(QStringLiteral("×"), this);
  close->setFlat(true);
  close->setFixedWidth(30);
  close->setAccessibleName(tr("Close this question"));

  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(kPartPadding + kPartMarkWidth, 0, 12, 1);
  row->setSpacing(8);
  row->addWidget(too_large_);
  // The boxes stand in the places that the sentence has for them, in whichever language.
  const QString question = part_question();
  const auto add_words = [&](qsizetype from, qsizetype to) {
    const QString words = question.mid(from, to - from).trimmed();
    if (words.isEmpty()) return;
    row->addWidget(new TextLabel(Text::body, Role::text, words, this));
  };
  qsizetype from = 0;
  const std::array<std::pair<QString, QSpinBox*>, 2> places{
      {{QStringLiteral("%1"), first_}, {QStringLiteral("%2"), last_}}};
  for (const auto& [mark, box] : places) {
    const qsizetype place = question.indexOf(mark);
    add_words(from, place);
    row->addWidget(box);
    from = place + mark.size();
  }
  add_words(from, question.size());
  row->addStretch(1);
  for (QPushButton* button : {open_part_, open_all_, close}) row->addWidget(button);

  connect(first_, &QSpinBox::valueChanged, last_, &QSpinBox::setMinimum);
  connect(open_part_, &QPushButton::clicked, this, [this] {
    hide();
    Q_EMIT part_wanted(offer_.path, {first_->value(), last_->value()});
    Q_EMIT answered();
  });
  connect(open_all_, &QPushButton::clicked, this, [this] {
    hide();
    Q_EMIT all_wanted(offer_.path);
    Q_EMIT answered();
  });
  connect(close, &QPushButton::clicked, this, [this] {
    hide();
    Q_EMIT answered();
  });
  hide();
}

void PartBar::ask(const PartOffer& offer) {
  offer_ = offer;
  const QString too_large = too_large_text(offer.needed_bytes, offer.free_bytes);
  too_large_->set_text(too_large);
  too_large_->setVisible(!too_large.isEmpty());
  const auto [first, last] = *offer.recorded;
  first_->setRange(first, last);
  last_->setRange(first, last);
  first_->setValue(offer.proposed.first);
  last_->setValue(offer.proposed.last);
  setAccessibleName(too_large + QLatin1Char(' ') +
                    part_question().arg(offer.proposed.first).arg(offer.proposed.last));
  show();
  update();
}

QSize PartBar::sizeHint() const {
  return {800, scaled(40)};
}

void PartBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::shade]);
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme()[Role::line]);
  draw_state(painter, {kPartPadding + 4.0, height() / 2.0},
             too_large_->isHidden() ? Role::ok : Role::warn);
}

}  // namespace foreshard::gui
