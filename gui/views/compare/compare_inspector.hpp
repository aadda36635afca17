// The comparison's inspector: the operator or the event that is selected, on both sides, where its
// pairs stand among all, and why they differ.
#pragma once

#include <memory>

#include "gui/models/comparison/trace_comparison.hpp"
#include "gui/views/base/painted_widget.hpp"
#include "gui/views/base/side_panel.hpp"

namespace foreshard::gui {

// Every matched pair of a step in a log-log plot, the baseline's duration to the right and the
// candidate's upwards: on the diagonal they are equal. The pairs of one operator are emphasised. Of those that
// would lie on one another one is drawn.
class PairScatter : public PaintedWidget {
  Q_OBJECT
 public:
  explicit PairScatter(QWidget* parent = nullptr);

  void set_comparison(std::shared_ptr<const TraceComparison> comparison);
  void set_operator(const OperatorPairs* pairs);  // of the comparison; null: none
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {200, 200}; }

 Q_SIGNALS:
  void pair_chosen(int baseline_event);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  QRectF area() const;
  QPointF place(const ComparedPair& pair) const;

  std::shared_ptr<const TraceComparison> comparison_;
  const OperatorPairs* operator_ = nullptr;
};

class PairScatter;

class CompareInspector : public SidePanel {
  Q_OBJECT
 public:
  explicit CompareInspector(QWidget* parent = nullptr);

  void set_comparison(std::shared_ptr<const TraceComparison> comparison);
  void show_cause(const Cause* cause,
                  const ComparedPair* pair);  // of an event, where one is selected

 Q_SIGNALS:
  void pair_chosen(int baseline_event);
  void next_worst();
  void copy_wanted();

 private:
  QString band_text() const;

  std::shared_ptr<const TraceComparison> comparison_;
  PairScatter* scatter_;
  QPushButton *copy_, *next_;
};

}  // namespace foreshard::gui
