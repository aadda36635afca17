#include "gui/views/inspector/step_panel.hpp"

#include <QClipboard>
#include <QGuiApplication>

#include "gui/views/base/fact_list.hpp"
#include "gui/views/base/key_button.hpp"
#include "gui/views/base/paragraph.hpp"
#include "gui/views/base/share_bar.hpp"
#include "gui/views/inspector/step_summary.hpp"

namespace foreshard::gui {

StepPanel::StepPanel(Session& session, QWidget* parent)
    : Panel(parent),
      session_(session),
      shares_(new ShareBar),
      time_(new FactList),
      sentence_(new Paragraph(Paragraph::Frame::box)),
      path_(new FactList),
      operators_(new FactList),
      memory_(new FactList),
      recording_(new FactList) {
  add(shares_);
  add(time_);
  add(sentence_);
  path_section_ = add_section(tr("Critical path"), tr("time · share"), path_);
  operators_section_ =
      add_section(tr("Costliest operators, all steps"), tr("time · count"), operators_);
  memory_section_ = add_section(tr("Memory at its peak"), {}, memory_);
  recording_section_ = add_section(tr("Recording"), {}, recording_);
  connect(add_button(tr("Zoom to step"), QStringLiteral("F")), &QPushButton::clicked, this,
          &StepPanel::fit_asked);
  connect(add_button(tr("Copy as text")), &QPushButton::clicked, this,
          [this] { QGuiApplication::clipboard()->setText(as_text()); });
  connect(&session, &Session::current_changed, this, &StepPanel::refresh);
  connect(&session.selection(), &Selection::rank_changed, this, &StepPanel::refresh);
  refresh();
}

void StepPanel::refresh() {
  const DocumentPtr document = session_.current();
  const StepSummary summary =
      document ? summarise_step(*document, session_.selection().rank()) : StepSummary{};
  head().set_headline(summary.headline);
  shares_->set_shares(summary.shares);
  time_->set_facts(summary.time);
  QStringList sentences;
  for (const QString& sentence : summary.sentences) sentences << sentence;
  sentence_->set_sentence({}, sentences.join(QLatin1Char(' ')));
  shares_->setVisible(!summary.time.empty());
  sentence_->setVisible(!summary.sentences.empty());
  fill(path_section_, *path_, summary.path);
  fill(operators_section_, *operators_, summary.operators);
  fill(memory_section_, *memory_, summary.memory);
  fill(recording_section_, *recording_, summary.recording);
}

QString StepPanel::as_text() const {
  QStringList parts{head().as_text(),     time_->as_text(),      sentence_->accessibleName(),
                    path_->as_text(),     operators_->as_text(), memory_->as_text(),
                    recording_->as_text()};
  parts.removeAll(QString());
  return parts.join(QStringLiteral("\n\n"));
}

}  // namespace foreshard::gui
