// What one window shows: the open documents, and the axis and selection that all of its views share.
#pragma once

#include <QObject>
#include <vector>

#include "gui/models/base/selection.hpp"
#include "gui/models/base/time_axis.hpp"
#include "gui/models/session/document.hpp"

namespace foreshard::gui {

class Session : public QObject {
  Q_OBJECT
 public:
  explicit Session(QObject* parent = nullptr);

  // In the order of their chips; the first is the baseline that others are compared with.
  const std::vector<DocumentPtr>& documents() const { return documents_; }
  // Whose step the views show; null where nothing is open.
  DocumentPtr current() const;
  int current_index() const { return current_; }

  void add(DocumentPtr document);                 // becomes the current one
  void replace(int index, DocumentPtr document);  // the same event stays selected
  void close(int index);
  void set_current(int index);
  // The prediction of the what-if panel: appended the first time, replaced from then on.
  void show_what_if(DocumentPtr document);
  DocumentPtr what_if() const;

  TimeAxis& axis() { return axis_; }
  Selection& selection() { return selection_; }

  // The moments of the last complete step of the current document: what `F` fits. Everything where no
  // step was recorded.
  traces::Interval steady_step() const;
  traces::Interval everything() const { return everything_; }

 Q_SIGNALS:
  void documents_changed();
  void current_changed();

 private:
  void measure();  // the current document
  void follow_selection();
  void choose_rank();

  std::vector<DocumentPtr> documents_;
  int current_ = -1;
  traces::Interval everything_{0, 1'000'000'000};
  TimeAxis axis_;
  Selection selection_;
};

}  // namespace foreshard::gui
