#include "gui/views/timeline/step_strip.hpp"

#include <algorithm>
#include <cmath>

#include "gui/models/base/words.hpp"
#include "gui/models/timeline/step_figures.hpp"

namespace foreshard::gui {
namespace {

constexpr Words said("Timeline");

}  // namespace

std::vector<StripFigure> step_strip(const Document& document) {
  const StepFigures step = step_figures(*document.trace, *document.analysis);
  std::vector<StripFigure> strip;
  const auto add = [&](const char* label, Figure figure, QString note = {}) {
    strip.push_back({said(label), std::move(figure), std::move(note), Role::text2, {}});
  };
  if (step.step_ns > 0) {
    QString band;
    if (step.band.end_ns > 0) {
      band = said("90 %: %1")
                 .arg(time_range_text(static_cast<double>(step.band.start_ns),
                                      static_cast<double>(step.band.end_ns)));
    }
    add("Step time", time_figure(static_cast<double>(step.step_ns)), band);
  }
  if (step.tokens_per_s > 0) {
    add("Throughput", {count_figure(std::llround(step.tokens_per_s)).text(), said("tokens/s")});
  }
  if (step.mfu > 0 && step.mfu <= 1) {
    add("MFU", {QString::number(100 * step.mfu, 'f', 1), QStringLiteral("%")});
  }
  if (step.span_ns > 0) {
    add("Device events span", time_figure(static_cast<double>(step.span_ns)), said("no steps"));
    const double share = static_cast<double>(step.busy_ns) / static_cast<double>(step.span_ns);
    add("Device busy", {QString::number(100 * share, 'f', 1), QStringLiteral("%")},
        time_figure(static_cast<double>(step.busy_ns)).text());
  }
  if (const std::int64_t whole = std::max(step.step_ns, step.span_ns); whole > 0) {
    const double share = static_cast<double>(step.exposed_ns) / static_cast<double>(whole);
    add("Exposed communication", time_figure(static_cast<double>(step.exposed_ns)),
        said(step.step_ns > 0 ? "%1 of the step" : "%1 of the span").arg(percent_text(share)));
  }
  if (step.peak_reserved > 0) {
    QString capacity;
    if (step.capacity > 0) {
      const auto& ranks = document.analysis->ranks;
      const bool fits = std::none_of(ranks.begin(), ranks.end(),
                                     [](const auto& rank) { return rank.ran_out.has_value(); });
      capacity = said(fits ? "of %1 \u00b7 fits" : "of %1 \u00b7 does not fit")
                     .arg(bytes_figure(step.capacity).text());
    }
    add("Peak reserved", bytes_figure(step.peak_reserved), capacity);
  }
  if (step.peak_allocated > 0) add("Peak allocated", bytes_figure(step.peak_allocated));
  return strip;
}

}  // namespace foreshard::gui
