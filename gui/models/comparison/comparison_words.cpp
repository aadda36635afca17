#include "gui/models/comparison/comparison_words.hpp"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "gui/models/base/units_text.hpp"
#include "gui/models/comparison/causes.hpp"

namespace foreshard::gui {
namespace {

class CompareWords {
  Q_DECLARE_TR_FUNCTIONS(Compare)

 public:
  static QString band(const profiler::Comparison& c, const std::optional<traces::Interval>& band) {
    if (!band || c.step_time_error < 0) return {};
    const bool is_inside =
        c.baseline_step_ns >= band->start_ns && c.baseline_step_ns <= band->end_ns;
    return is_inside ? tr("The measured step is inside the 90 % band.")
                     : tr("The measured step is outside the 90 % band.");
  }

  static QString memory(const profiler::Comparison& c) {
    bool has_baseline = false, has_candidate = false;
    for (const profiler::RankMemoryDifference& one : c.ranks) {
      has_baseline = has_baseline || one.baseline_allocated_bytes > 0;
      has_candidate = has_candidate || one.candidate_allocated_bytes > 0;
    }
    if (!has_baseline || !has_candidate) return {};
    if (c.peak_allocated_error_bytes == 0 && c.peak_reserved_error_bytes == 0) {
      return c.ranks.size() == 1 ? tr("Memory is equal to the byte.")
                                 : tr("Memory is equal to the byte on all %1 ranks.")
                                       .arg(static_cast<int>(c.ranks.size()));
    }
    const auto difference = [](std::int64_t bytes) {
      return signed_text(bytes_figure(bytes), bytes < 0);
    };
    return tr("Peak memory differs by %1 allocated and %2 reserved.")
        .arg(difference(c.peak_allocated_error_bytes), difference(c.peak_reserved_error_bytes));
  }

  // The category of time whose difference is largest, then the operator.
  static QString cause(const profiler::Comparison& c, const SideWords& words) {
    const profiler::CategoryDifference* worst = nullptr;
    const auto difference = [](const auto& one) { return one.candidate_ns - one.baseline_ns; };
    for (const profiler::CategoryDifference& one : c.by_category) {
      if (one.category == "communication") continue;  // hidden communication costs no time
      if (worst == nullptr || std::abs(difference(one)) > std::abs(difference(*worst)))
        worst = &one;
    }
    if (c.step_time_error < 0 || worst == nullptr || difference(*worst) == 0) return {};
    return tr("Most of the difference is in %1: %2 %3, %4 %5.")
        .arg(category_name(worst->category),
             time_figure(static_cast<double>(worst->baseline_ns)).text(), words.baseline,
             time_figure(static_cast<double>(worst->candidate_ns)).text(), words.candidate);
  }

  static QString operator_sentence(const profiler::Comparison& c, const SideWords& words) {
    const std::vector<Cause> causes = causes_of(c);
    // A call on the host takes in what it waits for: kernels say more where there are any.
    auto worst = std::ranges::find(causes, true, &Cause::is_on_device);
    if (worst == causes.end()) worst = causes.begin();
    if (worst == causes.end() || worst->difference_ns() == 0) return {};
    return tr("Of the operators, %1 differs most: %2 a step %3.")
        .arg(worst->label, signed_time_text(worst->difference_ns()), words.candidate);
  }

  static QString category_name(const std::string& category) {
    if (category == "compute") return tr("kernels");
    if (category == "idle") return tr("idle time");
    if (category == "memory_operation") return tr("copies");
    return tr("exposed communication");
  }

  static QString headline(const profiler::Comparison& c, const SideWords& words) {
    if (c.step_time_error < 0) {
      const bool is_ours = c.baseline_step_ns <= 0;
      return (is_ours ? c.baseline : c.candidate).unknown_costs > 0
                 ? tr("Step times cannot be compared: how long part of the step takes is unknown "
                      "(%1).")
                       .arg(is_ours ? words.baseline : words.candidate)
                 : tr("Step times cannot be compared: no complete step was recorded (%1).")
                       .arg(is_ours ? words.baseline : words.candidate);
    }
    const QString before = time_figure(static_cast<double>(c.baseline_step_ns)).text();
    const QString after = time_figure(static_cast<double>(c.candidate_step_ns)).text();
    const QString change = signed_percent_text(c.candidate_step_ns, c.baseline_step_ns);
    return words.is_prediction ? tr("Predicted %1, measured %2: %3.").arg(after, before, change)
           : c.has_prediction
               ? tr("A step takes %1 before and %2 after: %3.").arg(before, after, change)
               : tr("A step took %1 before and %2 after: %3.").arg(before, after, change);
  }

