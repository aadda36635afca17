#include "gui/views/compare/compare_inspector.hpp"

#include <QPushButton>

#include "gui/models/base/units_text.hpp"
#include "gui/models/comparison/operator_pairs.hpp"
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
    : SidePanel(parent),
      scatter_(new PairScatter(this)),
      copy_(add_button(tr("Copy as text"))),
      next_(add_button(tr("Next worst"), QStringLiteral("]"))) {
  scatter_->hide();
  connect(scatter_, &PairScatter::pair_chosen, this, &CompareInspector::pair_chosen);
  connect(next_, &QPushButton::clicked, this, &CompareInspector::next_worst);
  connect(copy_, &QPushButton::clicked, this, &CompareInspector::copy_wanted);
  set_comparison(nullptr);
}

void CompareInspector::set_comparison(std::shared_ptr<const TraceComparison> comparison) {
  comparison_ = std::move(comparison);
  scatter_->set_comparison(comparison_);
  for (QWidget* button : {copy_, next_}) button->setVisible(comparison_ != nullptr);
  if (comparison_ == nullptr) show_content({});
}

QString CompareInspector::band_text() const {
  if (!comparison_->band || !comparison_->are_steps_comparable()) return {};
  const auto step = static_cast<double>(comparison_->whole->candidate_step_ns);
  const auto half =
      static_cast<double>(comparison_->band->end_ns - comparison_->band->start_ns) / 2;
  return tr("Shaded: ± %1, the 90 % band of the whole step.").arg(percent_text(half / step));
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
  PanelContent content{{name.empty() ? tr("No differences") : QString::fromStdString(name)}, {}};
  content.headline.detail = detail;
  content.sections = {{}, {tr("Every pair of this step")}, {tr("Why")}};
  content.sections[0].facts = std::move(facts);
  if (!step.pairs.empty()) {
    content.sections[1].plot = scatter_;
    content.sections[1].text = band_text();
  }
  content.sections[2].text = why_sentence(spread, comparison_->sides.is_prediction);
  scatter_->set_operator(pairs);
  show_content(std::move(content));
}

}  // namespace foreshard::gui
