// The comparison's inspector: the operator or the event that is selected, on both sides, where its
// pairs stand among all, and why they differ.
#pragma once

#include <QWidget>
#include <memory>

#include "gui/models/comparison/trace_comparison.hpp"

class QLabel;
class QPushButton;

namespace foreshard::gui {

class FactList;
class PairScatter;
class TextLabel;

class CompareInspector : public QWidget {
  Q_OBJECT
 public:
  explicit CompareInspector(QWidget* parent = nullptr);

  void set_comparison(std::shared_ptr<const TraceComparison> comparison);
  void show_cause(const Cause* cause,
                  const ComparedPair* pair);  // of an event, where one is selected
  QString as_text() const;

 Q_SIGNALS:
  void pair_chosen(int baseline_event);
  void next_worst();
  void copy_wanted();

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  std::shared_ptr<const TraceComparison> comparison_;
  TextLabel* title_;
  TextLabel* detail_;
  FactList* facts_;
  TextLabel* plot_title_;
  PairScatter* scatter_;
  TextLabel* band_;
  QLabel* why_;
  QPushButton* copy_;
  QPushButton* next_;
};

}  // namespace foreshard::gui
