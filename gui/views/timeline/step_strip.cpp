#include "gui/views/timeline/step_strip.hpp"

#include <cmath>

#include <QCoreApplication>

#include "gui/models/timeline/step_figures.hpp"

namespace foreshard::gui {
namespace {

QString said(const char* text) { return QCoreApplication::translate("Timeline", text); }

}  // namespace

std::vector<StripFigure> step_strip(const Document& document) {
  const StepFigures step = step_figures(*document.trace, *document.analysis);
  const simulator::Prediction* prediction =
      document.run == nullptr ? nullptr : &document.run->prediction;
  std::vector<StripFigure> strip;
  const auto add = [&](const char* label, Figure figure, QString note = {}) {
    strip.push_back({said(label), std::move(figure), std::move(note), Role::text2, {}});
  };
  if (step.step_ns > 0) {
    QString band;
    if (prediction != nullptr && prediction->step_time_high.count() > 0) {
      band = said("90 %: %1 \u2013 %2")
                 .arg(time_figure(static_cast<double>(prediction->step_time_low.count())).text(),
                      time_figure(static_cast<double>(prediction->step_time_high.count())).text());
    }
    add("Step time", time_figure(static_cast<double>(step.step_ns)), band);
  }
  if (step.tokens_per_s > 0) {
    add("Throughput", {count_figure(std::llround(step.tokens_per_s)).text(), said("tokens/s")});
  }
  if (prediction != nullptr && prediction->mfu > 0 && prediction->has_plausible_mfu()) {
    add("MFU", {QString::number(100 * prediction->mfu, 'f', 1), QStringLiteral("%")});
  }
  if (step.step_ns > 0) {
    const double share = static_cast<double>(step.exposed_ns) / static_cast<double>(step.step_ns);
    add("Exposed communication", time_figure(static_cast<double>(step.exposed_ns)),
        said("%1 of the step").arg(percent_text(share)));
  }
  if (step.peak_reserved > 0) {
    QString capacity;
    if (prediction != nullptr && prediction->capacity) {
      capacity = said(prediction->fits ? "of %1 \u00b7 fits" : "of %1 \u00b7 does not fit")
                     .arg(bytes_figure(*prediction->capacity).number);
    }
    add("Peak reserved", bytes_figure(step.peak_reserved), capacity);
  }
  if (step.peak_allocated > 0) add("Peak allocated", bytes_figure(step.peak_allocated));
  return strip;
}

}  // namespace foreshard::gui
