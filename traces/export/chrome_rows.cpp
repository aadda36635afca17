#include "traces/export/chrome_rows.hpp"

namespace foreshard::traces {
namespace {

struct Open {
  std::int64_t end_ns = 0;
  bool is_work = false;
};

// Whether the event may stand in a row with these open, those that have ended being removed.
bool fits(std::vector<Open>& open, const Event& e) {
  while (!open.empty() && open.back().end_ns <= e.start_ns) open.pop_back();
  if (open.empty()) return true;
  return e.end_ns <= open.back().end_ns && !(open.back().is_work && is_device_work(e.kind));
}

constexpr std::int32_t kMaxRowsOfALane = 64;  // beyond, the last one takes all

}  // namespace

ChromeRows chrome_rows(const Trace& trace) {
  ChromeRows result;
  for (std::size_t lane = 0; lane < trace.lanes.size(); ++lane) {
    result.rows.push_back({static_cast<std::int32_t>(lane), 0});
  }
  result.row_of_event.reserve(trace.events.size());
  struct LaneRow {
    std::int32_t row = 0;
    std::vector<Open> open;
  };
  std::vector<LaneRow> of_lane;
  std::int32_t lane = kNone;
  for (const Event& e : trace.events) {
    if (e.lane != lane) {
      lane = e.lane;
      of_lane.assign(1, {lane, {}});
    }
    std::size_t at = 0;
    while (at < of_lane.size() && !fits(of_lane[at].open, e)) ++at;
    if (at == of_lane.size() && at == kMaxRowsOfALane) --at;
    if (at == of_lane.size()) {
      of_lane.push_back({static_cast<std::int32_t>(result.rows.size()), {}});
      result.rows.push_back({lane, static_cast<std::int32_t>(at)});
    }
    of_lane[at].open.push_back({e.end_ns, is_device_work(e.kind)});
    result.row_of_event.push_back(of_lane[at].row);
  }
  return result;
}

}  // namespace foreshard::traces
