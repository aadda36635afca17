// Painted views for assistive technology: a canvas that derives from AccessibleCanvas beside its
// widget is a table to it, of which each row is an item, and after the rows the selection, whose
// text is that of its card.
#pragma once

#include <QRectF>
#include <QString>
#include <optional>

class QWidget;

namespace foreshard::gui {

struct AccessibleItem {
  QString text;
  QRectF box;  // in the widget's coordinates; of a scroll area in its viewport's
};

class AccessibleCanvas {
 public:
  AccessibleCanvas();
  virtual ~AccessibleCanvas() = default;

  virtual int accessible_rows() const = 0;
  virtual AccessibleItem accessible_row(int row) const = 0;
  virtual std::optional<AccessibleItem> accessible_selection() const = 0;
};

// Tells that another item is selected now.
void announce_selection(QWidget* canvas);

}  // namespace foreshard::gui
