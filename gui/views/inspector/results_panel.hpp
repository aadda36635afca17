// The results of the search, at the bottom of the window: what was found, the filters that are
// active, a table of the events, and the histogram of their durations, whose brush is a filter too.
#pragma once

#include <QWidget>

#include "gui/views/inspector/search.hpp"

class QHBoxLayout;

namespace foreshard::gui {

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
