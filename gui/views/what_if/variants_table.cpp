#include "gui/views/what_if/variants_table.hpp"

#include <QKeyEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/models/what_if/outcome_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/pill.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kBarRoom = 84, kLeastForName = 140;  // at the usual size of text

// The badge of a variant, and the bar of what it has reserved of its device.
class VariantDelegate : public QStyledItemDelegate {
 public:
  explicit VariantDelegate(VariantsTable& table) : QStyledItemDelegate(&table), table_(table) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    QStyleOptionViewItem cell = option;
    cell.state &= ~QStyle::State_HasFocus;
    table_.style()->drawPrimitive(QStyle::PE_PanelItemViewItem, &cell, painter, &table_);
    const Variant& variant = table_.variant(index.row());
    const QPointF middle = QRectF(option.rect).center();
    if (index.column() == VariantsTable::kBadge) {
      draw_badge(*painter, {8 + badge_width(variant.letter) / 2, middle.y()}, variant.letter,
                 pen_of(variant).colour);
    } else {
      paint_bar(*painter, *variant.outcome,
                QRectF(option.rect.left(), middle.y() - 4, option.rect.width() - kCellMargin, 8));
    }
  }

 private:
  static void paint_bar(QPainter& painter, const Outcome& outcome, const QRectF& bar) {
    const auto most = static_cast<double>(outcome.capacity.value_or(outcome.reserved));
    const double share = most > 0 ? std::min(1.0, static_cast<double>(outcome.reserved) / most) : 0;
    const Role role = !outcome.fits             ? Role::error
                      : fits_only_just(outcome) ? Role::warn
                                                : Role::text3;
    painter.fillRect(bar, theme()[Role::hover]);
    painter.fillRect(QRectF(bar.left(), bar.top(), bar.width() * share, 8), theme()[role]);
    if (outcome.capacity) {
      painter.fillRect(QRectF(bar.right(), bar.top() - 4, 1, 16), theme()[Role::error]);
    }
  }

  VariantsTable& table_;
};

}  // namespace

VariantsTable::VariantsTable(QWidget* parent) : DataTable(RowHeight::roomy, parent) {
  setAccessibleName(tr("Variants"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  for (const int column : {kBadge, kBar}) {
    setItemDelegateForColumn(column, new VariantDelegate(*this));
  }
}

void VariantsTable::set_variants(std::vector<Variant> variants) {
  if (variants.size() != variants_.size()) updateGeometry();
  const int before = std::max(0, currentIndex().row());
  variants_ = std::move(variants);
  const QString nothing(QChar(0x2013));
  std::vector<std::vector<TableCell>> rows;
  for (const Variant& one : variants_) {
    const Outcome& outcome = *one.outcome;
    const bool has_time = outcome.step_ns > 0;
    rows.push_back({{one.letter},
                    {one.name},
                    {has_time ? count_figure(std::llround(outcome.tokens_per_s)).number : nothing},
                    {has_time ? time_figure(outcome.step_ns).text() : nothing, Role::text2},
                    {has_time ? percent_text(outcome.mfu) : nothing, Role::text2},
                    {bytes_figure(outcome.allocated).text(), Role::text2},
                    {outcome.fits ? bytes_figure(outcome.reserved).text() : tr("does not fit"),
                     outcome.fits ? Role::text : Role::error,
                     {},
                     bytes_figure(outcome.reserved).text()},
                    {}});
  }
  show_rows({{QString()},
             {tr("variant")},
             {tr("tokens/s"), true},
             {tr("step"), true},
             {tr("MFU"), true},
             {tr("allocated"), true},
             {tr("reserved"), true},
             {QString()}},
            rows);
  choose_columns();
  if (!rows.empty()) selectRow(std::min(before, static_cast<int>(rows.size()) - 1));
}

QSize VariantsTable::sizeHint() const {
  const int rows = std::max(1, static_cast<int>(variants_.size()));
  return {scaled(620), horizontalHeader()->sizeHint().height() +
                           rows * verticalHeader()->defaultSectionSize() + 2};
}

void VariantsTable::choose_columns() {
  for (int column = 0; column < kColumns; ++column) setColumnHidden(column, false);
  fit_columns(kName);
  double badge = 0, name = 0, room = viewport()->width();
  for (const Variant& one : variants_) {
    badge = std::max(badge, badge_width(one.letter));
    name = std::max(name, figure_width(gui::font(Text::body), one.name) + 2 * kCellMargin);
  }
  setColumnWidth(kBadge, static_cast<int>(badge) + 2 * kCellMargin);
  for (int column = 0; column < kColumns; ++column) {
    if (column != kName && column != kBar) room -= columnWidth(column);
  }
  for (const int column : {kAllocated, kMfu, kStep, kTokens}) {
    if (room >= std::min(name, static_cast<double>(scaled(kLeastForName)))) break;
    room += columnWidth(column);
    setColumnHidden(column, true);
  }
  const int bar = scaled(kBarRoom);
  const double left = room - name;
  setColumnWidth(kBar, left >= bar ? bar : left >= bar / 2.0 ? bar / 2 : 0);
  setColumnHidden(kBar, left < bar / 2.0);
}

QString VariantsTable::shown_name(int row) const {
  return elided_figure(gui::font(Text::body), variant(row).name,
                       columnWidth(kName) - 2 * kCellMargin);
}

void VariantsTable::resizeEvent(QResizeEvent* event) {
  DataTable::resizeEvent(event);
  if (!variants_.empty()) choose_columns();
}

void VariantsTable::keyPressEvent(QKeyEvent* event) {
  if (event->key() != Qt::Key_Delete || !currentIndex().isValid()) {
    return DataTable::keyPressEvent(event);
  }
  const int place = variant(currentIndex().row()).place;
  if (place > 0) Q_EMIT dropped(static_cast<std::size_t>(place - 1));
}

}  // namespace foreshard::gui
