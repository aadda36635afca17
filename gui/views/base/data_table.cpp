#include "gui/views/base/data_table.hpp"

#include <QApplication>
#include <QKeyEvent>
#include <QPainter>
#include <QStandardItemModel>
#include <algorithm>
#include <cmath>

#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

// What a cell of own rows says besides its text: what it is sorted by, its row as it was given, its
// colour role.
constexpr int kOrder = Qt::UserRole, kSource = Qt::UserRole + 1, kInk = Qt::UserRole + 2;
constexpr int kColumnRoom = 12;
constexpr int kWidestColumn = 420;  // names of kernels can be whole C++ signatures
constexpr int kSortRoom = 12;       // for the triangle

void draw_sort_mark(QPainter& painter, QPointF centre, bool is_ascending) {
  const double tip = is_ascending ? -2.5 : 2.5;
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme()[Role::text2]);
  painter.drawPolygon(QPolygonF(
      {centre + QPointF(-3.5, -tip), centre + QPointF(3.5, -tip), centre + QPointF(0, tip)}));
}
// Small grey titles above a hairline, aligned as their columns are, with a triangle beside the one
// that the rows are sorted by.
class TableHeader : public QHeaderView {
 public:
  explicit TableHeader(QWidget* parent = nullptr);

  QSize sizeHint() const override;

 protected:
  void paintSection(QPainter* painter, const QRect& rect, int section) const override;
  QSize sectionSizeFromContents(int section) const override;

 private:
  QString title(int section) const;
};

TableHeader::TableHeader(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) {
  setHighlightSections(false);
  setSectionsClickable(true);
  setResizeContentsPrecision(64);
  setMinimumSectionSize(32);
  connect(&Appearance::instance(), &Appearance::changed, this, [this] {
    updateGeometry();
    viewport()->update();
  });
}

QString TableHeader::title(int section) const {
  return model() == nullptr ? QString() : model()->headerData(section, orientation()).toString();
}

QSize TableHeader::sizeHint() const {
  return {100, scaled(26)};
}

QSize TableHeader::sectionSizeFromContents(int section) const {
  const double width = QFontMetricsF(gui::font(Text::secondary)).horizontalAdvance(title(section));
  return {static_cast<int>(std::ceil(width)) + 2 * kCellMargin +
              (isSortIndicatorShown() ? kSortRoom : 0),
          sizeHint().height()};
}

void TableHeader::paintSection(QPainter* painter, const QRect& rect, int section) const {
  painter->save();
  painter->fillRect(rect, theme()[Role::canvas]);
  painter->setPen(QPen(theme()[Role::line], 0));
  painter->drawLine(rect.bottomLeft(), rect.bottomRight());
  const auto alignment =
      Qt::Alignment(model()->headerData(section, orientation(), Qt::TextAlignmentRole).toInt());
  const bool is_right = alignment & Qt::AlignRight;
  const QRectF box = QRectF(rect).adjusted(kCellMargin, 0, -kCellMargin, 0);
  const bool is_sorted = isSortIndicatorShown() && sortIndicatorSection() == section;
  painter->setFont(gui::font(Text::secondary));
  painter->setPen(theme()[is_sorted ? Role::text2 : Role::text3]);
  painter->drawText(
      box, static_cast<int>((is_right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter),
      title(section));
  if (is_sorted) {
    const double words = QFontMetricsF(painter->font()).horizontalAdvance(title(section)) + 8;
    const double x = is_right ? box.right() - words : box.left() + words;
    draw_sort_mark(*painter, {x, box.center().y()}, sortIndicatorOrder() == Qt::AscendingOrder);
  }
  painter->restore();
}

}  // namespace

DataTable::DataTable(RowHeight rows, QWidget* parent) : QTableView(parent), rows_(rows) {
  setHorizontalHeader(new TableHeader(this));
  setItemDelegate(new NumberDelegate(this));
  setSelectionBehavior(SelectRows);
  setSelectionMode(SingleSelection);
  setEditTriggers(NoEditTriggers);
  setShowGrid(false);
  setWordWrap(false);
  setTabKeyNavigation(false);  // Tab leaves the table
  setVerticalScrollMode(ScrollPerPixel);
  setHorizontalScrollMode(ScrollPerPixel);
  verticalHeader()->hide();
  verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  connect(this, &QTableView::activated, this,
          [this](const QModelIndex& index) { Q_EMIT row_activated(index.row()); });
  connect(&Appearance::instance(), &Appearance::changed, this, &DataTable::set_row_height);
  set_row_height();
}

