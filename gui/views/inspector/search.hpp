// The search of a window: what is typed, what it finds in the current document, and which of the
// hits is the selected one. The field, the list of results and the timeline's ticks all follow it.
//
// The events are looked through on another thread; of quick changes only the newest counts.
#pragma once

#include <QLineEdit>
#include <atomic>
#include <memory>
#include <vector>

#include "gui/models/base/newest_result.hpp"
#include "gui/models/session/session.hpp"
#include "gui/models/timeline/search.hpp"

namespace foreshard::gui {

// What a text found.
struct SearchResult {
  DocumentPtr document;  // null: nothing was looked for
  Hits hits;
  std::vector<DurationBin> durations;  // of the same search without limits of duration
};

class Search : public QObject {
  Q_OBJECT
 public:
  explicit Search(Session& session, QObject* parent = nullptr);
  ~Search() override;

  const QString& text() const { return text_; }
  void set_text(const QString& text);  // empty: no search
  const SearchQuery& query() const { return query_; }
  // The terms that are filters rather than words, as they were typed: "dur>2ms".
  QStringList filters() const;
  void drop_filter(const QString& filter);

  bool is_active() const { return !query_.is_empty() || !query_.error.isEmpty(); }
  bool is_busy() const { return newest_.is_busy(); }
  // Never null; of an older text while a newer one is looked for.
  std::shared_ptr<const SearchResult> result() const { return result_; }
  // Of the open documents; -1: it was closed.
  int result_document() const;

  // Selects the hit that begins next after the selected event, or before it; from the last on to the
  // first.
  void next();
  void previous();

 Q_SIGNALS:
  void text_changed();
  void result_changed();
  void busy_changed();

 private:
  void look();
  void step(int by);

  Session& session_;
  QString text_;
  SearchQuery query_;
  std::shared_ptr<const SearchResult> result_ = std::make_shared<SearchResult>();
  std::shared_ptr<std::atomic<bool>> is_cancelled_;  // of what is being looked for
  NewestResult<std::shared_ptr<const SearchResult>> newest_;
};

// The field of the search: a magnifier, what is typed, and the key that leads here. Enter goes to
// the next hit, Shift+Enter to the one before, Esc empties the field and leaves it.
class SearchField : public QLineEdit {
  Q_OBJECT
 public:
  explicit SearchField(Search& search, QWidget* parent = nullptr);

  QSize sizeHint() const override;

 Q_SIGNALS:
  void left();  // by Esc: the keyboard belongs to the view again

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  Search& search_;
};

}  // namespace foreshard::gui
