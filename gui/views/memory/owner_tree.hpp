// Owners of memory as a tree: the largest first, each opened by a click, Enter or the arrow keys.
// Rows beyond the largest of a group are one that says how many they are. As high as its rows.
#pragma once

#include <QTreeWidget>
#include <set>
#include <vector>

#include "gui/models/memory/memory_moment.hpp"

namespace foreshard::gui {

class OwnerTree : public QTreeWidget {
  Q_OBJECT
 public:
  explicit OwnerTree(QWidget* parent = nullptr);

  // Rows that were open stay so, by their names. Differences have a sign.
  void set_owners(std::vector<MemoryOwner> owners, bool are_differences = false);
  QString as_text() const;                     // of all rows that are shown
  QList<QTreeWidgetItem*> shown_rows() const;  // from top to bottom

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 Q_SIGNALS:
  void buffer_chosen(traces::MemoryEventPointer allocation);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void drawBranches(QPainter* painter, const QRect& rect, const QModelIndex& index) const override;

 private:
  void rebuild();
  void list(const std::vector<MemoryOwner>& owners, QTreeWidgetItem* parent, const QString& path);
  void choose(QTreeWidgetItem* row);

  std::vector<MemoryOwner> owners_;
  bool are_differences_ = false;
  std::set<QString> open_, in_full_;  // by the path of names
};

}  // namespace foreshard::gui
