// The search of a window: what is typed, what it finds in the current document, and which of the
// hits is the selected one. The field, the list of results and the timeline's ticks all follow it.
//
// The events are looked through on another thread; of quick changes only the newest counts.
#pragma once

#include <memory>
#include <vector>

#include "gui/models/base/histogram.hpp"
#include "gui/models/base/newest_result.hpp"
#include "gui/models/session/session.hpp"
#include "gui/views/inspector/event_query.hpp"

namespace foreshard::gui {

struct SearchHits {
  DocumentPtr document;
  std::vector<std::int32_t> events;  // indices into Trace::events, in the order of time
  Histogram durations;  // in all lengths: of the same search without limits of duration
};

class Search : public QObject {
  Q_OBJECT
 public:
  explicit Search(Session& session, QObject* parent = nullptr);

  const QString& text() const { return text_; }
  void set_text(const QString& text);  // empty: no search
  const EventQuery& query() const { return query_; }
  bool is_active() const { return !query_.is_empty(); }
  bool is_busy() const { return newest_.is_busy(); }

  // Never null; of an older text while a newer one is looked for.
  std::shared_ptr<const SearchHits> hits() const { return hits_; }
  // Selects the hit after the selected event, or before it; from the last on to the first.
  void next();
  void previous();

 Q_SIGNALS:
  void text_changed();
  void hits_changed();
  void busy_changed();

 private:
  void look();
  void step(int by);

  Session& session_;
  QString text_;
  EventQuery query_;
  std::shared_ptr<const SearchHits> hits_ = std::make_shared<SearchHits>();
  NewestResult<std::shared_ptr<const SearchHits>> newest_;
};

}  // namespace foreshard::gui
