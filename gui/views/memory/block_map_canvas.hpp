// The lower half of the memory view: the allocator's segments and blocks at the cursor, row by row,
// each row as many bytes of one pool. Blocks are selected by mouse or keys; where another moment is
// compared with, those that lay there then are pale.
#pragma once

#include <QPixmap>
#include <memory>
#include <optional>
#include <vector>

#include "gui/models/memory/rank_memory.hpp"
#include "gui/views/base/accessible_canvas.hpp"
#include "gui/views/base/painted_widget.hpp"

namespace foreshard::gui {

class BlockMapCanvas : public PaintedWidget, public AccessibleCanvas {
  Q_OBJECT
 public:
  explicit BlockMapCanvas(QWidget* parent = nullptr);

  // `title`: of the moment, "Blocks at 284.7 ms".
  void show_map(std::shared_ptr<const RankMemory> memory,
                std::shared_ptr<const MomentOfRank> moment, const QString& title);
  void select(traces::MemoryEventPointer allocation);
  traces::MemoryEventPointer selected() const { return selected_; }
  std::int64_t bytes_per_row() const { return bytes_per_row_; }

  // The block at a point; null: none.
  const MapBlock* block_at(QPointF point) const;
  // Where a block begins, as far as it is on its first row.
  QRectF box_of(traces::MemoryEventPointer allocation) const;

  // The pools; selected is a block.
  int accessible_rows() const override;
  AccessibleItem accessible_row(int row) const override;
  std::optional<AccessibleItem> accessible_selection() const override;

  QSize minimumSizeHint() const override { return {480, 120}; }

 Q_SIGNALS:
  void block_selected(traces::MemoryEventPointer allocation);  // null: none
  void layout_changed();                                       // how many bytes a row has

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Row {
    std::size_t pool = 0;
    std::int64_t first = 0;  // offset of its first byte
    double top = 0;
  };

  void lay_out();
  void repaint_all();
  QPixmap draw(double ratio) const;
  void draw_title(QPainter& painter) const;
  void draw_row(QPainter& painter, const Row& row) const;
  bool is_old(const MapBlock& block) const;  // there already at the moment that is compared with
  void draw_pool_name(QPainter& painter, const Row& first, const MapPool& pool) const;
  void outline(QPainter& painter, const MapBlock& block, std::size_t pool, QColor colour,
               double width) const;
  double row_width() const;
  double x_of(std::int64_t offset_in_row) const;
  const Row* row_at(double y) const;
  const MapBlock* find(traces::MemoryEventPointer allocation, std::size_t& pool) const;
  QString card(const MapBlock& block) const;
  QString hover_text(QPointF point) const;  // a block's card, or of a pool's name its figures

  std::shared_ptr<const RankMemory> memory_;
  std::shared_ptr<const MomentOfRank> moment_;
  QString title_;
  std::vector<Row> rows_;
  std::int64_t bytes_per_row_ = 0;
  double pitch_ = 0;  // from row to row
  traces::MemoryEventPointer selected_ = nullptr;
  const MapBlock* hovered_ = nullptr;
  QPixmap picture_;
};

}  // namespace foreshard::gui
