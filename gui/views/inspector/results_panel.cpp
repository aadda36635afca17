#include "gui/views/inspector/results_panel.hpp"

#include <QHBoxLayout>
#include <QPushButton>
#include <QSignalBlocker>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/models/timeline/card.hpp"
#include "gui/views/base/data_table.hpp"
#include "gui/views/base/labels.hpp"
#include "gui/views/inspector/duration_histogram.hpp"

namespace foreshard::gui {
namespace {

using traces::Event;

std::int64_t duration_of(const Event& event) {
  return event.end_ns - event.start_ns;
}

// Places of the texts in the order of the alphabet, so that events compare by a number.
std::vector<std::int64_t> alphabetical_places(const traces::Strings& strings) {
  std::vector<traces::StringId> ids(strings.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::sort(ids.begin(), ids.end(),
            [&](traces::StringId a, traces::StringId b) { return strings[a] < strings[b]; });
  std::vector<std::int64_t> places(ids.size());
  for (std::size_t n = 0; n < ids.size(); ++n) {
    places[static_cast<std::size_t>(ids[n])] = static_cast<std::int64_t>(n);
  }
  return places;
}

std::int64_t sort_key(const traces::Trace& trace, const std::vector<std::int64_t>& places,
                      const Event& event, int column) {
  const auto place = [&](traces::StringId id) { return places[static_cast<std::size_t>(id)]; };
  switch (column) {
    case ResultsModel::kName: return place(event.name);
    case ResultsModel::kUnit: return place(event.unit);
    case ResultsModel::kPhase: return place(event.phase);
    case ResultsModel::kRank: return trace.lanes[static_cast<std::size_t>(event.lane)].rank;
    case ResultsModel::kDuration: return duration_of(event);
    default: return event.start_ns;
  }
}

constexpr int kHistogramWidth = 320;

bool is_limit(const SearchTerm& term) {
  return term.field == SearchTerm::Field::longer || term.field == SearchTerm::Field::shorter;
}

QString duration_filter(QLatin1Char sign, double ns) {
  return QStringLiteral("dur%1%2ns").arg(sign).arg(std::llround(ns));
}

}  // namespace

std::vector<std::int32_t> ordered_events(const traces::Trace& trace,
                                         std::vector<std::int32_t> events, int column,
                                         Qt::SortOrder order) {
  const bool is_text = column <= ResultsModel::kPhase;
  const std::vector<std::int64_t> places =
      is_text ? alphabetical_places(trace.strings) : std::vector<std::int64_t>();
  std::vector<std::pair<std::int64_t, std::int32_t>> keyed;
  keyed.reserve(events.size());
  for (const std::int32_t event : events) {
    keyed.emplace_back(
        sort_key(trace, places, trace.events[static_cast<std::size_t>(event)], column), event);
  }
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return order == Qt::AscendingOrder ? a.first < b.first : a.first > b.first;
  });
  std::transform(keyed.begin(), keyed.end(), events.begin(),
                 [](const auto& one) { return one.second; });
  return events;
}

ResultsModel::ResultsModel(QObject* parent)
    : QAbstractTableModel(parent),
      newest_(
          this, [this](std::vector<std::int32_t> events) { show_order(std::move(events)); },
          [this] { Q_EMIT busy_changed(); }) {}

void ResultsModel::set_events(DocumentPtr document, std::vector<std::int32_t> events) {
  beginResetModel();
  document_ = std::move(document);
  events_ = std::move(events);
  endResetModel();
  newest_.forget();
  if (document_ && (sorted_by_ != kStart || order_ != Qt::AscendingOrder)) sort(sorted_by_, order_);
}

int ResultsModel::row_of(std::int32_t event) const {
  const auto found = std::find(events_.begin(), events_.end(), event);
  return found == events_.end() ? -1 : static_cast<int>(found - events_.begin());
}

int ResultsModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(events_.size());
}

int ResultsModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QString ResultsModel::text(const Event& event, int column) const {
  const traces::Trace& trace = *document_->trace;
  switch (column) {
    case kName: return QString::fromStdString(trace.strings[event.name]);
    case kUnit: return QString::fromStdString(trace.strings[event.unit]);
    case kPhase: return QString::fromStdString(trace.strings[event.phase]);
    case kRank: return QString::number(trace.lanes[static_cast<std::size_t>(event.lane)].rank);
    case kStart: {
      const auto from_step = static_cast<double>(event.start_ns - origin_of(trace, event));
      const QString start = time_figure(from_step).text();
      return event.step <= 0 ? start : QStringLiteral("%1 \u00b7 %2").arg(event.step).arg(start);
    }
    default: return time_figure(static_cast<double>(duration_of(event))).text();
  }
}

QVariant ResultsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const int column = index.column();
  if (role == Qt::TextAlignmentRole) {
    return static_cast<int>((column >= kRank ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  return text(document_->trace->events[static_cast<std::size_t>(event_at(index.row()))], column);
}

QVariant ResultsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole) {
    return static_cast<int>((section >= kRank ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  }
  if (role != Qt::DisplayRole) return {};
  const QString titles[kColumns] = {
      tr("name"), tr("unit"), tr("phase"), tr("rank"), tr("step \u00b7 start"), tr("duration")};
  return titles[section];
}

void ResultsModel::sort(int column, Qt::SortOrder order) {
  sorted_by_ = column;
  order_ = order;
  if (!document_) return;
  newest_.request([document = document_, events = events_, column, order] {
    return ordered_events(*document->trace, events, column, order);
  });
}

void ResultsModel::show_order(std::vector<std::int32_t> events) {
  Q_EMIT layoutAboutToBeChanged();
  std::vector<std::int32_t> kept;
  const QModelIndexList before = persistentIndexList();
  for (const QModelIndex& index : before) kept.push_back(event_at(index.row()));
  events_ = std::move(events);
  for (qsizetype n = 0; n < before.size(); ++n) {
    const int row = row_of(kept[static_cast<std::size_t>(n)]);
    changePersistentIndex(before[n], index(row, before[n].column()));
  }
  Q_EMIT layoutChanged();
}

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
