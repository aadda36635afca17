#include "gui/views/inspector/results_model.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/models/timeline/card.hpp"

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

}  // namespace foreshard::gui
