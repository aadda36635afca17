#include "gui/models/timeline/search_query.hpp"

#include <QStringList>
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "gui/models/base/words.hpp"

namespace foreshard::gui {
namespace {

using Field = SearchTerm::Field;

struct Measure {
  const char* name;
  double size;
};
constexpr std::array<Measure, 5> kTimes{
    {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"", 1e6}}};
constexpr std::array<Measure, 9> kBytes{{{"kib", 1024.0},
                                         {"mib", 1048576.0},
                                         {"gib", 1073741824.0},
                                         {"kb", 1e3},
                                         {"mb", 1e6},
                                         {"gb", 1e9},
                                         {"b", 1},
                                         {"", 1},
                                         {"bytes", 1}}};

template <std::size_t N>
std::optional<std::int64_t> amount(const QString& text, const std::array<Measure, N>& units) {
  qsizetype digits = 0;
  while (digits < text.size() && (text[digits].isDigit() || text[digits] == QLatin1Char('.')))
    ++digits;
  bool is_number = false;
  const double number = text.left(digits).toDouble(&is_number);
  if (!is_number) return std::nullopt;
  constexpr double kMost = 9e18;  // that 64 bits hold
  for (const Measure& unit : units) {
    if (text.mid(digits) == QLatin1String(unit.name) && number * unit.size < kMost) {
      return static_cast<std::int64_t>(number * unit.size);
    }
  }
  return std::nullopt;
}

constexpr Words query_words("Search");

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

struct Prefix {
  const char* text;
  Field field;
};
constexpr std::array<Prefix, 11> kPrefixes{{{"name:", Field::name},
                                            {"unit:", Field::unit},
                                            {"phase:", Field::phase},
                                            {"track:", Field::lane},
                                            {"lane:", Field::lane},
                                            {"cost:", Field::cost},
                                            {"rank:", Field::rank},
                                            {"dur>", Field::longer},
                                            {"dur<", Field::shorter},
                                            {"bytes>", Field::larger},
                                            {"bytes<", Field::smaller}}};

// The sources whose names begin so, a bit for each.
std::int64_t cost_sources_of(const std::string& text) {
  std::int64_t found = 0;
  for (int source = 1; source < static_cast<int>(CostSource::kCount); ++source) {
    if (name(static_cast<CostSource>(source)).starts_with(text)) found |= std::int64_t{1} << source;
  }
  return found;
}

// Fills the term; what is wrong with it, or nothing.
QString read_term(const QString& written, SearchTerm& term) {
  const QString text = written.toLower();
  term.written = written;
  term.text = text.toStdString();
  for (const Prefix& prefix : kPrefixes) {
    if (!text.startsWith(QLatin1String(prefix.text))) continue;
    const QString rest = text.mid(QLatin1String(prefix.text).size());
    term.field = prefix.field;
    term.text = rest.toStdString();
    std::optional<std::int64_t> value = 0;
    QString expected;
    switch (prefix.field) {
      case Field::rank: {
        bool is_number = false;
        value = rest.toInt(&is_number);
        if (!is_number) value.reset();
        expected = query_words("a number");
        break;
      }
      case Field::cost:
        value = cost_sources_of(term.text);
        if (*value == 0) value.reset();
        expected = query_words("measured, fitted, modelled or unknown");
        break;
      case Field::longer:
      case Field::shorter:
        value = amount(rest, kTimes);
        expected = query_words("a time such as 2ms");
        break;
      case Field::larger:
      case Field::smaller:
        value = amount(rest, kBytes);
        expected = query_words("a size such as 1MiB");
        break;
      default: break;
    }
    if (!value) return query_words("\"%1\": expected %2").arg(written, expected);
    term.value = *value;
  }
  return {};
}

}  // namespace

SearchQuery parse_query(const QString& text) {
  SearchQuery query;
  for (const QString& word : text.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
    SearchTerm term;
    const QString wrong = read_term(word, term);
    if (wrong.isEmpty()) {
      query.terms.push_back(std::move(term));
    } else if (query.error.isEmpty()) {
      query.error = wrong;
    }
  }
  return query;
}

QueryMatcher::QueryMatcher(const traces::Trace& trace, SearchQuery query)
    : trace_(&trace), query_(std::move(query)), strings_(query_.terms.size()) {
  for (std::size_t n = 0; n < query_.terms.size(); ++n) {
    const SearchTerm& term = query_.terms[n];
    if (term.field >= Field::cost) continue;
    strings_[n].resize(trace.strings.size());
    for (std::size_t k = 0; k < trace.strings.size(); ++k) {
      strings_[n][k] = lower(trace.strings[static_cast<traces::StringId>(k)]).find(term.text) !=
                       std::string::npos;
    }
  }
}

bool QueryMatcher::matches(const traces::Event& event) const {
  const auto length = event.end_ns - event.start_ns;
  const traces::Lane& lane = trace_->lanes[static_cast<std::size_t>(event.lane)];
  for (std::size_t n = 0; n < query_.terms.size(); ++n) {
    const SearchTerm& term = query_.terms[n];
    const auto in = [&](traces::StringId id) { return strings_[n][static_cast<std::size_t>(id)]; };
    bool holds = false;
    switch (term.field) {
      case Field::any:
        holds = in(event.name) || (event.unit != 0 && in(event.unit)) ||
                (event.stable_key != 0 && in(event.stable_key));
        break;
      case Field::name: holds = in(event.name); break;
      case Field::unit: holds = event.unit != 0 && in(event.unit); break;
      case Field::phase: holds = event.phase != 0 && in(event.phase); break;
      case Field::lane: holds = in(lane.name); break;
      case Field::cost:
        holds = ((term.value >> static_cast<int>(event.cost_source)) & 1) != 0;
        break;
      case Field::rank: holds = lane.rank == term.value; break;
      case Field::longer: holds = length > term.value; break;
      case Field::shorter: holds = length < term.value; break;
      case Field::larger: holds = event.bytes > term.value; break;
      case Field::smaller: holds = event.bytes < term.value; break;
    }
    if (!holds) return false;
  }
  return true;
}

}  // namespace foreshard::gui
