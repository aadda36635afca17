// The results of the search, at the bottom of the window: what was found, the filters that are
// active, a table of the events, and the histogram of their durations, whose brush is a filter too.
#pragma once

#include <QAbstractTableModel>
#include <QWidget>
#include <cstdint>
#include <vector>

#include "gui/models/base/newest_result.hpp"
#include "gui/models/session/document.hpp"
#include "gui/views/inspector/search.hpp"

class QHBoxLayout;

namespace foreshard::gui {

// What a search found as a table: name, unit, phase, rank, start and duration of each event, in the
// order of time until a header is clicked. Times count from the start of the trace.
class ResultsModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kName, kUnit, kPhase, kRank, kStart, kDuration, kColumns };

  explicit ResultsModel(QObject* parent = nullptr);

  // Indices into the document's Trace::events, in the order of time.
  void set_events(DocumentPtr document, std::vector<std::int32_t> events);
  std::int32_t event_at(int row) const { return events_.at(static_cast<std::size_t>(row)); }
  int row_of(std::int32_t event) const;  // -1: not among them

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  // On another thread: rows move once it is done.
  void sort(int column, Qt::SortOrder order) override;
  bool is_busy() const { return newest_.is_busy(); }

 Q_SIGNALS:
  void busy_changed();

 private:
  QString text(const traces::Event& event, int column) const;
  void show_order(std::vector<std::int32_t> events);

  DocumentPtr document_;
  std::vector<std::int32_t> events_;
  int sorted_by_ = kStart;
  Qt::SortOrder order_ = Qt::AscendingOrder;
  NewestResult<std::vector<std::int32_t>> newest_;
};

// In the order of a column; events that are equal there keep theirs.
std::vector<std::int32_t> ordered_events(const traces::Trace& trace,
                                         std::vector<std::int32_t> events, int column,
                                         Qt::SortOrder order);

class DataTable;
class DurationHistogram;
class ResultsModel;
class TextLabel;

class ResultsPanel : public QWidget {
  Q_OBJECT
 public:
  ResultsPanel(Session& session, Search& search, QWidget* parent = nullptr);

  bool is_busy() const;
  QString headline() const;  // "33 found", or the sentence that nothing was
  DataTable& table() const { return *table_; }
  DurationHistogram& durations() const { return *durations_; }

 Q_SIGNALS:
  void zoom_asked();  // to the selected event: Enter, or a double click
  void busy_changed();

 private:
  void show_query();
  void show_filters();
  void show_result();
  void follow_selection();
  void choose(int row);
  void filter_by_brush();

  Session& session_;
  Search& search_;
  ResultsModel* model_;
  TextLabel* headline_;
  QHBoxLayout* filters_;  // a button for each, which drops it
  DataTable* table_;
  DurationHistogram* durations_;
};

}  // namespace foreshard::gui
