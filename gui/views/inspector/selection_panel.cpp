#include "gui/views/inspector/selection_panel.hpp"

#include <QClipboard>
#include <QGuiApplication>
#include <utility>

#include "gui/views/base/key_button.hpp"
#include "gui/views/base/paragraph.hpp"
#include "gui/views/base/section_title.hpp"
#include "gui/views/inspector/band_bar.hpp"

namespace foreshard::gui {

SelectionPanel::SelectionPanel(QWidget* parent)
    : Panel(parent),
      band_(new BandBar),
      facts_(new FactList),
      cost_(new Paragraph),
      links_(new FactList),
      twins_(new TwinStrip),
      key_(new Paragraph) {
  add(band_);
  add(facts_);
  cost_section_ = add_section(tr("Cost"), {}, cost_);
  links_section_ = add_section(tr("Before and after"), {}, links_);
  twins_section_ = add_section({}, {}, twins_);
  key_section_ = add_section(tr("Key"), {}, key_);
  links_->setAccessibleName(tr("Before and after"));

  connect(links_, &FactList::followed, this, [this](int row) {
    Q_EMIT event_followed(content_.link_events.at(static_cast<std::size_t>(row)));
  });
  connect(twins_, &TwinStrip::followed, this, [this](int twin) {
    Q_EMIT event_followed(content_.twin_events.at(static_cast<std::size_t>(twin)));
  });
  connect(add_button(tr("Zoom to it"), QStringLiteral("F")), &QPushButton::clicked, this,
          &SelectionPanel::zoom_asked);
  connect(add_button(tr("Mark"), QStringLiteral("M")), &QPushButton::clicked, this,
          &SelectionPanel::mark_asked);
  connect(add_button(tr("Copy")), &QPushButton::clicked, this,
          [this] { QGuiApplication::clipboard()->setText(as_text()); });
}

void SelectionPanel::set_content(SelectionContent content) {
  content_ = std::move(content);
  head().set_headline(content_.headline);
  const EventColour colour = content_.headline.swatch.value_or(EventColour{});
  band_->setVisible(content_.band.has_value());
  if (content_.band) {
    band_->set_band(content_.band->value_ns, content_.band->low_ns, content_.band->high_ns, colour);
  }
  facts_->set_facts(content_.facts);
  cost_->set_sentence({}, content_.cost_text);
  cost_section_.title->set_title(tr("Cost"), content_.cost_source);
  cost_section_.whole->setVisible(!content_.cost_text.isEmpty() || !content_.cost_source.isEmpty());
  cost_->setVisible(!content_.cost_text.isEmpty());
  fill(links_section_, *links_, content_.links);
  twins_->set_twins(content_.twins, content_.current_twin, colour);
  const QString unit = content_.twins.empty() ? QString() : twins_->unit();
  twins_section_.title->set_title(content_.twins_title, unit);
  twins_section_.whole->setVisible(content_.twins.size() > 1);
  key_->set_sentence({}, content_.key);
  key_section_.whole->setVisible(!content_.key.isEmpty());
}

QString SelectionPanel::as_text() const {
  QStringList parts{head().as_text(), facts_->as_text(), content_.cost_text, links_->as_text(),
                    content_.key};
  parts.removeAll(QString());
  return parts.join(QLatin1Char('\n'));
}

}  // namespace foreshard::gui
