#include "gui/views/memory/changes_panel.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QVBoxLayout>

#include "gui/models/base/units_text.hpp"

namespace foreshard::gui {
namespace {

enum Column : int { kChange, kReserved, kDifference, kFits, kStepTime, kHow, kColumns };

QStandardItem* item(const QString& text, bool is_figure = false) {
  auto* cell = new QStandardItem(text);
  cell->setEditable(false);
  cell->setToolTip(text);
  cell->setTextAlignment((is_figure ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return cell;
}

}  // namespace

ChangesPanel::ChangesPanel(QWidget* parent)
    : QWidget(parent),
      title_(new TextLabel(Text::strong, Role::text)),
      note_(new TextLabel(Text::secondary, Role::text2)),
      close_(new QPushButton(tr("Show blocks"))),
      model_(new QStandardItemModel(this)),
      table_(new DataTable),
      plot_(new ReservedPlot),
      finding_(
          this, [this](MemoryChanges changes) { show_changes(std::move(changes)); },
          [this] { Q_EMIT busy_changed(); }),
      replaying_(
          this,
          [this](Curves curves) {
            plot_->show_steps(std::move(curves.before), std::move(curves.after),
                              changes_.history->events.size(), changes_.history->capacity);
          },
          [this] { Q_EMIT busy_changed(); }) {
  setAccessibleName(tr("What would lower the memory"));
  table_->setAccessibleName(tr("Changes"));
  table_->setModel(model_);
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::Base);
  title_->set_text(tr("What would lower it?"));
  auto* top = new QHBoxLayout;
  top->addWidget(title_);
  top->addWidget(note_, 1);
  top->addWidget(close_);
  auto* both = new QHBoxLayout;
  both->setSpacing(16);
  both->addWidget(table_, 3);
  both->addWidget(plot_, 2);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(16, 6, 16, 8);
  column->addLayout(top);
  column->addLayout(both, 1);
  connect(close_, &QPushButton::clicked, this, &ChangesPanel::closed);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& now) { show_curves_of(now.row()); });
}

void ChangesPanel::ask(ChangesQuestion question) {
  forget();
  is_asked_ = true;
  note_->set_text(tr("Predicting each change by itself ..."));
  finding_.request([question = std::move(question)] { return find_changes(question); });
}

void ChangesPanel::forget() {
  finding_.forget();
  replaying_.forget();
  is_asked_ = false;
  changes_ = MemoryChanges();
  model_->clear();
  plot_->hide();
  note_->set_text({});
}

void ChangesPanel::show_changes(MemoryChanges changes) {
  changes_ = std::move(changes);
  model_->clear();
  Q_EMIT found();
  if (!changes_.trouble.isEmpty()) {
    note_->set_text(changes_.trouble);
    return;
  }
  const bool are_replays = changes_.history != nullptr;
  note_->set_text(changes_.changes.empty() ? tr("No single change that was tried saves memory.")
                  : are_replays
                      ? tr("The same requests, replayed under other settings of the allocator.")
                      : tr("Each a change of the plan by itself, predicted."));
  model_->setHorizontalHeaderLabels(
      {tr("Change"), tr("Reserved"), tr("Difference"), tr("Fits"), tr("Step time"), tr("How")});
  for (const int column : {kChange, kFits, kHow}) {
    model_->horizontalHeaderItem(column)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  }
  add_row(changes_.present);
  for (const MemoryChange& change : changes_.changes) add_row(change);
  table_->setColumnHidden(kStepTime, !changes_.present.step_time_ns);
  table_->setColumnHidden(kHow, !are_replays);
  table_->setColumnHidden(kFits, !changes_.present.fits);
  plot_->setVisible(are_replays);
  table_->fit_columns(are_replays ? kHow : kChange);
  if (model_->rowCount() > 1) table_->selectRow(1);
}

void ChangesPanel::add_row(const MemoryChange& change) {
  const std::int64_t more = change.peak_reserved - changes_.present.peak_reserved;
  QList<QStandardItem*> row(kColumns);
  row[kChange] = item(change.change);
  row[kReserved] = item(bytes_figure(change.peak_reserved).text(), true);
  row[kDifference] = item(
      more == 0 ? QStringLiteral("–") : signed_text(bytes_figure(std::abs(more)), more < 0), true);
  row[kFits] = item(!change.fits ? QString() : *change.fits ? tr("yes") : tr("no"));
  row[kStepTime] =
      item(change.step_time_ns ? time_figure(static_cast<double>(*change.step_time_ns)).text()
                               : QStringLiteral("–"),
           true);
  row[kHow] = item(change.how);
  model_->appendRow(row);
}

void ChangesPanel::show_curves_of(int row) {
  if (changes_.history == nullptr || row < 1) return;
  const MemoryChange& change = changes_.changes[static_cast<std::size_t>(row) - 1];
  plot_->setVisible(!change.settings.empty());
  if (change.settings.empty()) return;
  replaying_.request([history = changes_.history, settings = change.settings] {
    return Curves{replayed_reserved(*history, ""), replayed_reserved(*history, settings)};
  });
}

}  // namespace foreshard::gui
