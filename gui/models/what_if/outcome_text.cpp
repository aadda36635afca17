#include "gui/models/what_if/outcome_text.hpp"

#include "gui/models/base/units_text.hpp"
#include "gui/models/base/words.hpp"
#include "gui/models/what_if/plan_control.hpp"

namespace foreshard::gui {
namespace {

constexpr Words said("WhatIf");

QString bytes_text(std::int64_t bytes) {
  return bytes_figure(bytes).text();
}

}  // namespace

std::optional<std::int64_t> spare_bytes(const Outcome& outcome) {
  if (!outcome.capacity || !outcome.fits) return std::nullopt;
  return *outcome.capacity - outcome.reserved;
}

bool fits_only_just(const Outcome& outcome) {
  constexpr double kLittle = 0.05;  // of the device
  const auto spare = spare_bytes(outcome);
  return spare && static_cast<double>(*spare) < kLittle * static_cast<double>(*outcome.capacity);
}

QString failing_work(const OomReport& oom) {
  const QString work = QString::fromStdString(oom.operator_name);
  const QString unit = QString::fromStdString(oom.unit);
  if (work.isEmpty()) return unit.isEmpty() ? QString::fromStdString(oom.phase) : unit;
  return unit.isEmpty() ? work : said("%1 of %2").arg(work, unit);
}

QString failure_text(const OomReport& oom) {
  return said("%1 of step %2 asks %3 for %4")
      .arg(QString::fromStdString(oom.phase))
      .arg(oom.step)
      .arg(bytes_text(oom.request.requested), failing_work(oom));
}

Verdict verdict_of(const Outcome& outcome) {
  if (outcome.oom) {
    const std::int64_t capacity = outcome.capacity.value_or(outcome.oom->request.reserved);
    return {
        Role::error, said("Does not fit:"),
        said("%1, %2 are free.")
            .arg(failure_text(*outcome.oom), bytes_text(capacity - outcome.oom->request.reserved))};
  }
  if (!outcome.capacity) {
    return {Role::ok, said("No limit is known:"),
            said("%1 reserved at the peak.").arg(bytes_text(outcome.reserved))};
  }
  const QString text = said("%1 of %2 reserved at the peak, %3 to spare.")
                           .arg(bytes_text(outcome.reserved), bytes_text(*outcome.capacity),
                                bytes_text(*spare_bytes(outcome)));
  return fits_only_just(outcome) ? Verdict{Role::warn, said("Fits, but only just:"), text}
                                 : Verdict{Role::ok, said("Fits:"), text};
}

QString key_error_text(const Error& error) {
  const QString message = QString::fromStdString(error.message);
  return error.field.empty()
             ? message
             : QStringLiteral("%1 %2").arg(QString::fromStdString(error.field), message);
}

std::string key_of_warning(const QString& warning) {
  const std::string word = warning.section(QLatin1Char(' '), 0, 0).toStdString();
  const std::string key = word.ends_with(':') ? word.substr(0, word.size() - 1) : word;
  return control_of(key) == nullptr ? std::string() : key;
}

QStringList warnings_of(const Outcome& outcome) {
  QStringList sentences;
  for (const std::string& warning : outcome.warnings) {
    QString sentence = QString::fromStdString(warning) + QLatin1Char('.');
    if (key_of_warning(sentence).empty()) sentence[0] = sentence[0].toUpper();
    sentences << sentence;
  }
  return sentences;
}

Verdict sources_of(const Outcome& outcome) {
  const auto& sources = outcome.sources;
  if (sources.unknown > 0) {
    return {Role::error, QString(),
            said("%n costs are unknown", static_cast<int>(sources.unknown))};
  }
  const QString counts = said("Costs: %1 measured, %2 fitted, %3 modelled")
                             .arg(sources.measured)
                             .arg(sources.fitted)
                             .arg(sources.modelled);
  if (sources.modelled == 0) return {Role::ok, QString(), counts};
  const bool all = sources.measured + sources.fitted == 0;
  return {Role::warn, QString(),
          all ? said("Costs: modelled from the data sheet of %1, no recording of this machine. "
                     "Memory is exact.")
                    .arg(outcome.settings.place())
              : counts};
}

}  // namespace foreshard::gui
