// What is reserved over an allocator's history, before and after a change of its settings.
#pragma once

#include <optional>

#include "gui/models/memory/memory_changes.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class ReservedPlot : public PaintedWidget {
  Q_OBJECT
 public:
  explicit ReservedPlot(QWidget* parent = nullptr);

  // `events`: of the history.
  void show_steps(ReservedSteps before, ReservedSteps after, std::size_t events,
                  std::optional<std::int64_t> capacity);
  QSize minimumSizeHint() const override { return {320, 120}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QPolygonF line_of(const ReservedSteps& steps, const QRectF& area) const;
  std::int64_t most() const;

  ReservedSteps before_, after_;
  std::size_t events_ = 0;
  std::optional<std::int64_t> capacity_;
};

}  // namespace foreshard::gui