void DataTable::show_rows(const std::vector<TableColumn>& columns,
                          const std::vector<std::vector<TableCell>>& rows) {
  const auto alignment = [&](std::size_t column) {
    return (columns[column].is_figure ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter;
  };
  if (own_ == nullptr) {
    own_ = new QStandardItemModel(this);
    own_->setSortRole(kOrder);
    setModel(own_);
  }
  own_->setRowCount(0);
  own_->setColumnCount(static_cast<int>(columns.size()));
  for (std::size_t n = 0; n < columns.size(); ++n) {
    auto* head = new QStandardItem(columns[n].title);
    head->setTextAlignment(alignment(n));
    own_->setHorizontalHeaderItem(static_cast<int>(n), head);
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    QList<QStandardItem*> items;
    for (std::size_t n = 0; n < columns.size(); ++n) {
      const TableCell& cell = rows[row][n];
      auto* item = new QStandardItem(cell.text);
      item->setData(cell.order.isValid() ? cell.order : QVariant(cell.text), kOrder);
      item->setData(static_cast<int>(row), kSource);
      item->setData(static_cast<int>(cell.role), kInk);
      item->setTextAlignment(alignment(n));
      item->setToolTip(cell.tooltip.isEmpty() ? cell.text : cell.tooltip);
      items << item;
    }
    own_->appendRow(items);
  }
  if (isSortingEnabled() && horizontalHeader()->sortIndicatorSection() >= 0) {
    own_->sort(horizontalHeader()->sortIndicatorSection(),
               horizontalHeader()->sortIndicatorOrder());
  }
}

int DataTable::source_row(int row) const {
  return own_->index(row, 0).data(kSource).toInt();
}

QString DataTable::as_text() const {
  QStringList lines;
  const auto is_empty = [this](int column) {
    for (int row = 0; row < model()->rowCount(); ++row) {
      if (!model()->index(row, column).data().toString().isEmpty()) return false;
    }
    return true;
  };
  for (int row = -1; model() != nullptr && row < model()->rowCount(); ++row) {
    QStringList cells;
    for (int n = 0; n < model()->columnCount(); ++n) {
      if (is_empty(n)) continue;
      cells << (row < 0 ? model()->headerData(n, Qt::Horizontal) : model()->index(row, n).data())
                   .toString();
    }
    lines << cells.join(QLatin1Char('\t'));
  }
  return lines.join(QLatin1Char('\n'));
}

void DataTable::fit_columns(int stretched) {
  if (model() == nullptr) return;
  stretched_ = stretched;
  resizeColumnsToContents();
  for (int column = 0; column < model()->columnCount(); ++column) {
    setColumnWidth(column, std::min(columnWidth(column) + kColumnRoom, scaled(kWidestColumn)));
  }
  if (stretched >= 0) horizontalHeader()->setSectionResizeMode(stretched, QHeaderView::Stretch);
}

void DataTable::paintEvent(QPaintEvent* event) {
  QTableView::paintEvent(event);
  QPainter painter(viewport());
  ring_current_row(painter);
  if (rows_ == RowHeight::dense || model() == nullptr) return;
  painter.setPen(QPen(theme()[Role::line], 0));
  for (int row = std::max(0, rowAt(0)); row < model()->rowCount(); ++row) {
    const int bottom = rowViewportPosition(row) + rowHeight(row) - 1;
    if (bottom > viewport()->height()) break;
    painter.drawLine(0, bottom, viewport()->width(), bottom);
  }
}

void DataTable::ring_current_row(QPainter& painter) const {
  if (!hasFocus() || !currentIndex().isValid()) return;
  const int row = currentIndex().row();
  painter.setPen(QPen(theme()[Role::focus], 2));
  painter.drawRect(
      QRect(1, rowViewportPosition(row) + 1, viewport()->width() - 2, rowHeight(row) - 2));
}

// A view repaints no more than the cells that changed, but the ring goes around all of a row.
void DataTable::currentChanged(const QModelIndex& now, const QModelIndex& before) {
  QTableView::currentChanged(now, before);
  viewport()->update();
}

void DataTable::keyPressEvent(QKeyEvent* event) {
  const QString text = event->text();
  const bool is_letter = !text.isEmpty() && text.front().isPrint() && !text.front().isSpace();
  if (is_letter) return event->ignore();
  QTableView::keyPressEvent(event);
}

void DataTable::focusInEvent(QFocusEvent* event) {
  QTableView::focusInEvent(event);
  viewport()->update();
}

void DataTable::focusOutEvent(QFocusEvent* event) {
  QTableView::focusOutEvent(event);
  viewport()->update();
}

void DataTable::set_row_height() {
  if (own_ != nullptr) fit_columns(stretched_);
  verticalHeader()->setDefaultSectionSize(scaled(rows_ == RowHeight::dense ? 24 : 36));
}

void NumberDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                           const QModelIndex& index) const {
  QStyleOptionViewItem cell = option;
  initStyleOption(&cell, index);
  const QString text = cell.text;
  cell.text.clear();
  cell.state &= ~QStyle::State_HasFocus;  // the table rings the whole row
  const QStyle* style = cell.widget != nullptr ? cell.widget->style() : QApplication::style();
  style->drawControl(QStyle::CE_ItemViewItem, &cell, painter, cell.widget);

  const QVariant asked = index.data(Qt::TextAlignmentRole);
  const auto alignment = asked.isValid() ? Qt::Alignment(asked.toInt()) : Qt::AlignRight;
  const QRectF box = QRectF(cell.rect).adjusted(kCellMargin, 0, -kCellMargin, 0);
  painter->save();
  painter->setFont(cell.font);
  const QVariant ink = index.data(kInk);
  painter->setPen(ink.isValid() ? theme()[static_cast<Role>(ink.toInt())]
                                : cell.palette.color(QPalette::Text));
  draw_figure(*painter, box, alignment, elided_figure(cell.font, text, box.width()));
  painter->restore();
}

QSize NumberDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QStyleOptionViewItem cell = option;
  initStyleOption(&cell, index);
  const QSize usual = QStyledItemDelegate::sizeHint(option, index);
  const double width = figure_width(cell.font, cell.text) + 2 * kCellMargin;
  return {static_cast<int>(std::ceil(width)), usual.height()};
}

}  // namespace foreshard::gui
