// What the user points at, shared by all views: the selected event, a range of time, the cursor,
// marks, a unit. Views set it and follow it.
#pragma once

#include <QObject>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/intervals.hpp"

namespace foreshard::gui {

// An event of an open document.
struct EventId {
  int document = 0;         // its place among the open ones
  std::int32_t event = -1;  // index into Trace::events
  bool operator==(const EventId&) const = default;
};

class Selection : public QObject {
  Q_OBJECT
 public:
  explicit Selection(QObject* parent = nullptr) : QObject(parent) {}

  using QObject::event;  // of Qt's own, beside the selected one
  const std::optional<EventId>& event() const { return event_; }
  const std::optional<traces::Interval>& range() const { return range_; }
  const std::optional<std::int64_t>& cursor_ns() const { return cursor_; }
  const std::vector<std::int64_t>& marks() const { return marks_; }  // ascending
  int rank() const { return rank_; }  // whose memory is shown, whose unit is meant
  const std::string& unit() const { return unit_; }

  void select(std::optional<EventId> event);
  void set_range(std::optional<traces::Interval> range);
  void set_cursor(std::optional<std::int64_t> ns);
  void toggle_mark(std::int64_t ns,
                   std::int64_t tolerance_ns);  // adds one, or removes the one there
  void set_marks(std::vector<std::int64_t> marks);
  void set_rank(int rank);
  void set_unit(std::string unit);
  void clear();

 Q_SIGNALS:
  void event_changed();
  void range_changed();
  void cursor_changed();
  void marks_changed();
  void rank_changed();
  void unit_changed();

 private:
  std::optional<EventId> event_;
  std::optional<traces::Interval> range_;
  std::optional<std::int64_t> cursor_;
  std::vector<std::int64_t> marks_;
  int rank_ = 0;
  std::string unit_;
};

}  // namespace foreshard::gui
