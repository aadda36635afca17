// The panel on the right of the timeline: the selected event, the range, or else the step. Of event
// and range the one that was set last is shown; when it goes, the other one.
#pragma once

#include <QStackedWidget>
#include <QTimer>
#include <memory>

#include "gui/models/base/newest_result.hpp"
#include "gui/models/memory/memory_curve.hpp"
#include "gui/models/session/session.hpp"
#include "gui/views/inspector/range_panel.hpp"
#include "gui/views/inspector/selection_panel.hpp"

namespace foreshard::gui {

class StepPanel;

constexpr int kInspectorWidth = 320;

class Inspector : public QStackedWidget {
  Q_OBJECT
 public:
  explicit Inspector(Session& session, QWidget* parent = nullptr);

  bool is_busy() const { return event_.is_busy() || range_.is_busy(); }
  QString as_text() const;  // of what is shown
  QSize sizeHint() const override;

  StepPanel& step_panel() const { return *step_panel_; }
  SelectionPanel& selection_panel() const { return *selection_panel_; }
  RangePanel& range_panel() const { return *range_panel_; }

 Q_SIGNALS:
  void busy_changed();

 private:
  void take_event();
  void take_range();
  void show_panel();
  void fit(traces::Interval interval);
  void offer_ranks(QPoint below);
  void fit_event();
  void mark_event();
  traces::EventPointer selected_event() const;

  Session& session_;
  StepPanel* step_panel_;
  SelectionPanel* selection_panel_;
  RangePanel* range_panel_;
  bool is_range_newer_ = false;
  QTimer slow_range_;  // runs while a range's answer is awaited
  NewestResult<SelectionContent> event_;
  struct RangeAnswer {
    RangeContent content;
    std::shared_ptr<const MemoryCurve> memory;
  };
  std::shared_ptr<const MemoryCurve> memory_;  // kept for the next range
  NewestResult<RangeAnswer> range_;
};

}  // namespace foreshard::gui
