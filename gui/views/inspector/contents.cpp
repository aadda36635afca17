#include "gui/views/inspector/contents.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/models/base/words.hpp"
#include "gui/models/session/dropped_range_words.hpp"
#include "gui/models/session/sentences.hpp"
#include "gui/models/timeline/card.hpp"
#include "gui/models/timeline/event_links.hpp"
#include "gui/models/timeline/row_text.hpp"
#include "profiler/report/report_notes.hpp"
#include "profiler/report/report_sentences.hpp"
#include "profiler/report/short_names.hpp"
#include "traces/metadata.hpp"

namespace foreshard::gui {
namespace {

constexpr std::size_t kPathParts = 5, kOperators = 6, kSentences = 1, kNameLength = 40;
constexpr std::size_t kRangeOperators = 8, kRangeCollectives = 6;

constexpr Words words("Inspector");

QString time_text_of(std::int64_t ns) {
  return time_figure(static_cast<double>(ns)).text();
}

QString short_text(const std::string& name) {
  return QString::fromStdString(profiler::short_name(name, kNameLength));
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Fact bytes_fact(const QString& label, std::int64_t bytes) {
  Fact fact{label, bytes_figure(bytes).text()};
  fact.tooltip = exact_bytes(bytes);
  return fact;
}

std::vector<int> ranks_of(const Document& document) {
  std::vector<int> ranks;
  for (const profiler::RankAnalysis& rank : document.analysis->ranks) ranks.push_back(rank.rank);
  return ranks;
}

PanelSection of_shares(std::vector<Share> shares) {
  PanelSection section;
  section.shares = std::move(shares);
  return section;
}

PanelSection of_facts(const QString& title, const QString& note, std::vector<Fact> facts) {
  PanelSection section{title, note};
  section.facts = std::move(facts);
  return section;
}

PanelSection of_words(const QString& lead, const QString& text) {
  PanelSection section;
  section.lead = lead;
  section.text = text;
  section.is_boxed = true;
  return section;
}

const EventColour kHidden{Role::all_gather, Tint::plain}, kExposed{Role::warn, Tint::plain},
    kIdle{Role::strong_line, Tint::plain}, kCopies{Role::copies, Tint::plain};

// Where a span goes, as a bar and in figures.
struct TimeParts {
  std::vector<Share> shares;
  std::vector<Fact> facts;
};

TimeParts time_parts(const profiler::TimeBreakdown& time, EventColour compute) {
  if (time.device_events == 0) return {};  // no device was recorded
  const std::int64_t span = time.span_ns;
  const std::int64_t copies = span - time.compute_ns - time.exposed_communication_ns - time.idle_ns;
  TimeParts parts;
  const auto add = [&](const QString& label, std::int64_t ns, EventColour colour) {
    parts.facts.push_back({label, time_text_of(ns), percent_text(share(ns, span)), colour});
    if (colour != kHidden) parts.shares.push_back({static_cast<double>(ns), colour});
  };
  add(words("Compute"), time.compute_ns, compute);
  add(words("Communication, overlapped"), time.overlap_ns, kHidden);
  add(words("Communication, exposed"), time.exposed_communication_ns, kExposed);
  if (copies > 0) add(words("Copies alone"), copies, kCopies);
  add(words("Idle"), time.idle_ns, kIdle);
  return parts;
}

const profiler::RankAnalysis* rank_of(const profiler::Analysis& analysis, int rank) {
  for (const profiler::RankAnalysis& one : analysis.ranks) {
    if (one.rank == rank) return &one;
  }
  return analysis.ranks.empty() ? nullptr : &analysis.ranks.front();
}

// The first sentence of a report has the same figures as the rows above; but that memory ran out is
// told before all else.
QStringList sentences_of(const profiler::Analysis& analysis) {
  std::vector<std::string> told = profiler::report_sentences(analysis);
  const bool is_out_of_memory = !profiler::out_of_memory_sentence(analysis).empty();
  if (!is_out_of_memory && told.size() > 1) told.erase(told.begin());
  told.resize(std::min(told.size(), kSentences));
  QStringList sentences;
  for (const std::string& sentence : told) sentences.push_back(QString::fromStdString(sentence));
  return sentences;
}

std::vector<Fact> path_facts(const profiler::CriticalPath& path) {
  std::vector<Fact> facts;
  for (const profiler::PathPart& part : path.parts) {
    if (facts.size() == kPathParts) break;
    const QString name = short_text(part.name);
    Fact& fact = facts.emplace_back();
    fact.label = part.kind == "waiting" ? words("waiting for %1").arg(name) : name;
    fact.value = time_text_of(part.ns);
    fact.note = percent_text(share(part.ns, path.end_ns - path.start_ns));
    fact.tooltip = QString::fromStdString(part.name);
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
    fact.value = time_text_of(one.self_ns);
    fact.note = count_figure(one.count).number;
    fact.bar = share(one.self_ns, operators.front().self_ns);
    fact.swatch = colour_of_operator(one.name, {});
    fact.tooltip = QString::fromStdString(one.name);
    facts.push_back(std::move(fact));
  }
  return facts;
}

std::vector<Fact> memory_facts(std::int64_t allocated, std::int64_t reserved, std::int64_t host) {
  std::vector<Fact> facts{bytes_fact(words("Allocated"), allocated),
                          bytes_fact(words("Reserved"), reserved),
                          bytes_fact(words("On the host"), host)};
  if (host == 0) facts.pop_back();
  if (reserved == 0) facts.erase(facts.begin() + 1);
  if (allocated == 0) facts.erase(facts.begin());
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
  add(words("Events"),
      count_figure(static_cast<std::int64_t>(document.trace->events.size())).number);
  if (!analysis.complete) {
    add(words("Complete until"), time_text_of(analysis.complete_until_ns), Role::warn);
  }
  if (const std::int64_t lost = lost_records(document); lost > 0) {
    add(words("Records dropped"), count_figure(lost).number, Role::warn);
  }
  if (analysis.missing_ranks > 0) {
    add(words("Ranks missing"), count_figure(analysis.missing_ranks).number, Role::warn);
  }
  // Recorders of others do not say what they cost.
  const double overhead = traces::number(document.trace->metadata, "recorder_overhead_fraction", 0);
  if (!document.is_predicted() && overhead > 0) {
    add(words("Recorder overhead"), percent_text(overhead, 2));
  }
  if (analysis.unknown_costs > 0) {
    add(words("Costs unknown"), count_figure(analysis.unknown_costs).number, Role::warn);
  }
  return facts;
}

// The start of the step around the range, or of the trace.
std::int64_t origin_of_range(const traces::Trace& trace, const RangeStatistics& statistics) {
  for (const traces::Step& step : trace.steps) {
    if (step.rank == statistics.rank && step.start_ns <= statistics.range.start_ns &&
        step.end_ns > statistics.range.start_ns) {
      return step.start_ns;
    }
  }
  return 0;
}

// The phase that most of the kernels' time belongs to.
traces::StringId main_phase(const RangeStatistics& statistics) {
  std::map<traces::StringId, std::int64_t> time;
  for (const RangeOperator& one : statistics.operators) {
    if (!one.is_collective) time[one.phase] += one.ns;
  }
  const auto most = std::max_element(time.begin(), time.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  return most == time.end() ? 0 : most->first;
}

Headline range_headline(const Document& document, const RangeStatistics& statistics) {
  const traces::Trace& trace = *document.trace;
  const traces::Interval range = statistics.range;
  const std::int64_t origin = origin_of_range(trace, statistics);
  Headline headline{words("Range")};
  headline.rank = statistics.rank;
  headline.ranks = ranks_of(document);
  headline.detail = QStringLiteral("%1 – %2").arg(time_text_of(range.start_ns - origin),
                                                  time_text_of(range.end_ns - origin));
  headline.detail_note = QString::fromStdString(trace.strings[main_phase(statistics)]);
  headline.figure = time_figure(static_cast<double>(range.end_ns - range.start_ns));
  if (statistics.share_of_step > 0) {
    headline.figure_aside = words("%1 of the step").arg(percent_text(statistics.share_of_step));
  }
  return headline;
}

// The first sentence in bold: "Bound by compute."
PanelSection bound_words(const QString& sentence, const QStringList& dropped) {
  const qsizetype stop = sentence.indexOf(QLatin1Char('.'));
  const bool has_more = stop > 0 && stop + 1 < sentence.size() && sentence[stop + 1].isSpace();
  const QStringList rest = QStringList(has_more ? sentence.mid(stop + 2) : sentence) + dropped;
  return of_words(has_more ? sentence.left(stop + 1) : QString(), rest.join(QLatin1Char(' ')));
}

// Those of one name in several phases say which.
std::vector<Fact> range_operators(const traces::Trace& trace, const RangeStatistics& statistics) {
  std::vector<RangeOperator> operators = statistics.operators;
  std::erase_if(operators, [](const RangeOperator& one) { return one.is_collective; });
  operators.resize(std::min(operators.size(), kRangeOperators));
  std::vector<Fact> facts;
  for (const RangeOperator& one : operators) {
    const bool has_many_phases = std::ranges::count(operators, one.name, &RangeOperator::name) > 1;
    const std::string& phase = trace.strings[one.phase];
    Fact fact{short_text(trace.strings[one.name]), time_text_of(one.ns),
              count_figure(one.count).number};
    if (has_many_phases) {
      fact.label += QStringLiteral(" · ") +
                    (phase.empty() ? words("no phase") : QString::fromStdString(phase));
    }
    fact.swatch = colour_of_operator(trace.strings[one.name], phase);
    fact.bar = share(one.ns, operators.front().ns);
    fact.tooltip = QString::fromStdString(trace.strings[one.name]);
    facts.push_back(std::move(fact));
  }
  return facts;
}

std::vector<Fact> range_collectives(const traces::Trace& trace, const RangeStatistics& statistics) {
  std::vector<RangeOperator> collectives;  // of all phases together
  for (const RangeOperator& one : statistics.operators) {
    if (!one.is_collective) continue;
    const auto same = std::find_if(collectives.begin(), collectives.end(),
                                   [&](const auto& other) { return other.name == one.name; });
    if (same == collectives.end()) {
      collectives.push_back(one);
      continue;
    }
    same->count += one.count;
    same->ns += one.ns;
    same->bytes += one.bytes;
  }
  collectives.resize(std::min(collectives.size(), kRangeCollectives));
  std::vector<Fact> facts;
  for (const RangeOperator& one : collectives) {
    Fact fact{QStringLiteral("%1 × %2").arg(short_text(trace.strings[one.name]),
                                            count_figure(one.count).number),
              time_text_of(one.ns / std::max<std::int64_t>(one.count, 1))};
    if (one.bytes > 0 && one.ns > 0) {
      const double rate = static_cast<double>(one.bytes) / static_cast<double>(one.ns) * 1e9;
      fact.note = rate_figure(rate).text();
    }
    fact.swatch = colour_of_operator(trace.strings[one.name], {});
    fact.tooltip = QString::fromStdString(trace.strings[one.name]);
    facts.push_back(std::move(fact));
  }
  return facts;
}

std::vector<Fact> range_counters(const RangeStatistics& statistics) {
  std::vector<Fact> facts;
  for (const RangeCounter& one : statistics.counters) {
    facts.push_back({one.name, one.mean, one.highest});
  }
  return facts;
}

// The category that changed most from the range's start to its end, such as activations that
// backward releases.
void tell_largest_change(const MemoryCurve& memory, std::size_t from, std::size_t to,
                         std::vector<Fact>& facts) {
  const std::vector<std::int64_t> before = memory.bytes_by_layer(from),
                                  after = memory.bytes_by_layer(to);
  std::size_t most = 0;
  std::int64_t change = 0;
  for (std::size_t layer = 0; layer < before.size(); ++layer) {
    const std::int64_t difference = after[layer] - before[layer];
    if (std::abs(difference) <= std::abs(change)) continue;
    most = layer;
    change = difference;
  }
  if (change == 0) return;
  const QString label = change < 0 ? words("%1, released") : words("%1, added");
  Fact fact = bytes_fact(label.arg(memory.layers()[most].name), std::abs(change));
  fact.swatch = EventColour{memory.layers()[most].role, Tint::plain};
  facts.push_back(std::move(fact));
}

std::vector<Fact> range_memory(const MemoryCurve& memory, traces::Interval range) {
  const MemoryClock clock = memory.best_clock();
  if (memory.size() == 0 || clock == MemoryClock::event_order) return {};
  const std::size_t from = memory.sample_at(clock, range.start_ns).value_or(0);
  const std::size_t to = memory.sample_at(clock, range.end_ns).value_or(0);
  const std::array<std::int64_t, 2> edges{range.start_ns, range.end_ns};
  const MemoryColumns whole = memory.columns(clock, edges);
  std::vector<Fact> facts{
      bytes_fact(words("Allocated at its start"), memory.allocated(from)),
      bytes_fact(words("Allocated at most"), std::max(whole.allocated(0), memory.allocated(to))),
      bytes_fact(words("Allocated at its end"), memory.allocated(to))};
  if (whole.reserved[0] > 0)
    facts.push_back(bytes_fact(words("Reserved at most"), whole.reserved[0]));
  tell_largest_change(memory, from, to, facts);
  return facts;
}

traces::Event at(const traces::Trace& trace, EventIndex event) {
  return trace.events[static_cast<std::size_t>(event)];
}

std::int64_t length_of(const traces::Event& event) {
  return event.end_ns - event.start_ns;
}

// Numbers of like events where they have no unit to be told apart by.
QString twin_label(const traces::Trace& trace, EventIndex event, std::size_t number) {
  const traces::StringId unit = at(trace, event).unit;
  return unit == 0 ? QString::number(number + 1) : short_unit(trace.strings[unit]);
}

PanelSection tell_twins(const LaneSet& lanes, int place, EventIndex event, EventContent& content) {
  const traces::Trace& trace = lanes.trace();
  const std::vector<EventIndex> twins = twins_of(lanes, event);
  for (std::size_t n = 0; n < twins.size(); ++n) {
    if (twins[n] == event) content.current_twin = static_cast<int>(n);
    content.twins.push_back({static_cast<double>(length_of(at(trace, twins[n]))),
                             twin_label(trace, twins[n], n), EventId{place, twins[n]}});
  }
  const QString like = at(trace, event).kind == traces::EventKind::communication
                           ? words("Same collective, %1 in this step")
                           : words("Same operator, %1 in this step");
  return {like.arg(count_figure(static_cast<std::int64_t>(twins.size())).number)};
}

std::vector<Fact> link_facts(const Card& card, int place) {
  std::vector<Fact> facts;
  for (const CardLink& link : card.links) {
    Fact& fact = facts.emplace_back(Fact{link.name, link.value});
    fact.caption = link.label;
    fact.leads_to = EventId{place, link.event};
  }
  return facts;
}

}  // namespace

PanelContent step_content(const Document& document, int rank) {
  const profiler::Analysis& analysis = *document.analysis;
  const profiler::RankAnalysis* const chosen = rank_of(analysis, rank);
  QStringList sentences = sentences_of(analysis);
  PanelContent content;
  Headline& headline = content.headline;
  headline.detail = document.title;
  if (chosen == nullptr) {
    headline.title = words("Nothing recorded");
    content.sections = {of_words({}, sentences.join(QLatin1Char(' ')))};
    return content;
  }
  headline.rank = chosen->rank;
  headline.ranks = ranks_of(document);
  const EventColour compute{Role::ink, Tint::plain};
  TimeParts time;
  std::vector<Fact> memory;
  if (chosen->steps.empty()) {
    headline.title = words("Whole trace");
    if (chosen->time.device_events > 0) {
      headline.figure = time_figure(static_cast<double>(chosen->time.span_ns));
    }
    time = time_parts(chosen->time, compute);
    memory = memory_facts(chosen->peak.allocated_bytes, chosen->peak.reserved_bytes,
                          chosen->peak.host_bytes);
  } else {
    const profiler::StepAnalysis& step = chosen->steps.back();
    headline.title = words("Step %1").arg(step.step);
    headline.figure = time_figure(static_cast<double>(step.duration_ns));
    if (analysis.step_time_ns > 0) {
      headline.figure_aside = words("steady step %1").arg(time_text_of(analysis.step_time_ns));
    }
    time = time_parts(step.time, compute);
    memory =
        memory_facts(step.peak_allocated_bytes, step.peak_reserved_bytes, step.peak_host_bytes);
  }
  sentences += dropped_range_sentences(*document.trace, chosen->rank);
  content.sections = {
      of_shares(std::move(time.shares)),
      of_facts({}, {}, std::move(time.facts)),
      of_words({}, sentences.join(QLatin1Char(' '))),
      of_facts(words("Critical path"), words("time · share"), path_facts(analysis.path)),
      of_facts(words("Costliest operators, all steps"), words("time · count"),
               operator_facts(analysis)),
      of_facts(words("Memory at its peak"), {}, std::move(memory)),
      of_facts(words("Recording"), {}, recording_facts(document))};
  return content;
}

PanelContent range_content(const Document& document, const RangeStatistics& statistics,
                           const MemoryCurve& memory) {
  const traces::Trace& trace = *document.trace;
  const EventColour compute{role_of_phase(trace.strings[main_phase(statistics)]), Tint::plain};
  TimeParts time = time_parts(statistics.time, compute);
  if (statistics.tokens_per_s > 0) {
    const auto rate = static_cast<std::int64_t>(statistics.tokens_per_s);
    time.facts.push_back({words("Tokens per second"), count_figure(rate).number});
  }
  return {
      range_headline(document, statistics),
      {of_shares(std::move(time.shares)), of_facts({}, {}, std::move(time.facts)),
       bound_words(statistics.sentence(),
                   dropped_range_sentences(trace, statistics.rank, statistics.range)),
       of_facts(words("Operators"), words("time · count"), range_operators(trace, statistics)),
       of_facts(words("Collectives"), words("mean · rate"), range_collectives(trace, statistics)),
       of_facts(words("Counters"), words("mean · highest"), range_counters(statistics)),
       of_facts(words("Memory in this range"), {}, range_memory(memory, statistics.range))}};
}

EventContent event_content(const Document& document, int place, EventIndex event) {
  const traces::Trace& trace = *document.trace;
  const Card card = card_of(*document.lanes, event, true);
  const traces::Event& selected = at(trace, event);
  EventContent content;
  Headline& headline = content.panel.headline;
  headline.title = card.name;
  headline.swatch = card.colour;
  headline.rank = trace.lanes[static_cast<std::size_t>(selected.lane)].rank;
  headline.ranks = ranks_of(document);
  QStringList detail;
  for (const traces::StringId part : {selected.unit, selected.phase}) {
    if (part != 0) detail << QString::fromStdString(trace.strings[part]);
  }
  headline.detail = detail.join(QStringLiteral(" · "));
  headline.detail_keys = {QStringLiteral("["), QStringLiteral("]")};
  headline.figure = time_figure(static_cast<double>(length_of(selected)));
  headline.figure_aside = card.times;
  headline.figure_note = document.is_predicted() ? words("predicted") : words("measured");
  if (card.band) {
    content.band = {static_cast<double>(length_of(selected)),
                    static_cast<double>(card.band->start_ns),
                    static_cast<double>(card.band->end_ns)};
  }
  auto& sections = content.panel.sections;
  sections.resize(kEventKey + 1);
  for (const CardFact& fact : card.facts) {
    sections[kEventFacts].facts.push_back({fact.label, fact.value});
  }
  const auto& path = document.analysis->path.events;
  if (std::ranges::find(path, event) != path.end()) {
    sections[kEventFacts].facts.push_back({words("Critical path"), words("on it")});
  }
  sections[kEventCost] = {words("Cost"), card.cost.isEmpty() ? QString() : card.cost_source};
  sections[kEventCost].text = card.cost.isEmpty() ? card.cost_source : card.cost;
  sections[kEventLinks] = of_facts(words("Before and after"), {}, link_facts(card, place));
  sections[kEventTwins] = tell_twins(*document.lanes, place, event, content);
  sections[kEventKey] = {words("Key")};
  sections[kEventKey].text = card.key;
  return content;
}

}  // namespace foreshard::gui
