#include "gui/models/session/sentences.hpp"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include "gui/models/base/units_text.hpp"
#include "gui/models/base/words.hpp"
#include "gui/models/session/dropped_range_words.hpp"
#include "traces/fst/fst_file.hpp"
#include "traces/open/read_trace.hpp"

namespace foreshard::gui {
namespace {

constexpr Words tr("foreshard::gui::sentences");

QString text_of(const std::string& text) {
  return QString::fromStdString(text);
}

QString name_of(const std::string& path) {
  const std::filesystem::path whole(path);
  return text_of((whole.has_filename() ? whole : whole.parent_path()).filename().string());
}

bool is_empty(const Document& document) {
  return document.trace->events.empty() && document.trace->memory.empty();
}

// `share`: "94.9 %", or "all".
QString cost_share(CostSource source, const QString& share, const traces::Metadata& metadata) {
  switch (source) {
    case CostSource::measured: return tr("%1 measured").arg(share);
    case CostSource::fitted: return tr("%1 fitted").arg(share);
    case CostSource::unknown: return tr("%1 unknown").arg(share);
    default: break;
  }
  const auto sheet = metadata.find("data_sheet");
  if (sheet == metadata.end()) return tr("%1 modelled").arg(share);
  return tr("%1 modelled from the data sheet of %2").arg(share, text_of(sheet->second));
}

// By the time of the work that each source answers for.
Statement cost_statement(const Document& document) {
  const auto& sources = document.analysis->cost_sources;
  double total_ns = 0;
  bool is_sure = true;
  for (const profiler::CostSourceTotal& one : sources) {
    total_ns += static_cast<double>(one.total_ns);
    is_sure &= one.source == CostSource::measured || one.source == CostSource::fitted;
  }
  QStringList parts;
  for (const profiler::CostSourceTotal& one : sources) {
    const double share = static_cast<double>(one.total_ns) / std::max(total_ns, 1.0);
    parts << cost_share(one.source, sources.size() == 1 ? tr("all") : percent_text(share),
                        document.trace->metadata);
  }
  return {is_sure ? Role::ok : Role::warn, tr("Costs: %1").arg(parts.join(QStringLiteral(", ")))};
}

std::int64_t start_of(const traces::Trace& trace) {
  const auto first = std::min_element(
      trace.events.begin(), trace.events.end(),
      [](const traces::Event& a, const traces::Event& b) { return a.start_ns < b.start_ns; });
  return first == trace.events.end() ? 0 : first->start_ns;
}

QString where_it_ends(const Document& document) {
  const traces::Trace& trace = *document.trace;
  const std::int64_t until = trace.complete_until_ns;
  if (until <= 0) return tr("parts of it are missing.");
  const auto step = std::find_if(trace.steps.begin(), trace.steps.end(), [&](const auto& s) {
    return s.start_ns <= until && until <= s.end_ns;
  });
  if (step == trace.steps.end()) {
    return tr("complete until %1. Later events are missing.")
        .arg(time_figure(static_cast<double>(until - start_of(trace))).text());
  }
  return tr("complete until %1 of step %2. Later events are missing.")
      .arg(time_figure(static_cast<double>(until - step->start_ns)).text())
      .arg(step->step);
}

QString why_incomplete(const Document& document) {
  const auto& dropped = document.trace->dropped;
  const bool is_damaged = std::any_of(dropped.begin(), dropped.end(), [](const auto& reason) {
    return reason.first.find("damaged") != std::string::npos;
  });
  if (is_damaged) return tr("%1 is damaged; copy it again.").arg(document.title);
  // Of recordings of others nothing tells that the run was stopped: the file has no end.
  const bool is_cut = document.kind != traces::RecordingKind::fst ||
                      std::any_of(dropped.begin(), dropped.end(), [](const auto& reason) {
                        return reason.first.find("truncated") != std::string::npos;
                      });
  if (is_cut) return tr("%1 is cut short: %2").arg(document.title, where_it_ends(document));
  return tr("This run was stopped: %1").arg(where_it_ends(document));
}

QString part_text(const OpenPart& part) {
  const auto& [steps, recorded] = part;
  if (steps.first == steps.last) {
    return tr("Step %1 of %2 to %3 is open; the others were not read")
        .arg(steps.first)
        .arg(recorded.first)
        .arg(recorded.last);
  }
  return tr("Steps %1 to %2 of %3 to %4 are open; the others were not read")
      .arg(steps.first)
      .arg(steps.last)
      .arg(recorded.first)
      .arg(recorded.last);
}

// "6 GiB", "3.4 GiB": as exact as an estimate is.
QString about(std::int64_t bytes) {
  const Figure figure = bytes_figure(bytes);
  const double number = figure.number.toDouble();
  const int decimals = number < 10 && number != std::round(number) ? 1 : 0;
  return QString::number(number, 'f', decimals) + QLatin1Char(' ') + figure.unit;
}

QString newer_text(const Error& error) {
  static const QRegularExpression kVersion(QStringLiteral("^is (\\d+);"));
  const auto match = kVersion.match(text_of(error.message));
  if (!match.hasMatch() || match.captured(1).toLongLong() < traces::kFormatVersion) return {};
  return tr("%1 was written by a newer Foreshard (format %2; this one reads up to %3).")
      .arg(name_of(error.file), match.captured(1))
      .arg(traces::kFormatVersion);
}

}  // namespace

QString nothing_open() {
  return tr("Open a trace, drop one here, or start from a plan.");
}

QString loading_text(const Loading& loading) {
  if (loading.total <= 0) return tr("Reading %1").arg(loading.name);
  if (loading.done >= loading.total) return tr("Looking through %1").arg(loading.name);
  if (loading.counts_events) {
    return tr("Reading %1: %2 of %3 events")
        .arg(loading.name, count_figure(loading.done).text(), count_figure(loading.total).text());
  }
  const int percent = static_cast<int>(100 * loading.done / loading.total);
  return tr("Reading %1: %2 % of %3")
      .arg(loading.name)
      .arg(percent)
      .arg(bytes_figure(loading.total).text());
}

QString error_text(const Error& error) {
  if (error.field == "format_version") {
    if (const QString newer = newer_text(error); !newer.isEmpty()) return newer;
  }
  const std::string& expected = traces::every_recording().expected;
  const std::size_t reason_end = error.message.find("; expected " + expected);
  if (reason_end != std::string::npos) {
    return tr("%1 is not a trace: it %2. Foreshard opens .fst, PyTorch profiler JSON, Nsight "
              "SQLite, "
              "memory snapshots.")
        .arg(name_of(error.file), text_of(error.message.substr(0, reason_end)));
  }
  if (error.field.empty()) return tr("%1 %2.").arg(name_of(error.file), text_of(error.message));
  return tr("%1: %2 %3.").arg(name_of(error.file), text_of(error.field), text_of(error.message));
}

QString of_rank(const Document& document, int rank) {
  return document.analysis->ranks.size() < 2 ? QString() : tr(" \u00b7 rank %1").arg(rank);
}

std::int64_t lost_records(const Document& document) {
  const traces::Trace& trace = *document.trace;
  const auto source = trace.metadata.find("source");
  const bool is_recorded = source == trace.metadata.end() || source->second == "cupti";
  if (document.kind == traces::RecordingKind::fst && is_recorded) {
    return document.analysis->dropped_records;
  }
  std::int64_t lost = 0;  // of an import, which also counts what it has no use for
  for (const auto& [reason, count] : trace.dropped) {
    if (reason.find("damaged") != std::string::npos) lost += count;
  }
  return lost;
}

std::vector<Statement> warnings(const Document& document) {
  if (is_empty(document)) {
    return {{Role::warn,
             tr("%1 holds no events. It was recorded, but no step finished.").arg(document.title)}};
  }
  std::vector<Statement> all;
  if (!document.trace->complete) all.push_back({Role::warn, why_incomplete(document)});
  const QStringList dropped = dropped_range_sentences(*document.trace);
  for (const QString& sentence : dropped) all.push_back({Role::warn, sentence});
  if (const std::int64_t lost = lost_records(document);
      lost > 0 && dropped.isEmpty() && document.trace->complete) {
    all.push_back(
        {Role::warn, tr("%1 records were dropped while recording. Idle time there is not reliable.")
                         .arg(count_figure(lost).text())});
  }
  return all;
}

std::vector<Statement> status_of(const Document& document) {
  std::vector<Statement> all;
  const std::int64_t lost = lost_records(document);
  const bool is_complete = document.trace->complete;
  if (document.part) all.push_back({Role::warn, part_text(*document.part)});
  const bool has_dropped_ranges = !document.trace->dropped_ranges.empty();
  if (is_complete && lost == 0 && !has_dropped_ranges && !document.part) {
    all.push_back({Role::ok, tr("Complete, nothing dropped")});
  } else {
    if (!is_complete) all.push_back({Role::warn, tr("Incomplete")});
    if (lost == 0 && has_dropped_ranges) all.push_back({Role::warn, tr("Records dropped")});
    if (lost > 0) {
      all.push_back({Role::warn, tr("%1 records dropped").arg(count_figure(lost).text())});
    }
  }
  if (document.analysis->unknown_costs > 0) {
    all.push_back({Role::warn, tr("%1 operations a step of unknown duration: times mean little")
                                   .arg(count_figure(document.analysis->unknown_costs).text())});
  }
  if (!document.analysis->cost_sources.empty()) all.push_back(cost_statement(document));
  return all;
}

QString part_question() {
  return tr("Open steps %1 to %2 only?");
}

QString no_part_text(const PartOffer& offer) {
  const QString name = name_of(offer.path);
  switch (offer.kind) {
    case traces::RecordingKind::kineto:
      return tr("%1 has no index of its steps. Where memory suffices, `foreshard import kineto` "
                "makes a trace (.fst) of it, whose steps can be opened alone; or record fewer "
                "steps at a time.")
          .arg(name);
    case traces::RecordingKind::nsys:
      return tr("%1 has no index of its steps. Where memory suffices, `foreshard import nsys` "
                "makes a trace (.fst) of it, whose steps can be opened alone; or record a shorter "
                "time.")
          .arg(name);
    case traces::RecordingKind::perfetto_export:
      return tr("%1 was exported from a trace (.fst): open that one, whose steps can be opened "
                "alone.")
          .arg(name);
    case traces::RecordingKind::snapshot:
      return tr("%1 cannot be opened in part, as each event counts on those before it. Record "
                "with a smaller max_entries.")
          .arg(name);
    default: break;
  }
  return tr("%1 has no steps to choose from; traces (.fst) with steps are opened in part.")
      .arg(name);
}

QString too_large_text(std::int64_t needed_bytes, std::int64_t free_bytes) {
  if (free_bytes <= 0 || needed_bytes <= free_bytes) return {};
  return tr("Opening needs about %1 of memory; %2 are free.")
      .arg(about(needed_bytes), about(free_bytes));
}

}  // namespace foreshard::gui
