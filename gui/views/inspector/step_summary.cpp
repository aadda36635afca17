#include "gui/views/inspector/step_summary.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/models/base/words.hpp"
#include "gui/models/session/loss_words.hpp"
#include "gui/models/session/sentences.hpp"
#include "profiler/report/report_notes.hpp"
#include "profiler/report/report_sentences.hpp"
#include "profiler/report/short_names.hpp"
#include "traces/metadata.hpp"

namespace foreshard::gui {
namespace {

constexpr std::size_t kPathParts = 5, kOperators = 6, kSentences = 1, kNameLength = 40;

constexpr Words tr("StepSummary");

QString short_text(const std::string& name) {
  return QString::fromStdString(profiler::short_name(name, kNameLength));
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Fact time_fact(const QString& label, std::int64_t ns, std::int64_t span_ns,
               std::optional<EventColour> swatch = {}) {
  return {label, time_figure(static_cast<double>(ns)).text(), percent_text(share(ns, span_ns)),
          swatch};
}

const profiler::RankAnalysis* rank_of(const profiler::Analysis& analysis, int rank) {
  for (const profiler::RankAnalysis& one : analysis.ranks) {
    if (one.rank == rank) return &one;
  }
  return analysis.ranks.empty() ? nullptr : &analysis.ranks.front();
}

void tell_time(const profiler::TimeBreakdown& time, StepSummary& summary) {
  if (time.device_events == 0) return;  // no device was recorded
  const std::int64_t span = time.span_ns;
  const std::int64_t copies = span - time.compute_ns - time.exposed_communication_ns - time.idle_ns;
  const EventColour compute{Role::ink, Tint::plain}, hidden{Role::all_gather, Tint::plain},
      exposed{Role::warn, Tint::plain}, idle{Role::strong_line, Tint::plain},
      copy{Role::copies, Tint::plain};
  summary.shares = {{static_cast<double>(time.compute_ns), compute},
                    {static_cast<double>(time.exposed_communication_ns), exposed},
                    {static_cast<double>(std::max<std::int64_t>(copies, 0)), copy},
                    {static_cast<double>(time.idle_ns), idle}};
  summary.time = {
      time_fact(tr("Compute"), time.compute_ns, span, compute),
      time_fact(tr("Communication, hidden"), time.overlap_ns, span, hidden),
      time_fact(tr("Communication, exposed"), time.exposed_communication_ns, span, exposed)};
  if (copies > 0) summary.time.push_back(time_fact(tr("Copies alone"), copies, span, copy));
  summary.time.push_back(time_fact(tr("Idle"), time.idle_ns, span, idle));
}

// The first sentence of a report has the same figures as the rows above; but that memory ran out is
// told before all else.
std::vector<QString> sentences_of(const profiler::Analysis& analysis) {
  std::vector<std::string> told = profiler::report_sentences(analysis);
  const bool is_out_of_memory = !profiler::out_of_memory_sentence(analysis).empty();
  if (!is_out_of_memory && told.size() > 1) told.erase(told.begin());
  told.resize(std::min(told.size(), kSentences));
  std::vector<QString> sentences;
  for (const std::string& sentence : told) sentences.push_back(QString::fromStdString(sentence));
  return sentences;
}

std::vector<Fact> path_facts(const profiler::CriticalPath& path) {
  std::vector<Fact> facts;
  for (const profiler::PathPart& part : path.parts) {
    if (facts.size() == kPathParts) break;
    const QString name = short_text(part.name);
    Fact fact = time_fact(part.kind == "waiting" ? tr("waiting for %1").arg(name) : name, part.ns,
                          path.end_ns - path.start_ns);
    fact.tooltip = QString::fromStdString(part.name);
    facts.push_back(std::move(fact));
  }
  return facts;
}

std::vector<Fact> operator_facts(const profiler::Analysis& analysis) {
  const bool has_device = std::any_of(analysis.operators.begin(), analysis.operators.end(),
                                      [](const auto& one) { return one.is_on_device; });
  std::vector<profiler::OperatorTotal> operators = analysis.operators;
  std::erase_if(operators, [&](const auto& one) { return one.is_on_device != has_device; });
  std::ranges::stable_sort(operators, std::greater{}, &profiler::OperatorTotal::self_ns);
  if (operators.size() > kOperators) operators.resize(kOperators);
  std::vector<Fact> facts;
  for (const profiler::OperatorTotal& one : operators) {
    Fact fact;
    fact.label = short_text(one.name);
    fact.value = time_figure(static_cast<double>(one.self_ns)).text();
    fact.note = count_figure(one.count).number;
    fact.bar = share(one.self_ns, operators.front().self_ns);
    fact.swatch = colour_of_operator(one.name, {});
    fact.tooltip = QString::fromStdString(one.name);
    facts.push_back(std::move(fact));
  }
  return facts;
}

std::vector<Fact> memory_facts(std::int64_t allocated, std::int64_t reserved, std::int64_t host) {
  std::vector<Fact> facts;
  const auto add = [&](const QString& label, std::int64_t bytes) {
    if (bytes == 0) return;
    Fact fact;
    fact.label = label;
    fact.value = bytes_figure(bytes).text();
    fact.tooltip = exact_bytes(bytes);
    facts.push_back(std::move(fact));
  };
  add(tr("Allocated"), allocated);
  add(tr("Reserved"), reserved);
  add(tr("On the host"), host);
  return facts;
}

std::vector<Fact> recording_facts(const Document& document) {
  std::vector<Fact> facts;
  const auto add = [&](const QString& label, const QString& value, Role role = Role::text) {
    Fact fact;
    fact.label = label;
    fact.value = value;
    fact.value_role = role;
    facts.push_back(std::move(fact));
  };
  const profiler::Analysis& analysis = *document.analysis;
  add(tr("Events"), count_figure(static_cast<std::int64_t>(document.trace->events.size())).number);
  if (!analysis.complete) {
    add(tr("Complete until"), time_figure(static_cast<double>(analysis.complete_until_ns)).text(),
        Role::warn);
  }
  if (const std::int64_t lost = lost_records(document); lost > 0) {
    add(tr("Records dropped"), count_figure(lost).number, Role::warn);
  }
  if (analysis.missing_ranks > 0) {
    add(tr("Ranks missing"), count_figure(analysis.missing_ranks).number, Role::warn);
  }
  // Recorders of others do not say what they cost.
  const double overhead = traces::number(document.trace->metadata, "recorder_overhead_fraction", 0);
  if (!document.is_predicted() && overhead > 0) {
    add(tr("Recording took"), percent_text(overhead, 2));
  }
  if (analysis.unknown_costs > 0) {
    add(tr("Costs unknown"), count_figure(analysis.unknown_costs).number, Role::warn);
  }
  return facts;
}

}  // namespace

StepSummary summarise_step(const Document& document, int rank) {
  const profiler::Analysis& analysis = *document.analysis;
  StepSummary summary;
  summary.headline.detail = document.title;
  const profiler::RankAnalysis* const chosen = rank_of(analysis, rank);
  if (chosen == nullptr) {
    summary.headline.title = tr("Nothing recorded");
    summary.sentences = sentences_of(analysis);
    return summary;
  }
  summary.headline.whose = tr("rank %1").arg(chosen->rank);
  if (chosen->steps.empty()) {
    summary.headline.title = tr("Whole recording");
    if (chosen->time.device_events > 0) {
      summary.headline.figure = time_figure(static_cast<double>(chosen->time.span_ns));
    }
    tell_time(chosen->time, summary);
    summary.memory = memory_facts(chosen->peak.allocated_bytes, chosen->peak.reserved_bytes,
                                  chosen->peak.host_bytes);
  } else {
    const profiler::StepAnalysis& step = chosen->steps.back();
    summary.headline.title = tr("Step %1").arg(step.step);
    summary.headline.figure = time_figure(static_cast<double>(step.duration_ns));
    if (analysis.step_time_ns > 0) {
      const Figure steady = time_figure(static_cast<double>(analysis.step_time_ns));
      summary.headline.figure_aside = tr("steady step %1").arg(steady.text());
    }
    tell_time(step.time, summary);
    summary.memory =
        memory_facts(step.peak_allocated_bytes, step.peak_reserved_bytes, step.peak_host_bytes);
  }
  summary.sentences = sentences_of(analysis);
  const QStringList losses = loss_sentences(*document.trace, chosen->rank);
  summary.sentences.insert(summary.sentences.end(), losses.begin(), losses.end());
  summary.path = path_facts(analysis.path);
  summary.operators = operator_facts(analysis);
  summary.recording = recording_facts(document);
  return summary;
}

}  // namespace foreshard::gui
