// The header of a table: small grey titles above a hairline, aligned as their columns are, with a
// triangle beside the one that the rows are sorted by.
#pragma once

#include <QHeaderView>

namespace foreshard::gui {

constexpr int kCellMargin = 8;  // left and right of what stands in a cell, and in its header

class TableHeader : public QHeaderView {
  Q_OBJECT
 public:
  explicit TableHeader(QWidget* parent = nullptr);

  QSize sizeHint() const override;

 protected:
  void paintSection(QPainter* painter, const QRect& rect, int section) const override;
  QSize sectionSizeFromContents(int section) const override;

 private:
  QString title(int section) const;
};

}  // namespace foreshard::gui