  // "512 of 590 events of a step match by key; 41 are only measured, 37 only predicted."
  static QString matches(const profiler::Comparison& c, const SideWords& words) {
    const auto number = [](std::int64_t count) { return count_figure(count).number; };
    if (c.events_matched == 0) {
      return tr("No events match by key: operators are compared by their names.");
    }
    const std::int64_t all = c.events_matched + c.events_unmatched();
    if (c.events_unmatched() == 0) {
      return c.same_program ? tr("%1 of %1 events of a step match by instruction.").arg(number(all))
                            : tr("%1 of %1 events of a step match by key.").arg(number(all));
    }
    const QString text =
        words.is_prediction
            ? tr("%1 of %2 events of a step match by key; %3 are only measured, %4 only predicted.")
            : tr("%1 of %2 events of a step match by key; %3 are only before, %4 only after.");
    return text.arg(number(c.events_matched), number(all), number(c.events_only_baseline),
                    number(c.events_only_candidate));
  }
};

QString joined(const QStringList& sentences) {
  QStringList kept = sentences;
  kept.removeAll(QString());
  return kept.join(QLatin1Char(' '));
}

}  // namespace

SideWords side_words(const profiler::Comparison& comparison) {
  return comparison.has_prediction && !comparison.baseline.predicted
             ? SideWords{CompareWords::tr("measured"), CompareWords::tr("predicted"), true}
             : SideWords{CompareWords::tr("before"), CompareWords::tr("after"), false};
}

std::optional<traces::Interval> step_time_band(const traces::Metadata& metadata) {
  const traces::Interval band{traces::integer(metadata, "step_time_low_ns", 0),
                              traces::integer(metadata, "step_time_high_ns", 0)};
  if (band.start_ns <= 0 || band.end_ns < band.start_ns) return std::nullopt;
  return band;
}

ComparisonWords words_of(const profiler::Comparison& comparison,
                         const std::optional<traces::Interval>& band) {
  const SideWords words = side_words(comparison);
  const bool is_outside = band && (comparison.baseline_step_ns < band->start_ns ||
                                   comparison.baseline_step_ns > band->end_ns);
  const bool is_far = !band && words.is_prediction && comparison.step_time_error > 0.1;
  return {comparison.step_time_error < 0 || is_outside || is_far ? Role::warn : Role::ok,
          CompareWords::headline(comparison, words),
          joined({CompareWords::band(comparison, band), CompareWords::memory(comparison)}),
          joined({CompareWords::cause(comparison, words),
                  CompareWords::operator_sentence(comparison, words),
                  CompareWords::matches(comparison, words)})};
}

QString signed_percent_text(std::int64_t candidate, std::int64_t baseline) {
  if (baseline == 0) return {};
  const double change =
      static_cast<double>(candidate - baseline) / static_cast<double>(std::abs(baseline));
  return (change > 0 ? QStringLiteral("+") : QString()) +
         percent_text(change, std::abs(change) < 0.995 ? 1 : 0);
}

TimeScale::TimeScale(std::int64_t longest_ns, int most_decimals) {
  const auto longest = static_cast<double>(longest_ns);
  const Figure figure = time_figure(longest);
  unit_ = figure.unit;
  ns_of_unit_ = unit_ == QLatin1String("s")    ? 1e9
                : unit_ == QLatin1String("ms") ? 1e6
                : unit_ == QLatin1String("us") ? 1e3
                                               : 1;
  const qsizetype point = figure.number.indexOf(QLatin1Char('.'));
  decimals_ =
      point < 0 ? 0 : std::min(static_cast<int>(figure.number.size() - point - 1), most_decimals);
}

QString TimeScale::text(std::int64_t ns) const {
  const QString digits =
      QString::number(std::abs(static_cast<double>(ns)) / ns_of_unit_, 'f', decimals_);
  return ns < 0 && shows(ns) ? QChar(0x2212) + digits : digits;
}

QString TimeScale::signed_text(std::int64_t ns) const {
  return ns > 0 && shows(ns) ? QLatin1Char('+') + text(ns) : text(ns);
}

bool TimeScale::shows(std::int64_t ns) const {
  return std::abs(static_cast<double>(ns)) / ns_of_unit_ >= 0.5 * std::pow(10, -decimals_);
}

QString signed_time_text(std::int64_t ns) {
  return signed_text(time_figure(static_cast<double>(ns)), ns < 0);
}

}  // namespace foreshard::gui
