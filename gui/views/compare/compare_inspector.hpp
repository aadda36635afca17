// The comparison's inspector: the operator or the event that is selected, on both sides, where its
// pairs stand among all, and why they differ.
#pragma once

#include <memory>

#include "gui/models/comparison/trace_comparison.hpp"
#include "gui/views/base/side_panel.hpp"

namespace foreshard::gui {

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
