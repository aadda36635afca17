#include "gui/views/inspector/range_content.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/models/base/words.hpp"
#include "gui/models/session/loss_words.hpp"
#include "profiler/report/short_names.hpp"

namespace foreshard::gui {
namespace {

constexpr std::size_t kRangeOperators = 8, kRangeCollectives = 6;

constexpr Words range_label("RangePanel");

QString time_text_of(std::int64_t ns) {
  return time_figure(static_cast<double>(ns)).text();
}

QString name_of(const traces::Trace& trace, traces::StringId name) {
  return QString::fromStdString(profiler::short_name(trace.strings[name], 40));
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

Headline range_headline(const traces::Trace& trace, const RangeStatistics& statistics) {
  Headline headline;
  headline.title = range_label("Range");
  headline.whose = range_label("rank %1").arg(statistics.rank);
  const std::int64_t origin = origin_of_range(trace, statistics);
  const QString from = time_text_of(statistics.range.start_ns - origin);
  headline.detail =
      QStringLiteral("%1 – %2").arg(from, time_text_of(statistics.range.end_ns - origin));
  headline.detail_note = QString::fromStdString(trace.strings[main_phase(statistics)]);
  headline.figure =
      time_figure(static_cast<double>(statistics.range.end_ns - statistics.range.start_ns));
  if (statistics.share_of_step > 0) {
    headline.figure_aside =
        range_label("%1 of the step").arg(percent_text(statistics.share_of_step));
  }
  return headline;
}

void tell_range_time(const traces::Trace& trace, const RangeStatistics& statistics,
                     RangeContent& content) {
  const profiler::TimeBreakdown& time = statistics.time;
  const EventColour compute{role_of_phase(trace.strings[main_phase(statistics)]), Tint::plain},
      hidden{Role::all_gather, Tint::plain}, exposed{Role::warn, Tint::plain},
      idle{Role::strong_line, Tint::plain};
  const auto add = [&](const char* label, std::int64_t ns, EventColour colour) {
    content.time.push_back(
        {range_label(label), time_text_of(ns), percent_text(statistics.share(ns)), colour});
  };
  add("Compute", time.compute_ns, compute);
  add("Communication, hidden", time.overlap_ns, hidden);
  add("Communication, exposed", time.exposed_communication_ns, exposed);
  add("Idle", time.idle_ns, idle);
  if (statistics.tokens_per_s > 0) {
    const auto rate = static_cast<std::int64_t>(statistics.tokens_per_s);
    content.time.push_back({range_label("Tokens per second"), count_figure(rate).number});
  }
  content.shares = {{static_cast<double>(time.compute_ns), compute},
                    {static_cast<double>(time.exposed_communication_ns), exposed},
                    {static_cast<double>(time.idle_ns), idle}};
}

// The first sentence in bold: "Bound by compute."
void tell_bound(const QString& sentence, RangeContent& content) {
  const qsizetype stop = sentence.indexOf(QLatin1Char('.'));
  const bool has_more = stop > 0 && stop + 1 < sentence.size() && sentence[stop + 1].isSpace();
  content.lead = has_more ? sentence.left(stop + 1) : QString();
  content.sentence = has_more ? sentence.mid(stop + 2) : sentence;
}

void tell_operators(const traces::Trace& trace, const RangeStatistics& statistics,
                    RangeContent& content) {
  std::int64_t longest = 0;
  for (const RangeOperator& one : statistics.operators) {
    if (one.is_collective || content.operators.size() == kRangeOperators) continue;
    longest = std::max(longest, one.ns);
    Fact fact{name_of(trace, one.name), time_text_of(one.ns), count_figure(one.count).number};
    fact.swatch = colour_of_operator(trace.strings[one.name], trace.strings[one.phase]);
    fact.bar = longest > 0 ? static_cast<double>(one.ns) / static_cast<double>(longest) : 0;
    fact.tooltip = QString::fromStdString(trace.strings[one.name]);
    content.operators.push_back(std::move(fact));
  }
}

void tell_collectives(const traces::Trace& trace, const RangeStatistics& statistics,
                      RangeContent& content) {
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
  for (const RangeOperator& one : collectives) {
    Fact fact{
        QStringLiteral("%1 × %2").arg(name_of(trace, one.name), count_figure(one.count).number),
        time_text_of(one.ns / std::max<std::int64_t>(one.count, 1))};
    if (one.bytes > 0 && one.ns > 0) {
      const double rate = static_cast<double>(one.bytes) / static_cast<double>(one.ns) * 1e9;
      fact.note = rate_figure(rate).text();
    }
    fact.swatch = colour_of_operator(trace.strings[one.name], {});
    fact.tooltip = QString::fromStdString(trace.strings[one.name]);
    content.collectives.push_back(std::move(fact));
  }
}

// The category that changed most from the range's start to its end, such as activations that
// backward releases.
void tell_largest_change(const MemoryCurve& memory, std::size_t from, std::size_t to,
                         RangeContent& content) {
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
  const QString words = change < 0 ? range_label("%1, released") : range_label("%1, added");
  Fact fact{words.arg(memory.layers()[most].name), bytes_figure(std::abs(change)).text()};
  fact.swatch = EventColour{memory.layers()[most].role, Tint::plain};
  fact.tooltip = exact_bytes(change);
  content.memory.push_back(std::move(fact));
}

void tell_memory(const MemoryCurve& memory, traces::Interval range, RangeContent& content) {
  const MemoryClock clock = memory.best_clock();
  if (memory.size() == 0 || clock == MemoryClock::event_order) return;
  const std::size_t from = memory.sample_at(clock, range.start_ns).value_or(0);
  const std::size_t to = memory.sample_at(clock, range.end_ns).value_or(0);
  const std::array<std::int64_t, 2> edges{range.start_ns, range.end_ns};
  const MemoryColumns whole = memory.columns(clock, edges);
  const auto add = [&](const char* label, std::int64_t bytes) {
    Fact fact{range_label(label), bytes_figure(bytes).text()};
    fact.tooltip = exact_bytes(bytes);
    content.memory.push_back(std::move(fact));
  };
  add("Allocated at its start", memory.allocated(from));
  add("Allocated at most", std::max(whole.allocated(0), memory.allocated(to)));
  add("Allocated at its end", memory.allocated(to));
  if (whole.reserved[0] > 0) add("Reserved at most", whole.reserved[0]);
  tell_largest_change(memory, from, to, content);
}

}  // namespace

RangeContent range_content(const Document& document, const RangeStatistics& statistics,
                           const MemoryCurve& memory) {
  const traces::Trace& trace = *document.trace;
  RangeContent content;
  content.headline = range_headline(trace, statistics);
  tell_range_time(trace, statistics, content);
  tell_bound(statistics.sentence(), content);
  tell_operators(trace, statistics, content);
  for (const QString& sentence : loss_sentences(trace, statistics.rank, statistics.range)) {
    content.sentence += QLatin1Char(' ') + sentence;
  }
  tell_collectives(trace, statistics, content);
  tell_memory(memory, statistics.range, content);
  return content;
}

}  // namespace foreshard::gui
