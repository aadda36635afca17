#include "gui/models/timeline/row.hpp"

#include "gui/models/base/units_text.hpp"

namespace foreshard::gui {

traces::StringId Row::name(std::size_t item) const {
  if (is_derived()) return spans_[item].name;
  return trace_->events[static_cast<std::size_t>(events_[item])].name;
}

traces::StringId Row::unit(std::size_t item) const {
  if (is_derived()) return kind == RowKind::unit ? spans_[item].name : 0;
  return trace_->events[static_cast<std::size_t>(events_[item])].unit;
}

traces::StringId Row::phase(std::size_t item) const {
  if (is_derived()) return spans_[item].phase;
  return trace_->events[static_cast<std::size_t>(events_[item])].phase;
}

std::size_t Row::first_ending_after(std::int64_t ns) const {
  std::size_t low = 0, high = size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (span(middle).end_ns > ns) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Trace::events are in the order of lanes and starts, and so are a row's.
std::size_t Row::item_of(std::int32_t event) const {
  const std::size_t item = events_.find(event);
  return item < events_.size() ? item : size();
}

QString Row::value_text(double value) const {
  return measured_figure(value, trace_->strings[counter_->counter().unit]).text();
}

}  // namespace foreshard::gui
