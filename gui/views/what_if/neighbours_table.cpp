#include "gui/views/what_if/neighbours_table.hpp"

#include <QHeaderView>
#include <QStandardItemModel>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

constexpr int kOrder = Qt::UserRole, kPlace = Qt::UserRole + 1;  // among the neighbours

QString tokens_text(double more) {
  const double percent = std::round(more * 1000) / 10;
  const QString text = QString::number(std::abs(percent), 'f', 1) + QStringLiteral(" %");
  return percent == 0 ? text : (percent < 0 ? QString(QChar(0x2212)) : QStringLiteral("+")) + text;
}

QString reserved_text(std::int64_t more) {
  if (more == 0) return QStringLiteral("0");
  return signed_text(bytes_figure(std::abs(more)), more < 0);
}

Role role_of(double gain) {
  return gain > 0 ? Role::ok : gain < 0 ? Role::text : Role::text3;
}

QStandardItem* cell(const QString& text, const QVariant& order, Role role,
                    Qt::Alignment alignment) {
  auto* item = new QStandardItem(text);
  item->setData(order, kOrder);
  item->setForeground(theme()[role]);
  item->setTextAlignment(alignment | Qt::AlignVCenter);
  return item;
}

}  // namespace

NeighboursTable::NeighboursTable(QWidget* parent)
    : DataTable(RowHeight::dense, parent), rows_(new QStandardItemModel(0, kColumns, this)) {
  setAccessibleName(tr("One change away"));
  setMinimumSize(420, 140);
  rows_->setSortRole(kOrder);
  rows_->setHorizontalHeaderLabels({tr("change"), tr("tokens/s"), tr("reserved"), QString()});
  for (const int column : {kTokens, kReserved}) {
    rows_->horizontalHeaderItem(column)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
  }
  setModel(rows_);
  setSortingEnabled(true);
  sortByColumn(kTokens, Qt::DescendingOrder);
  connect(this, &DataTable::row_activated, this, &NeighboursTable::apply);
  connect(this, &QTableView::clicked, this, [this](const QModelIndex& index) {
    if (index.column() == kApply) apply(index.row());
  });
  connect(&Appearance::instance(), &Appearance::changed, this, &NeighboursTable::show_neighbours);
}

void NeighboursTable::set_surroundings(std::shared_ptr<const Surroundings> surroundings) {
  is_stale_ = surroundings == nullptr;
  if (!is_stale_) surroundings_ = std::move(surroundings);
  show_neighbours();
}

// Those that do not fit come after those that do where the best come first.
void NeighboursTable::show_neighbours() {
  rows_->setRowCount(0);
  if (surroundings_ == nullptr) return;
  const auto& all = surroundings_->neighbours;
  for (std::size_t n = 0; n < all.size(); ++n) {
    const Neighbour& one = all[n];
    const bool fits = one.candidate.fits;
    const auto tokens = fits ? one.more_tokens : -1e9;
    const auto reserved = fits ? static_cast<double>(one.more_reserved) : 1e18;
    QList<QStandardItem*> cells{
        cell(one.text, one.text, is_stale_ ? Role::text3 : Role::text, Qt::AlignLeft),
        cell(fits ? tokens_text(tokens) : QString(), tokens,
             role_of(std::round(one.more_tokens * 1000)), Qt::AlignRight),
        cell(fits ? reserved_text(one.more_reserved) : tr("does not fit"), reserved,
             fits ? role_of(-reserved) : Role::error, Qt::AlignRight),
        cell(fits ? tr("Apply") : QString(), {}, is_stale_ ? Role::text3 : Role::focus,
             Qt::AlignRight)};
    cells.front()->setData(static_cast<int>(n), kPlace);
    cells.front()->setToolTip(one.note.isEmpty() ? one.text
                                                 : one.text + QStringLiteral(": ") + one.note);
    rows_->appendRow(cells);
  }
  rows_->sort(horizontalHeader()->sortIndicatorSection(), horizontalHeader()->sortIndicatorOrder());
  fit_columns(kChange);
  setCurrentIndex(rows_->index(0, 0));
}

void NeighboursTable::apply(int row) {
  if (is_stale_ || row < 0) return;
  const int place = rows_->index(row, kChange).data(kPlace).toInt();
  const Candidate& wanted = surroundings_->neighbours[static_cast<std::size_t>(place)].candidate;
  if (wanted.fits) Q_EMIT applied(Changes(wanted.changes));
}

}  // namespace foreshard::gui
