#include "gui/views/memory/changes_panel.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/theme.hpp"

namespace foreshard::gui {
namespace {

enum Column : int { kChange, kReserved, kDifference, kFits, kStepTime, kHow, kColumns };

std::vector<TableCell> row_of(const MemoryChange& change, const MemoryChange& present) {
  const std::int64_t more = change.peak_reserved - present.peak_reserved;
  const QString same = QStringLiteral("–");
  return {
      {change.change},
      {bytes_figure(change.peak_reserved).text()},
      {more == 0 ? same : signed_text(bytes_figure(std::abs(more)), more < 0)},
      {!change.fits   ? QString()
       : *change.fits ? ChangesPanel::tr("yes")
                      : ChangesPanel::tr("no")},
      {change.step_time_ns ? time_figure(static_cast<double>(*change.step_time_ns)).text() : same},
      {change.how}};
}

}  // namespace

ChangesPanel::ChangesPanel(QWidget* parent)
    : QWidget(parent),
      title_(new TextLabel(Text::strong, Role::text)),
      note_(new TextLabel(Text::secondary, Role::text2)),
      close_(new QPushButton(tr("Show blocks"))),
      table_(new DataTable),
      plot_(new BytePlot(tr("Over its requests"), tr("reserved"), BytePlot::Along::events,
                         {320, 120})),
      finding_(
          this, [this](MemoryChanges changes) { show_changes(std::move(changes)); },
          [this] { Q_EMIT busy_changed(); }),
      replaying_(
          this, [this](const Curves& curves) { show_curves(curves); },
          [this] { Q_EMIT busy_changed(); }) {
  setAccessibleName(tr("What would lower the memory"));
  table_->setAccessibleName(tr("Changes"));
  table_->show_rows({}, {});
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
  table_->show_rows({}, {});
  plot_->hide();
  note_->set_text({});
}

void ChangesPanel::show_changes(MemoryChanges changes) {
  changes_ = std::move(changes);
  table_->show_rows({}, {});
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
  std::vector<std::vector<TableCell>> rows{row_of(changes_.present, changes_.present)};
  for (const MemoryChange& change : changes_.changes) {
    rows.push_back(row_of(change, changes_.present));
  }
  table_->show_rows({{tr("Change")},
                     {tr("Reserved"), true},
                     {tr("Difference"), true},
                     {tr("Fits")},
                     {tr("Step time"), true},
                     {tr("How")}},
                    rows);
  table_->setColumnHidden(kStepTime, !changes_.present.step_time_ns);
  table_->setColumnHidden(kHow, !are_replays);
  table_->setColumnHidden(kFits, !changes_.present.fits);
  plot_->setVisible(are_replays);
  table_->fit_columns(are_replays ? kHow : kChange);
  if (rows.size() > 1) table_->selectRow(1);
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

void ChangesPanel::show_curves(const Curves& curves) {
  const auto of = [&](const ReservedSteps& steps, const QString& badge, const StepPen& pen) {
    const auto events = static_cast<std::int64_t>(changes_.history->events.size());
    ByteCurve curve{badge, {}, std::max<std::int64_t>(events, 1), pen};
    for (const auto& [event, bytes] : steps) {
      curve.points.emplace_back(static_cast<std::int64_t>(event), bytes);
    }
    return curve;
  };
  const auto& capacity = changes_.history->capacity;
  std::vector<ByteLevel> levels;
  if (capacity) {
    levels.push_back({tr("capacity: %1").arg(bytes_figure(*capacity).text()), *capacity, true});
  }
  plot_->show_curves({of(curves.after, tr("after the change"), {theme()[Role::ink], 2, 4, 3}),
                      of(curves.before, tr("before"), {theme()[Role::text3], 1.6})},
                     std::move(levels));
}

}  // namespace foreshard::gui
