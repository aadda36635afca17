#include "gui/views/inspector/range_panel.hpp"

#include <QClipboard>
#include <QGuiApplication>

#include "gui/views/base/key_button.hpp"
#include "gui/views/base/paragraph.hpp"

namespace foreshard::gui {

RangePanel::RangePanel(QWidget* parent)
    : Panel(parent),
      shares_(new ShareBar),
      time_(new FactList),
      sentence_(new Paragraph(Paragraph::Frame::box)),
      operators_(new FactList),
      collectives_(new FactList),
      memory_(new FactList) {
  add(shares_);
  add(time_);
  add(sentence_);
  operators_section_ = add_section(tr("Operators"), tr("time · count"), operators_);
  collectives_section_ = add_section(tr("Collectives"), tr("mean · rate"), collectives_);
  memory_section_ = add_section(tr("Memory in this range"), {}, memory_);
  connect(add_button(tr("Zoom to range"), QStringLiteral("F")), &QPushButton::clicked, this,
          &RangePanel::zoom_asked);
  connect(add_button(tr("Copy as text")), &QPushButton::clicked, this,
          [this] { QGuiApplication::clipboard()->setText(as_text()); });
}

void RangePanel::set_content(const RangeContent& content) {
  head().set_headline(content.headline);
  shares_->set_shares(content.shares);
  time_->set_facts(content.time);
  sentence_->set_sentence(content.lead, content.sentence);
  sentence_->setVisible(!content.lead.isEmpty() || !content.sentence.isEmpty());
  fill(operators_section_, *operators_, content.operators);
  fill(collectives_section_, *collectives_, content.collectives);
  fill(memory_section_, *memory_, content.memory);
}

void RangePanel::set_stale(bool is_stale) {
  for (QWidget* widget :
       std::initializer_list<QWidget*>{time_, operators_, collectives_, memory_}) {
    widget->setEnabled(!is_stale);
  }
}

QString RangePanel::as_text() const {
  QStringList parts{head().as_text(),      time_->as_text(),        sentence_->accessibleName(),
                    operators_->as_text(), collectives_->as_text(), memory_->as_text()};
  parts.removeAll(QString());
  return parts.join(QStringLiteral("\n\n"));
}

}  // namespace foreshard::gui
