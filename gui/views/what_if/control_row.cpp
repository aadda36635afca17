#include "gui/views/what_if/control_row.hpp"

#include <QHBoxLayout>
#include <QVBoxLayout>

#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kLabelWidth = 92, kLeft = 32;

}  // namespace

ControlRow::ControlRow(const QString& label, QWidget* control, bool is_wide, QWidget* parent)
    : PaintedWidget(parent),
      control_(control),
      is_wide_(is_wide),
      label_(new TextLabel(Text::body, Role::text, this)) {
  control_->setParent(this);
  label_->set_text(label);
  auto* beside = is_wide ? static_cast<QBoxLayout*>(new QVBoxLayout()) : new QHBoxLayout();
  beside->setSpacing(is_wide ? 4 : 0);
  if (is_wide) {
    beside->addWidget(label_);
  } else {
    const auto fit = [this] { label_->setFixedWidth(scaled(kLabelWidth)); };
    fit();
    connect(&Appearance::instance(), &Appearance::changed, label_, fit);
    beside->addWidget(label_, 0, Qt::AlignVCenter);
  }
  beside->addWidget(control_, 1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(kLeft, 3, 16, 3);
  layout->setSpacing(2);
  layout->addLayout(beside);
}

void ControlRow::set_changed(bool is_changed) {
  if (is_changed == is_changed_) return;
  is_changed_ = is_changed;
  update();
}

void ControlRow::set_error(const QString& sentence) {
  say(error_, sentence);
}

void ControlRow::set_warning(const QString& sentence) {
  say(warning_, sentence);
}

void ControlRow::say(Message& message, const QString& sentence) {
  if (sentence == message.sentence) return;
  message.sentence = sentence;
  if (message.shown == nullptr) {
    message.shown = new Paragraph(Paragraph::Frame::none, message.role, this);
    layout()->addWidget(message.shown);
  }
  message.shown->set_sentence(QString(), sentence);
  message.shown->setVisible(!sentence.isEmpty());
}

void ControlRow::set_unused(const QString& why) {
  if (why == why_unused_) return;
  why_unused_ = why;
  if (is_wide_) setVisible(why.isEmpty());
  control_->setEnabled(why.isEmpty());
  label_->set_role(why.isEmpty() ? Role::text : Role::text3);
  control_->setToolTip(why);
}

void ControlRow::paintEvent(QPaintEvent*) {
  if (!is_changed_) return;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme()[Role::focus]);
  painter.drawEllipse(QPointF(22, label_->geometry().center().y() + 0.5), 3, 3);
}

}  // namespace foreshard::gui
