// The grammar of the search field: words match an event's name, unit or key; `unit:`, `phase:`, `rank:`
// and `lane:` one of these alone, `cost:modelled` where a predicted time comes from; `dur>2ms`, `dur<10us`, `bytes>1MiB` bound its size. All must hold.
#pragma once

#include <QString>
#include <cstdint>
#include <string>
#include <vector>

#include "traces/trace.hpp"

namespace foreshard::gui {

struct SearchTerm {
  enum class Field : std::uint8_t {
    any,
    name,
    unit,
    phase,
    lane,
    cost,
    rank,
    longer,
    shorter,
    larger,
    smaller
  };

  Field field = Field::any;
  std::string text;        // lower case
  std::int64_t value = 0;  // of ranks, times in ns, bytes
  QString written;         // as it stands in the field, for its chip
};

struct SearchQuery {
  std::vector<SearchTerm> terms;
  QString error;  // what is wrong with the first term that could not be read, or empty

  bool is_empty() const { return terms.empty(); }
};

SearchQuery parse_query(const QString& text);

// Finds the strings that a query's words match once, and then compares numbers.
class QueryMatcher {
 public:
  QueryMatcher(const traces::Trace& trace, SearchQuery query);
  bool matches(const traces::Event& event) const;

 private:
  const traces::Trace* trace_;
  SearchQuery query_;
  std::vector<std::vector<bool>> strings_;  // of each term: whether it is in the string
};

}  // namespace foreshard::gui
