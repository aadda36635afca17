#include "gui/views/inspector/event_query.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace foreshard::gui {
namespace {

QStringList tokens(const QString& text) {
  return text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
}

bool is_filter(const QString& token) {
  static const std::array<const char*, 9> starts{
      "unit:", "phase:", "lane:", "rank:", "cost:", "dur>", "dur<", "bytes>", "bytes<"};
  return std::any_of(starts.begin(), starts.end(), [&](const char* start) {
    return token.startsWith(QLatin1String(start), Qt::CaseInsensitive);
  });
}

struct UnitSize {
  const char* suffix;
  double size;
};
constexpr std::array<UnitSize, 4> kTimes{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
constexpr std::array<UnitSize, 7> kSizes{{{"KiB", 1024.0},
                                          {"MiB", 1048576.0},
                                          {"GiB", 1073741824.0},
                                          {"kB", 1e3},
                                          {"MB", 1e6},
                                          {"GB", 1e9},
                                          {"B", 1}}};

// "2ms", "1.5GiB"; a number alone is of `bare`.
template <std::size_t N>
std::optional<std::int64_t> quantity(const QString& text, const std::array<UnitSize, N>& units,
                                     double bare) {
  double size = bare;
  QString number = text;
  for (const UnitSize& unit : units) {
    if (!text.endsWith(QLatin1String(unit.suffix), Qt::CaseInsensitive)) continue;
    size = unit.size;
    number.chop(static_cast<int>(qstrlen(unit.suffix)));
    break;
  }
  bool is_number = false;
  const double value = number.toDouble(&is_number) * size;
  if (!is_number || value < 0 || value > 9e18) return std::nullopt;
  return std::llround(value);
}

// Whether the filter could be read.
bool add_filter(EventQuery& query, const QString& filter) {
  const qsizetype colon = filter.indexOf(QLatin1Char(':'));
  if (colon > 0) {
    const QString key = filter.left(colon).toLower(), value = filter.mid(colon + 1);
    if (value.isEmpty()) return true;  // still being typed
    if (key == QLatin1String("unit")) query.units << value;
    if (key == QLatin1String("phase")) query.phases << value;
    if (key == QLatin1String("lane")) query.lanes << value;
    if (key != QLatin1String("rank")) return key != QLatin1String("cost");
    bool is_number = false;
    query.ranks.push_back(value.toInt(&is_number));
    return is_number;
  }
  const bool is_time = filter.startsWith(QLatin1String("dur"), Qt::CaseInsensitive);
  const qsizetype sign = is_time ? 3 : 5;
  const QString value = filter.mid(sign + 1);
  if (value.isEmpty()) return true;
  const auto limit = is_time ? quantity(value, kTimes, 1e6) : quantity(value, kSizes, 1);
  if (!limit) return false;
  const bool is_above = filter[sign] == QLatin1Char('>');
  std::int64_t& above = is_time ? query.above_ns : query.above_bytes;
  std::int64_t& below = is_time ? query.below_ns : query.below_bytes;
  if (is_above) above = std::max(above, *limit);
  if (!is_above) below = std::min(below, *limit);
  return true;
}

bool contains_any(const QString& text, const QStringList& parts) {
  return parts.isEmpty() || std::any_of(parts.begin(), parts.end(), [&](const QString& part) {
           return text.contains(part, Qt::CaseInsensitive);
         });
}

// What each interned text holds, looked up once: most events share few texts.
class Matcher {
 public:
  Matcher(const traces::Trace& trace, const EventQuery& query) : trace_(trace), query_(query) {
    const std::size_t count = trace.strings.size();
    words_.assign(count, 0);
    is_unit_.assign(count, query.units.isEmpty());
    is_phase_.assign(count, query.phases.isEmpty());
    for (std::size_t id = 0; id < count; ++id) {
      const QString text = QString::fromStdString(trace.strings[static_cast<traces::StringId>(id)]);
      for (qsizetype n = 0; n < word_count(); ++n) {
        if (text.contains(query.words[n], Qt::CaseInsensitive)) words_[id] |= std::uint64_t{1} << n;
      }
      is_unit_[id] = contains_any(text, query.units);
      is_phase_[id] = contains_any(text, query.phases);
    }
    for (const traces::Lane& lane : trace.lanes) {
      const bool is_rank = query.ranks.empty() || std::find(query.ranks.begin(), query.ranks.end(),
                                                            lane.rank) != query.ranks.end();
      is_lane_.push_back(
          is_rank && contains_any(QString::fromStdString(trace.strings[lane.name]), query.lanes));
    }
    all_words_ = (std::uint64_t{1} << word_count()) - 1;
  }

  bool matches(const traces::Event& event) const {
    if (!is_lane_[static_cast<std::size_t>(event.lane)]) return false;
    const std::int64_t duration = event.end_ns - event.start_ns;
    if (duration <= query_.above_ns || duration >= query_.below_ns) return false;
    if (event.bytes <= query_.above_bytes || event.bytes >= query_.below_bytes) return false;
    const auto at = [](traces::StringId id) { return static_cast<std::size_t>(id); };
    if (!is_unit_[at(event.unit)] || !is_phase_[at(event.phase)]) return false;
    return (words_[at(event.name)] | words_[at(event.unit)] | words_[at(event.stable_key)]) ==
           all_words_;
  }

 private:
  // As many as there are bits to remember them by.
  qsizetype word_count() const { return std::min<qsizetype>(query_.words.size(), 63); }

  const traces::Trace& trace_;
  const EventQuery& query_;
  std::vector<std::uint64_t> words_;  // by text: the words that it holds
  std::vector<bool> is_unit_, is_phase_, is_lane_;
  std::uint64_t all_words_ = 0;
};

}  // namespace

EventQuery parse_query(const QString& text) {
  EventQuery query;
  for (const QString& token : tokens(text)) {
    if (!is_filter(token)) {
      query.words << token;
      continue;
    }
    query.filters << token;
    if (!add_filter(query, token)) query.unreadable << token;
  }
  return query;
}

QString without_filter(const QString& text, int filter) {
  QStringList kept;
  int n = 0;
  for (const QString& token : tokens(text)) {
    if (!is_filter(token) || n++ != filter) kept << token;
  }
  return kept.join(QLatin1Char(' '));
}

QString with_filter(const QString& text, const QString& filter) {
  return (tokens(text) << filter).join(QLatin1Char(' '));
}

std::vector<std::int32_t> find_events(const traces::Trace& trace, const EventQuery& query) {
  std::vector<std::int32_t> found;
  if (query.is_empty() || !query.unreadable.isEmpty()) return found;
  const Matcher matcher(trace, query);
  for (std::size_t n = 0; n < trace.events.size(); ++n) {
    if (matcher.matches(trace.events[n])) found.push_back(static_cast<std::int32_t>(n));
  }
  std::stable_sort(found.begin(), found.end(), [&](std::int32_t a, std::int32_t b) {
    return trace.events[static_cast<std::size_t>(a)].start_ns <
           trace.events[static_cast<std::size_t>(b)].start_ns;
  });
  return found;
}

}  // namespace foreshard::gui
