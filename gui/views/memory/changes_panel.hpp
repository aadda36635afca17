// "What would lower it?": changes of the plan or of the allocator's settings, the best first, each
// with what would be reserved then; of a replayed history the selected change's curve beside the
// recorded.
#pragma once

#include <QPushButton>
#include <QWidget>

#include "gui/models/base/newest_result.hpp"
#include "gui/models/memory/memory_changes.hpp"
#include "gui/views/base/byte_plot.hpp"
#include "gui/views/base/data_table.hpp"
#include "gui/views/base/labels.hpp"

namespace foreshard::gui {

class ChangesPanel : public QWidget {
  Q_OBJECT
 public:
  explicit ChangesPanel(QWidget* parent = nullptr);

  void ask(ChangesQuestion question);
  void forget();  // another recording is shown
  bool is_asked() const { return is_asked_; }
  bool is_busy() const { return finding_.is_busy() || replaying_.is_busy(); }
  const MemoryChanges& changes() const { return changes_; }
  DataTable& table() { return *table_; }

 Q_SIGNALS:
  void busy_changed();
  void found();  // the answer
  void closed();

 private:
  struct Curves {
    ReservedSteps before, after;
  };

  void show_changes(MemoryChanges changes);
  void show_curves_of(int row);
  void show_curves(const Curves& curves);

  MemoryChanges changes_;
  bool is_asked_ = false;
  TextLabel *title_, *note_;
  QPushButton* close_;
  DataTable* table_;
  BytePlot* plot_;
  NewestResult<MemoryChanges> finding_;
  NewestResult<Curves> replaying_;
};

}  // namespace foreshard::gui
