#include "traces/fst/fst_losses.hpp"

#include <algorithm>

#include "traces/input/limits.hpp"
#include "traces/intervals.hpp"

namespace foreshard::traces {
namespace {

Interval span_of(const std::vector<Step>& steps) {
  Interval span{kLatestNs, -kLatestNs};
  for (const Step& step : steps) {
    span.start_ns = std::min(span.start_ns, step.start_ns);
    span.end_ns = std::max(span.end_ns, step.end_ns);
  }
  return span;
}

bool is_possible(std::int64_t rank, std::int64_t start, std::int64_t end, std::int64_t records) {
  return rank >= kNone && rank < kMaxRanks && start >= -kLatestNs && start <= end &&
         end <= kLatestNs && records >= 1 && records <= kMaxBytes;
}

}  // namespace

TableDamage read_losses(const UntrustedDatabase& file, const std::optional<StepRange>& steps,
                        Trace& trace) {
  TableDamage damage;
  if (!file.has("LOSSES")) return damage;  // of an earlier writer
  const Interval wanted = steps ? span_of(trace.steps) : Interval{-kLatestNs, kLatestNs};
  Statement row = file.select("LOSSES", {"rank", "memory", "start", "end", "records"});
  // A row takes several bytes, so more rows than bytes means a page that is its own descendant.
  std::int64_t rows_left = file.bytes();
  int status = SQLITE_OK;
  while ((status = row.step()) == SQLITE_ROW && rows_left-- > 0) {
    const std::int64_t rank = row.integer(0), start = row.integer(2), end = row.integer(3),
                       records = row.integer(4);
    if (!is_possible(rank, start, end, records)) {
      ++damage.invalid;
    } else if (start <= wanted.end_ns && wanted.start_ns <= end) {
      trace.losses.push_back(
          {static_cast<std::int32_t>(rank), row.integer(1) != 0, start, end, records});
    }
  }
  damage.is_cut_short = status != SQLITE_DONE;
  return damage;
}

}  // namespace foreshard::traces
