// What one window shows: the open documents, and the axis and selection that all of its views share.
//
// The axis counts as the current document does. Others have clocks of their own: they are shown so that the step in
// the middle of the window begins where their step of that number does.
#pragma once

#include <QObject>
#include <cstdint>
#include <vector>

#include "gui/models/base/selection.hpp"
#include "gui/models/base/time_axis.hpp"
#include "gui/models/session/document.hpp"

namespace foreshard::gui {

// How open documents lie beside each other.
enum class AlignBy : std::uint8_t { step, clock };

class Session : public QObject {
  Q_OBJECT
 public:
  explicit Session(QObject* parent = nullptr);

  // In the order of their chips; the first is the baseline that others are compared with.
  const std::vector<DocumentPtr>& documents() const { return documents_; }
  // Whose step the views show; null where nothing is open.
  DocumentPtr current() const;
  int current_index() const { return current_; }

  void add(DocumentPtr document);  // becomes the current one; its steady step is shown
  void replace(int index, DocumentPtr document);  // the same event stays selected
  void close(int index);
  void set_current(int index);  // window and range stay in their places of the step
  // The rank after or before the one that is shown, and from the last one the first.
  void show_next_rank(int by);
  // The prediction of the what-if panel: appended the first time, replaced from then on.
  void show_what_if(DocumentPtr document);
  DocumentPtr what_if() const;

  TimeAxis& axis() { return axis_; }
  Selection& selection() { return selection_; }

  // Of the current document; some second where nothing is open.
  traces::Interval steady_step() const;
  traces::Interval everything() const;

  void align_by(AlignBy what);
  // Nanoseconds that a document's moments lie later along the axis than its own clock says, as the window is now.
  std::int64_t offset_ns(int document) const;
  // Of an event, along the axis; `span_there` once the middle of the window is in its step.
  traces::Interval span(EventId event) const;
  traces::Interval span_there(EventId event) const;

 Q_SIGNALS:
  void documents_changed();
  void current_changed();
  void alignment_changed();

 private:
  std::int64_t offset_ns(const Document& document, const StepSpan* step) const;
  traces::Interval own_span(EventId event) const;
  void follow_selection();
  void choose_rank();

  std::vector<DocumentPtr> documents_;
  int current_ = -1;
  AlignBy aligned_by_ = AlignBy::step;
  TimeAxis axis_;
  Selection selection_;
};

}  // namespace foreshard::gui
