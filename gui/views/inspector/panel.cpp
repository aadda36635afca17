#include "gui/views/inspector/panel.hpp"

#include <QHBoxLayout>
#include <QPainter>
#include <QScrollArea>
#include <QVBoxLayout>

#include "gui/paint/theme.hpp"
#include "gui/views/base/key_button.hpp"
#include "gui/views/base/section_title.hpp"

namespace foreshard::gui {
namespace {

constexpr int kPanelPadding = 16;
constexpr int kSectionGap = 12;

}  // namespace

Panel::Panel(QWidget* parent)
    : QWidget(parent),
      head_(new PanelHead),
      content_(new QVBoxLayout),
      buttons_(new QHBoxLayout),
      footer_(new QWidget) {
  auto* const inside = new QWidget;
  inside->setSizePolicy(QSizePolicy::Ignored,
                        QSizePolicy::Preferred);  // as wide as the panel, whatever is in it
  auto* const column = new QVBoxLayout(inside);
  column->setContentsMargins(kPanelPadding, kPanelPadding - 4, kPanelPadding, kPanelPadding);
  column->setSpacing(0);
  column->addWidget(head_);
  column->addSpacing(4);
  content_->setSpacing(kSectionGap);
  column->addLayout(content_);
  column->addStretch(1);

  auto* const scroll = new QScrollArea;
  scroll->setWidget(inside);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFocusPolicy(Qt::NoFocus);
  scroll->viewport()->setAutoFillBackground(false);
  inside->setAutoFillBackground(false);

  footer_->setLayout(buttons_);
  buttons_->setContentsMargins(kPanelPadding, 8, kPanelPadding, 8);
  buttons_->setSpacing(8);
  buttons_->addStretch(1);
  auto* const whole = new QVBoxLayout(this);
  whole->setContentsMargins(0, 0, 0, 0);
  whole->setSpacing(0);
  whole->addWidget(scroll, 1);
  whole->addWidget(footer_);
  connect(&Appearance::instance(), &Appearance::changed, this, [this] { update(); });
}

void Panel::add(QWidget* widget) {
  content_->addWidget(widget);
}

Panel::Section Panel::add_section(const QString& title, const QString& note, QWidget* content) {
  auto* const whole = new QWidget;
  auto* const column = new QVBoxLayout(whole);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(4);
  auto* const heading = new SectionTitle(title, note);
  column->addWidget(heading);
  column->addWidget(content);
  content_->addWidget(whole);
  return {whole, heading};
}

void Panel::fill(const Section& section, FactList& list, const std::vector<Fact>& facts) {
  list.set_facts(facts);
  section.whole->setVisible(!facts.empty());
}

KeyButton* Panel::add_button(const QString& text, const QString& key) {
  auto* const button = new KeyButton(text, key);
  buttons_->insertWidget(buttons_->count() - 1, button);
  return button;
}

void Panel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::panel]);
  painter.setPen(QPen(theme()[Role::line], 0));
  painter.drawLine(0, footer_->y(), width(), footer_->y());
  painter.drawLine(0, 0, 0, height());
}

}  // namespace foreshard::gui
