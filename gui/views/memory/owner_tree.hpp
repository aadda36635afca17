// Owners of memory as a tree: the largest first, each opened by a click, Enter or the arrow keys.
// Rows beyond the largest of a group are one that says how many they are.
#pragma once

#include <set>
#include <vector>

#include "gui/models/memory/memory_moment.hpp"
#include "gui/views/base/accessible_canvas.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class OwnerTree : public PaintedWidget, public AccessibleCanvas {
  Q_OBJECT
 public:
  explicit OwnerTree(QWidget* parent = nullptr);

  // Rows that were open stay so, by their names. Differences have a sign.
  void set_owners(std::vector<MemoryOwner> owners, bool are_differences = false);
  QString as_text() const;  // of all rows that are shown
  int rows() const { return static_cast<int>(rows_.size()); }
  QString name(int row) const { return rows_[static_cast<std::size_t>(row)].name; }
  QPoint row_centre(int row) const;

  int accessible_rows() const override { return rows(); }
  AccessibleItem accessible_row(int row) const override;
  std::optional<AccessibleItem> accessible_selection() const override;  // what Enter opens

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 Q_SIGNALS:
  void buffer_chosen(traces::MemoryEventPointer allocation);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Row {
    int depth = 0;
    QString name, path;                  // the path of names, by which it stays open
    const MemoryOwner* owner = nullptr;  // null: "and 8 more"
  };

  QString row_text(const Row& row) const;
  QString bytes_text(const MemoryOwner& owner) const;
  void list(const std::vector<MemoryOwner>& owners, int depth, const QString& path);
  void rebuild();
  void toggle(int row);
  void set_current(int row);
  bool is_open(const Row& row) const { return open_.count(row.path) > 0; }

  std::vector<MemoryOwner> owners_;
  std::vector<Row> rows_;
  std::set<QString> open_, in_full_;
  int current_ = 0;
  bool are_differences_ = false;
};

}  // namespace foreshard::gui
