#include "gui/views/inspector/results_panel.hpp"

#include <QHBoxLayout>
#include <QPushButton>
#include <QSignalBlocker>
#include <algorithm>
#include <cmath>
#include <limits>

#include "gui/models/base/units_text.hpp"
#include "gui/views/base/data_table.hpp"
#include "gui/views/base/labels.hpp"
#include "gui/views/inspector/duration_histogram.hpp"
#include "gui/views/inspector/results_model.hpp"

namespace foreshard::gui {
namespace {

constexpr int kHistogramWidth = 320;

bool is_limit(const SearchTerm& term) {
  return term.field == SearchTerm::Field::longer || term.field == SearchTerm::Field::shorter;
}

QString duration_filter(QLatin1Char sign, double ns) {
  return QStringLiteral("dur%1%2ns").arg(sign).arg(std::llround(ns));
}

}  // namespace

ResultsPanel::ResultsPanel(Session& session, Search& search, QWidget* parent)
    : QWidget(parent),
      session_(session),
      search_(search),
      model_(new ResultsModel(this)),
      headline_(new TextLabel(Text::strong, Role::text)),
      filters_(new QHBoxLayout),
      table_(new DataTable),
      durations_(new DurationHistogram) {
  auto* const bar = new QHBoxLayout;
  bar->setContentsMargins(16, 8, 16, 8);
  bar->setSpacing(12);
  bar->addWidget(headline_);
  bar->addLayout(filters_);
  filters_->setSpacing(6);
  bar->addStretch(1);
  auto* const body = new QHBoxLayout;
  body->setSpacing(0);
  body->addWidget(table_, 1);
  durations_->setFixedWidth(kHistogramWidth);
  body->addWidget(durations_);
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addLayout(bar);
  column->addLayout(body, 1);

  table_->setModel(model_);
  table_->setSortingEnabled(true);
  table_->sortByColumn(ResultsModel::kStart, Qt::AscendingOrder);
  table_->setAccessibleName(tr("Search results"));

  connect(&search, &Search::text_changed, this, &ResultsPanel::show_query);
  connect(&search, &Search::result_changed, this, &ResultsPanel::show_result);
  connect(&search, &Search::busy_changed, this, &ResultsPanel::busy_changed);
  connect(model_, &ResultsModel::busy_changed, this, &ResultsPanel::busy_changed);
  connect(&session.selection(), &Selection::event_changed, this, &ResultsPanel::follow_selection);
  connect(durations_, &DurationHistogram::brushed, this, &ResultsPanel::filter_by_brush);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& current) { choose(current.row()); });
  connect(table_, &DataTable::row_activated, this, &ResultsPanel::zoom_asked);
  show_query();
  show_result();
}

bool ResultsPanel::is_busy() const {
  return search_.is_busy() || model_->is_busy();
}

QString ResultsPanel::headline() const {
  if (!search_.is_active()) return tr("Type / to search.");
  if (!search_.query().error.isEmpty()) return search_.query().error;
  const std::size_t found = search_.result()->hits.events().size();
  if (found > 0) return tr("%1 found").arg(count_figure(static_cast<std::int64_t>(found)).number);
  const int filters = static_cast<int>(search_.filters().size());
  if (filters == 0) return tr("No event matches.");
  return filters == 1 ? tr("No event matches. 1 filter is active:")
                      : tr("No event matches. %1 filters are active:").arg(filters);
}

void ResultsPanel::show_query() {
  show_filters();
  headline_->set_text(headline());
  DurationRange limits{0, std::numeric_limits<double>::infinity()};
  for (const SearchTerm& term : search_.query().terms) {
    const auto value = static_cast<double>(term.value);
    if (term.field == SearchTerm::Field::longer)
      limits.shortest_ns = std::max(limits.shortest_ns, value);
    if (term.field == SearchTerm::Field::shorter)
      limits.longest_ns = std::min(limits.longest_ns, value);
  }
  const auto& bins = search_.result()->durations;
  if (!bins.empty()) {
    limits.longest_ns = std::min(limits.longest_ns, static_cast<double>(bins.back().to_ns));
  }
  const bool is_limited =
      std::any_of(search_.query().terms.begin(), search_.query().terms.end(), is_limit);
  durations_->set_brush(is_limited && !bins.empty() ? std::optional(limits) : std::nullopt);
}

void ResultsPanel::show_filters() {
  const QStringList filters = search_.filters();
  while (filters_->count() > static_cast<int>(filters.size())) {
    QLayoutItem* const last = filters_->takeAt(filters_->count() - 1);
    last->widget()->hide();
    last->widget()->deleteLater();
    delete last;
  }
  while (filters_->count() < static_cast<int>(filters.size())) {
    auto* chip = new QPushButton(this);
    chip->setProperty("chip", true);
    chip->setToolTip(tr("Drop this filter"));
    connect(chip, &QPushButton::clicked, this,
            [this, chip] { search_.drop_filter(chip->accessibleName()); });
    filters_->addWidget(chip);
  }
  for (int n = 0; n < filters.size(); ++n) {
    auto* chip = static_cast<QPushButton*>(filters_->itemAt(n)->widget());
    chip->setAccessibleName(filters[n]);
    chip->setText(filters[n] + QStringLiteral("  ×"));
  }
}

void ResultsPanel::show_result() {
  const auto result = search_.result();
  const QSignalBlocker quiet(table_->selectionModel());  // an emptied table selects nothing
  model_->set_events(result->document, result->hits.events());
  durations_->set_bins(result->durations);
  durations_->setVisible(!result->durations.empty());
  show_query();
  table_->fit_columns();
  follow_selection();
}

void ResultsPanel::follow_selection() {
  const auto& selected = session_.selection().event();
  const QSignalBlocker quiet(table_->selectionModel());
  const bool is_there = selected && selected->document == search_.result_document();
  const int row = is_there ? model_->row_of(selected->event) : -1;
  if (row < 0) {
    table_->clearSelection();
  } else {
    table_->selectRow(row);
    table_->scrollTo(model_->index(row, 0));
  }
  table_->viewport()->update();
}

void ResultsPanel::choose(int row) {
  const int document = search_.result_document();
  if (document < 0 || row < 0 || row >= model_->rowCount()) return;
  session_.selection().select(EventId{document, model_->event_at(row)});
}

void ResultsPanel::filter_by_brush() {
  QStringList terms = search_.text().split(QLatin1Char(' '), Qt::SkipEmptyParts);
  for (const SearchTerm& term : search_.query().terms) {
    if (is_limit(term)) terms.removeOne(term.written);
  }
  if (const auto& brush = durations_->brush()) {
    terms << duration_filter(QLatin1Char('>'), brush->shortest_ns - 1)
          << duration_filter(QLatin1Char('<'), brush->longest_ns + 1);
  }
  search_.set_text(terms.join(QLatin1Char(' ')));
}

}  // namespace foreshard::gui
