// The panel on the right of the timeline: the selected event, the range, or else the step. Of event
// and range the one that was set last is shown; when it goes, the other one.
#pragma once

#include <QStackedWidget>
#include <QTimer>
#include <memory>

#include "gui/models/base/newest_result.hpp"
#include "gui/models/memory/memory_curve.hpp"
#include "gui/models/session/session.hpp"
#include "gui/views/inspector/contents.hpp"

namespace foreshard::gui {

constexpr int kInspectorWidth = 320;

class Inspector : public QStackedWidget {
  Q_OBJECT
 public:
  explicit Inspector(Session& session, QWidget* parent = nullptr);

  bool is_busy() const { return events_.is_busy() || ranges_.is_busy(); }
  QString as_text() const { return shown().as_text(); }
  QSize sizeHint() const override;

  SidePanel& step_panel() const { return *step_; }
  SidePanel& event_panel() const { return *event_; }
  SidePanel& range_panel() const { return *range_; }
  SidePanel& shown() const { return *static_cast<SidePanel*>(currentWidget()); }

 Q_SIGNALS:
  void busy_changed();

 private:
  void take_event();
  void take_range();
  void show_panel();
  void fit(traces::Interval interval);
  void show_step();
  void show_event(EventContent content);
  void choose_rank(int rank);
  void mark_event();
  traces::EventPointer selected_event() const;

  Session& session_;
  SidePanel *step_, *event_, *range_;
  BandBar* band_;
  TwinStrip* twins_;
  bool is_range_newer_ = false;
  QTimer slow_range_;  // runs while a range's answer is awaited
  NewestResult<EventContent> events_;
  struct RangeAnswer {
    PanelContent content;
    std::shared_ptr<const MemoryCurve> memory;
  };
  std::shared_ptr<const MemoryCurve> memory_;  // kept for the next range
  NewestResult<RangeAnswer> ranges_;
};

}  // namespace foreshard::gui
