#include "gui/views/shell/notice_bar.hpp"

#include <QHBoxLayout>
#include <QPushButton>
#include <QSpinBox>
#include <array>
#include <utility>

#include "gui/models/session/sentences.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kNoticePadding = 16, kStateWidth = 18, kProgressHeight = 2;

}  // namespace

NoticeBar::NoticeBar(QWidget* parent)
    : PaintedWidget(parent),
      text_(new TextLabel(Text::body, Role::text, this)),
      row_(new QHBoxLayout(this)) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  row_->setSpacing(8);
  row_->addWidget(text_);
  row_->addStretch(1);
  hide();
}

void NoticeBar::add_question(QWidget* question) {
  row_->insertWidget(1, question);
}

void NoticeBar::show_notice(std::optional<Role> state, const QString& text,
                            std::vector<NoticeButton> buttons, bool can_be_closed) {
  state_ = state;
  progress_ = -1;
  row_->setContentsMargins(kNoticePadding + (state ? kStateWidth : 0), 0, 12, 1);
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
    auto* button = buttons_.emplace_back(new QPushButton(offer.text, this));
    const bool is_cross = can_be_closed && buttons_.size() == buttons.size();
    button->setFlat(is_cross);
    button->setProperty("primary", offer.is_primary);
    button->setAccessibleName(is_cross ? tr("Close this notice") : offer.text);
    if (is_cross) button->setFixedWidth(30);
    connect(button, &QPushButton::clicked, this, std::move(offer.act));
    row_->addWidget(button);
    button->show();
  }
  set_text(text);
  show();
}

void NoticeBar::set_text(const QString& text) {
  text_->set_text(text);
  text_->setVisible(!text.isEmpty());
  setAccessibleName(text);
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

void NoticeBar::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::shade]);
  painter.fillRect(QRect(0, height() - 1, width(), 1), theme()[Role::line]);
  if (state_) draw_state(painter, {kNoticePadding + 4.0, height() / 2.0}, *state_);
  if (progress_ < 0) return;
  painter.fillRect(QRectF(0, height() - kProgressHeight, width() * progress_, kProgressHeight),
                   theme()[Role::focus]);
}

PartBar::PartBar(QWidget* parent)
    : NoticeBar(parent), first_(new QSpinBox(this)), last_(new QSpinBox(this)) {
  first_->setAccessibleName(tr("First step"));
  last_->setAccessibleName(tr("Last step"));
  for (QSpinBox* box : {first_, last_}) box->setButtonSymbols(QAbstractSpinBox::NoButtons);
  auto* all = new QWidget(this);
  auto* row = new QHBoxLayout(all);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(8);
  // The boxes stand in the places that the sentence has for them, in whichever language.
  const QString question = part_question();
  const auto add_words = [&](qsizetype from, qsizetype to) {
    const QString words = question.mid(from, to - from).trimmed();
    if (!words.isEmpty()) row->addWidget(new TextLabel(Text::body, Role::text, words, all));
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
  add_question(all);
  connect(first_, &QSpinBox::valueChanged, last_, &QSpinBox::setMinimum);
  connect(this, &NoticeBar::closed, this, &PartBar::answered);
}

void PartBar::ask(const PartOffer& offer) {
  const auto& [first, last] = *offer.recorded;
  for (QSpinBox* box : {first_, last_}) box->setRange(first, last);
  first_->setValue(offer.proposed.first);
  last_->setValue(offer.proposed.last);
  const QString too_large = too_large_text(offer.needed_bytes, offer.free_bytes);
  show_notice(too_large.isEmpty() ? Role::ok : Role::warn, too_large,
              {{tr("Open these steps"),
                [this, path = offer.path] {
                  hide();
                  Q_EMIT part_wanted(path, {first_->value(), last_->value()});
                  Q_EMIT answered();
                },
                true},
               {tr("Open all of it"), [this, path = offer.path] {
                  hide();
                  Q_EMIT all_wanted(path);
                  Q_EMIT answered();
                }}});
  setAccessibleName(too_large + QLatin1Char(' ') +
                    part_question().arg(offer.proposed.first).arg(offer.proposed.last));
}

}  // namespace foreshard::gui
