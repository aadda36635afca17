#include "gui/views/what_if/answer_figures.hpp"

#include <cmath>

#include "gui/models/what_if/outcome_text.hpp"
#include "gui/models/what_if/plan_control.hpp"

namespace foreshard::gui {
namespace {

// "+3.0 % on A"; empty without a pin or a change.
QString against(double value, double pinned, const QString& letter) {
  if (pinned <= 0 || value <= 0) return {};
  const double percent = std::round((value / pinned - 1) * 1000) / 10;
  const QString sign = percent < 0 ? QString(QChar(0x2212)) : QStringLiteral("+");
  return WhatIf::tr("%1%2 % on %3").arg(sign, QString::number(std::abs(percent), 'f', 1), letter);
}

Role role_of_gain(double value, double pinned) {
  return value > pinned ? Role::ok : value < pinned ? Role::text2 : Role::text3;
}

QString band_text(const Outcome& outcome) {
  return WhatIf::tr("90 %: %1").arg(time_range_text(outcome.low_ns, outcome.high_ns));
}

StripFigure reserved_figure(const Outcome& outcome) {
  StripFigure figure{WhatIf::tr("Peak reserved"),
                     bytes_figure(outcome.reserved),
                     {},
                     Role::text2,
                     exact_bytes(outcome.reserved)};
  if (const auto spare = spare_bytes(outcome)) {
    figure.note = WhatIf::tr("%1 to spare").arg(bytes_figure(*spare).text());
    if (fits_only_just(outcome)) figure.note_role = Role::warn;
  } else if (!outcome.fits) {
    figure.note = WhatIf::tr("does not fit");
    figure.note_role = Role::error;
  }
  return figure;
}

// The nearest notch of a slider above the present one whose plan does not fit.
QString next_misfit(const WhatIf& what_if) {
  if (what_if.surroundings() == nullptr) return {};
  const SpeltPlan& plan = what_if.settings().plan;
  for (const Candidate& notch : what_if.surroundings()->notches) {
    const SpeltKey& change = notch.changes.front();
    if (!notch.oom || QString::fromStdString(change.value).toLongLong() <=
                          QString::fromStdString(plan.value(change.name)).toLongLong()) {
      continue;
    }
    SpeltPlan changed = plan;
    changed.set(change.name, change.value);
    return WhatIf::tr("%1 runs out: %2.")
        .arg(change_text(change.name, changed), failure_text(*notch.oom));
  }
  return {};
}

}  // namespace

std::vector<StripFigure> answer_figures(const Outcome& outcome, const std::vector<Pin>& pins) {
  const bool has_time = outcome.step_ns > 0;
  const Outcome* pinned = pins.empty() ? nullptr : pins.front().outcome.get();
  const QString letter = pins.empty() ? QString() : pins.front().letter;
  const Figure nothing{QString(QChar(0x2013)), {}};
  std::vector<StripFigure> figures{
      {WhatIf::tr("Throughput"),
       has_time
           ? Figure{count_figure(std::llround(outcome.tokens_per_s)).number, WhatIf::tr("tokens/s")}
           : nothing,
       {},
       Role::text2,
       {}},
      {WhatIf::tr("Step time"),
       has_time ? time_figure(outcome.step_ns) : nothing,
       has_time ? band_text(outcome) : QString(),
       Role::text3,
       {}},
      {WhatIf::tr("MFU"),
       outcome.mfu > 0 ? Figure{QString::number(outcome.mfu * 100, 'f', 1), QStringLiteral("%")}
                       : nothing,
       {},
       Role::text2,
       {}},
      {WhatIf::tr("Exposed communication"),
       has_time ? time_figure(outcome.exposed_ns) : nothing,
       has_time
           ? WhatIf::tr("%1 of the step").arg(percent_text(outcome.exposed_ns / outcome.step_ns))
           : QString(),
       Role::text3,
       {}},
      reserved_figure(outcome)};
  if (pinned != nullptr && has_time) {
    figures[0].note = against(outcome.tokens_per_s, pinned->tokens_per_s, letter);
    figures[0].note_role = role_of_gain(outcome.tokens_per_s, pinned->tokens_per_s);
    figures[2].note = against(outcome.mfu, pinned->mfu, letter);
    figures[2].note_role = role_of_gain(outcome.mfu, pinned->mfu);
  }
  return figures;
}

Sentence answer_sentence(const WhatIf& what_if) {
  if (what_if.error()) {
    return {Role::error, WhatIf::tr("This plan cannot be:"), key_error_text(*what_if.error()),
            WhatIf::tr("Figures and curves are those of the last plan that could.")};
  }
  const Outcome& outcome = *what_if.outcome();
  const Verdict verdict = verdict_of(outcome);
  const QString misfit = outcome.fits ? next_misfit(what_if) : QString();
  Sentence sentence{verdict.state, verdict.lead,
                    misfit.isEmpty() ? verdict.text : verdict.text + QLatin1Char(' ') + misfit};
  const QStringList warnings = warnings_of(outcome);
  sentence.detail = warnings.isEmpty() ? sources_of(outcome).text : warnings.join(QLatin1Char(' '));
  if (!warnings.isEmpty()) sentence.detail_state = Role::warn;
  return sentence;
}

QString answer_status(const Outcome& outcome) {
  return WhatIf::tr("Answered in %1 · %2")
      .arg(time_figure(outcome.answered_ns).text(), sources_of(outcome).text);
}

}  // namespace foreshard::gui
