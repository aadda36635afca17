#include "gui/models/timeline/row_text.hpp"

#include "gui/models/base/units_text.hpp"
#include "profiler/report/short_names.hpp"

namespace foreshard::gui {
namespace {

QString last_number(const QString& text) {
  qsizetype end = text.size();
  while (end > 0 && !text[end - 1].isDigit()) --end;
  qsizetype begin = end;
  while (begin > 0 && text[begin - 1].isDigit()) --begin;
  return text.mid(begin, end - begin);
}

QString initials_of(RowKind kind) {
  switch (kind) {
    case RowKind::all_gather: return QStringLiteral("AG");
    case RowKind::reduce_scatter: return QStringLiteral("RS");
    case RowKind::all_reduce: return QStringLiteral("AR");
    default: return {};
  }
}

}  // namespace

QString short_unit(const std::string& unit) {
  if (unit.empty() || unit == "root" || unit == "(root)") return QStringLiteral("root");
  const QString text = QString::fromStdString(unit);
  return text.startsWith(QLatin1String("model.")) ? text.mid(6) : text;
}

BoxText box_text(const Row& row, std::size_t item) {
  const traces::Trace& trace = row.trace();
  const QString name = QString::fromStdString(profiler::short_name(trace.strings[row.name(item)]));
  const traces::Interval span = row.span(item);
  switch (row.kind) {
    case RowKind::phase:
      return {name + QStringLiteral("  ") +
                  time_figure(static_cast<double>(span.end_ns - span.start_ns)).text(),
              name};
    case RowKind::unit: {
      const QString unit = short_unit(trace.strings[row.name(item)]);
      const QString phase = QString::fromStdString(trace.strings[row.phase(item)]);
      const QString number = last_number(unit);
      return {phase.isEmpty() ? unit : unit + QLatin1Char(' ') + phase,
              number.isEmpty() ? unit : number};
    }
    case RowKind::exposed: return {};
    default: break;
  }
  const QString unit = short_unit(trace.strings[row.unit(item)]);
  const QString initials = initials_of(row.kind);
  if (initials.isEmpty()) return {name, {}};
  const QString number = last_number(unit);
  return {initials + QLatin1Char(' ') + (number.isEmpty() ? unit : number), initials};
}

}  // namespace foreshard::gui
