#include "gui/views/what_if/neighbours_table.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/models/base/units_text.hpp"

namespace foreshard::gui {
namespace {

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

}  // namespace

NeighboursTable::NeighboursTable(QWidget* parent) : DataTable(RowHeight::dense, parent) {
  setAccessibleName(tr("One change away"));
  setMinimumSize(420, 140);
  setSortingEnabled(true);
  show_neighbours();
  horizontalHeader()->setSortIndicator(kTokens, Qt::DescendingOrder);
  connect(this, &DataTable::row_activated, this, &NeighboursTable::apply);
  connect(this, &QTableView::clicked, this, [this](const QModelIndex& index) {
    if (index.column() == kApply) apply(index.row());
  });
}

void NeighboursTable::set_surroundings(std::shared_ptr<const Surroundings> surroundings) {
  is_stale_ = surroundings == nullptr;
  if (!is_stale_) surroundings_ = std::move(surroundings);
  show_neighbours();
}

// Those that do not fit come after those that do where the best come first.
void NeighboursTable::show_neighbours() {
  std::vector<std::vector<TableCell>> rows;
  for (const Neighbour& one :
       surroundings_ ? surroundings_->neighbours : std::vector<Neighbour>()) {
    const bool fits = one.candidate.fits;
    const auto tokens = fits ? one.more_tokens : -1e9;
    const auto reserved = fits ? static_cast<double>(one.more_reserved) : 1e18;
    rows.push_back({{one.text,
                     is_stale_ ? Role::text3 : Role::text,
                     {},
                     one.note.isEmpty() ? one.text : one.text + QStringLiteral(": ") + one.note},
                    {fits ? tokens_text(tokens) : QString(),
                     role_of(std::round(one.more_tokens * 1000)), tokens},
                    {fits ? reserved_text(one.more_reserved) : tr("does not fit"),
                     fits ? role_of(-reserved) : Role::error, reserved},
                    {fits ? tr("Apply") : QString(), is_stale_ ? Role::text3 : Role::focus}});
  }
  show_rows({{tr("change")}, {tr("tokens/s"), true}, {tr("reserved"), true}, {QString(), true}},
            rows);
  fit_columns(kChange);
  setCurrentIndex(model()->index(0, 0));
}

void NeighboursTable::apply(int row) {
  if (is_stale_ || row < 0) return;
  const int place = source_row(row);
  const Candidate& wanted = surroundings_->neighbours[static_cast<std::size_t>(place)].candidate;
  if (wanted.fits) Q_EMIT applied(Changes(wanted.changes));
}

}  // namespace foreshard::gui
