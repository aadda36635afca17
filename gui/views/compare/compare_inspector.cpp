#include "gui/views/compare/compare_inspector.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/models/base/units_text.hpp"
#include "gui/models/comparison/operator_pairs.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/fact_list.hpp"
#include "gui/views/base/text_label.hpp"
#include "gui/views/compare/pair_scatter.hpp"

namespace foreshard::gui {
namespace {

// Zero is none of it.
std::vector<Fact> side_facts(const SideWords& words, std::int64_t baseline,
                             std::int64_t candidate) {
  const auto text = [](std::int64_t ns) {
    return ns == 0 ? CompareInspector::tr("none") : time_figure(static_cast<double>(ns)).text();
  };
  const auto fact = [](const QString& label, const QString& value, const QString& note = {}) {
    Fact one;
    one.label = label.left(1).toUpper() + label.mid(1);
    one.value = value;
    one.note = note;
    return one;
  };
  std::vector<Fact> facts{
      fact(words.baseline, text(baseline)), fact(words.candidate, text(candidate)),
      fact(CompareInspector::tr("Difference"), signed_time_text(candidate - baseline),
           signed_percent_text(candidate, baseline))};
  facts.back().value_role = candidate == baseline  ? Role::text
                            : candidate > baseline ? Role::warn
                                                   : Role::focus;
  return facts;
}

}  // namespace

CompareInspector::CompareInspector(QWidget* parent)
    : QWidget(parent),
      title_(new TextLabel(Text::title, Role::text)),
      detail_(new TextLabel(Text::secondary, Role::text2)),
      facts_(new FactList),
      plot_title_(new TextLabel(Text::secondary_strong, Role::text2)),
      scatter_(new PairScatter),
      band_(new TextLabel(Text::secondary, Role::text2)),
      why_(new QLabel),
      copy_(new QPushButton(tr("Copy as text"))),
      next_(new QPushButton(tr("Next worst  ]"))) {
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(16, 16, 16, 12);
  rows->setSpacing(8);
  rows->addWidget(title_);
  rows->addWidget(detail_);
  rows->addWidget(facts_);
  rows->addSpacing(8);
  plot_title_->set_text(tr("Every pair of this step"));
  rows->addWidget(plot_title_);
  rows->addWidget(scatter_);
  rows->addWidget(band_);
  rows->addSpacing(8);
  auto* why_title = new TextLabel(Text::secondary_strong, Role::text2);
  why_title->set_text(tr("Why"));
  rows->addWidget(why_title);
  rows->addWidget(why_);
  rows->addStretch();
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(copy_);
  buttons->addWidget(next_);
  buttons->addStretch();
  rows->addLayout(buttons);
  why_->setWordWrap(true);
  connect(scatter_, &PairScatter::pair_chosen, this, &CompareInspector::pair_chosen);
  connect(next_, &QPushButton::clicked, this, &CompareInspector::next_worst);
  connect(copy_, &QPushButton::clicked, this, &CompareInspector::copy_wanted);
  connect(&Appearance::instance(), &Appearance::changed, this, qOverload<>(&QWidget::update));
}

void CompareInspector::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), theme()[Role::panel]);
  painter.fillRect(QRectF(0, 0, 1, height()), theme()[Role::line]);
}

void CompareInspector::set_comparison(std::shared_ptr<const TraceComparison> comparison) {
  comparison_ = std::move(comparison);
  for (QWidget* part : findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly)) {
    part->setVisible(comparison_ != nullptr);
  }
  scatter_->set_comparison(comparison_);
  const bool has_pairs = comparison_ && !comparison_->step.pairs.empty();
  scatter_->setVisible(has_pairs);
  plot_title_->setVisible(has_pairs);
  QString band;
  if (comparison_ && comparison_->band && comparison_->are_steps_comparable()) {
    const auto step = static_cast<double>(comparison_->whole->candidate_step_ns);
    const auto half =
        static_cast<double>(comparison_->band->end_ns - comparison_->band->start_ns) / 2;
    band = tr("Shaded: ± %1, the 90 % band of the whole step.").arg(percent_text(half / step));
  }
  band_->set_text(band);
  band_->setVisible(!band.isEmpty());
}

void CompareInspector::show_cause(const Cause* cause, const ComparedPair* pair) {
  if (!comparison_) return;
  const StepComparison& step = comparison_->step;
  const std::string name = pair != nullptr ? step.name(*pair) : cause != nullptr ? cause->name : "";
  const OperatorPairs* pairs = step.pairs_of(name);
  const PairSpread spread = pairs == nullptr ? PairSpread() : pairs->spread;
  std::vector<Fact> facts;
  QString detail;
  if (pair != nullptr) {
    const traces::Trace& trace = step.baseline.trace();
    const auto& event = trace.events[static_cast<std::size_t>(pair->events.baseline)];
    QStringList parts;
    for (const traces::StringId text : {event.unit, event.phase}) {
      if (text != 0) parts << QString::fromStdString(trace.strings[text]);
    }
    detail = parts.join(QStringLiteral(" · "));
    facts = side_facts(comparison_->sides, pair->baseline_ns, pair->candidate_ns);
  } else if (cause != nullptr) {
    detail = tr("%1 in this step of rank %2; the times are of all ranks")
                 .arg(count_figure(static_cast<std::int64_t>(spread.pairs)).number)
                 .arg(step.choice.rank);
    facts = side_facts(comparison_->sides, cause->baseline_ns, cause->candidate_ns);
  }
  title_->set_text(name.empty() ? tr("No differences") : QString::fromStdString(name));
  detail_->set_text(detail);
  facts_->set_facts(std::move(facts));
  scatter_->set_operator(pairs);
  why_->setText(why_sentence(spread, comparison_->sides.is_prediction));
}

QString CompareInspector::as_text() const {
  return title_->text() + QLatin1Char('\n') + detail_->text() + QLatin1Char('\n') +
         facts_->as_text() + QLatin1Char('\n') + why_->text();
}

}  // namespace foreshard::gui
