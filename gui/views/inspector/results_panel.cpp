#include "gui/views/inspector/results_panel.hpp"

#include <QHBoxLayout>
#include <QSignalBlocker>
#include <algorithm>

#include "gui/models/base/units_text.hpp"
#include "gui/views/base/data_table.hpp"
#include "gui/views/base/text_label.hpp"
#include "gui/views/inspector/duration_histogram.hpp"
#include "gui/views/inspector/filter_chips.hpp"
#include "gui/views/inspector/results_model.hpp"

namespace foreshard::gui {
namespace {

constexpr int kHistogramWidth = 320;

// As a filter is typed: whole nanoseconds, so that bars at the brush's ends are kept.
QString duration_filter(QLatin1Char sign, double ns) {
  return QStringLiteral("dur%1%2ns").arg(sign).arg(std::llround(ns));
}

QString without_durations(QString text) {
  const QStringList filters = parse_query(text).filters;
  for (int n = static_cast<int>(filters.size()) - 1; n >= 0; --n) {
    if (filters[n].startsWith(QLatin1String("dur"), Qt::CaseInsensitive))
      text = without_filter(text, n);
  }
  return text;
}

}  // namespace

ResultsPanel::ResultsPanel(Session& session, Search& search, QWidget* parent)
    : QWidget(parent),
      session_(session),
      search_(search),
      model_(new ResultsModel(this)),
      headline_(new TextLabel(Text::strong, Role::text)),
      filters_(new FilterChips),
      table_(new DataTable),
      durations_(new DurationHistogram) {
  auto* const bar = new QHBoxLayout;
  bar->setContentsMargins(16, 8, 16, 8);
  bar->setSpacing(12);
  bar->addWidget(headline_);
  bar->addWidget(filters_);
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
  connect(&search, &Search::hits_changed, this, &ResultsPanel::show_hits);
  connect(&search, &Search::busy_changed, this, &ResultsPanel::busy_changed);
  connect(model_, &ResultsModel::busy_changed, this, &ResultsPanel::busy_changed);
  connect(&session.selection(), &Selection::event_changed, this, &ResultsPanel::follow_selection);
  connect(filters_, &FilterChips::dropped, this,
          [this](int n) { search_.set_text(without_filter(search_.text(), n)); });
  connect(durations_, &DurationHistogram::brushed, this, &ResultsPanel::filter_by_brush);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& current) { choose(current.row()); });
  connect(table_, &DataTable::row_activated, this, &ResultsPanel::zoom_asked);
  show_query();
  show_hits();
}

bool ResultsPanel::is_busy() const {
  return search_.is_busy() || model_->is_busy();
}

QString ResultsPanel::headline() const {
  const EventQuery& query = search_.query();
  if (!search_.is_active()) return tr("Type / to search.");
  if (!query.unreadable.isEmpty())
    return tr("Cannot be read: %1").arg(query.unreadable.join(QLatin1Char(' ')));
  const std::size_t found = search_.hits()->events.size();
  if (found > 0) return tr("%1 found").arg(count_figure(static_cast<std::int64_t>(found)).number);
  const int filters = static_cast<int>(query.filters.size());
  if (filters == 0) return tr("No event matches.");
  return filters == 1 ? tr("No event matches. 1 filter is active:")
                      : tr("No event matches. %1 filters are active:").arg(filters);
}

void ResultsPanel::show_query() {
  const EventQuery& query = search_.query();
  filters_->set_filters(query.filters);
  headline_->set_text(headline());
  std::optional<DurationRange> brush;
  if (query.above_ns >= 0 || query.below_ns < std::numeric_limits<std::int64_t>::max()) {
    const Histogram& all = search_.hits()->durations;
    brush = DurationRange{std::max(all.shortest_ns, static_cast<double>(query.above_ns)),
                          std::min(all.longest_ns, static_cast<double>(query.below_ns))};
  }
  durations_->set_brush(brush);
}

void ResultsPanel::show_hits() {
  const auto hits = search_.hits();
  const QSignalBlocker quiet(table_->selectionModel());  // an emptied table selects nothing
  model_->set_events(hits->document, hits->events, session_.everything().start_ns);
  durations_->set_histogram(hits->durations);
  show_query();
  table_->fit_columns();
  durations_->setVisible(!hits->durations.counts.empty());
  follow_selection();
}

void ResultsPanel::follow_selection() {
  const auto& selected = session_.selection().event();
  const QSignalBlocker quiet(table_->selectionModel());
  const int row = selected && search_.hits()->document == session_.current()
                      ? model_->row_of(selected->event)
                      : -1;
  if (row < 0) {
    table_->clearSelection();
  } else {
    table_->selectRow(row);
    table_->scrollTo(model_->index(row, 0));
  }
  table_->viewport()->update();
}

void ResultsPanel::choose(int row) {
  if (row < 0 || row >= model_->rowCount()) return;
  const auto& documents = session_.documents();
  const auto place = std::find(documents.begin(), documents.end(), search_.hits()->document);
  if (place == documents.end()) return;
  session_.selection().select(
      EventId{static_cast<int>(place - documents.begin()), model_->event_at(row)});
}

void ResultsPanel::filter_by_brush() {
  QString text = without_durations(search_.text());
  if (const auto& brush = durations_->brush()) {
    text = with_filter(text, duration_filter(QLatin1Char('>'), std::floor(brush->shortest_ns) - 1));
    text = with_filter(text, duration_filter(QLatin1Char('<'), std::ceil(brush->longest_ns) + 1));
  }
  search_.set_text(text);
}

}  // namespace foreshard::gui
