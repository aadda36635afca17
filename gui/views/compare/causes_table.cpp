#include "gui/views/compare/causes_table.hpp"

#include <QHeaderView>
#include <QPainter>
#include <QStyle>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "gui/models/base/cost_words.hpp"
#include "gui/models/base/units_text.hpp"
#include "gui/paint/figures.hpp"
#include "gui/paint/fonts.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/number_delegate.hpp"

namespace foreshard::gui {
namespace {

QString milliseconds(std::int64_t ns) {
  QString text = QString::number(static_cast<double>(std::abs(ns)) / 1e6, 'f', 1);
  return ns < 0 ? QChar(0x2212) + text : text;
}

QString count_text(double count) {
  return count == std::floor(count) ? count_figure(std::llround(count)).number
                                    : QString::number(count, 'f', 1);
}

constexpr double kBeside = 6;  // of the line that bars begin at
constexpr int kLeastDifference = 170;

// A bar to the right of the middle where the candidate takes longer, else to the left.
class DifferenceDelegate : public NumberDelegate {
 public:
  DifferenceDelegate(const CausesModel& model, QObject* parent)
      : NumberDelegate(parent), model_(model) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    QStyleOptionViewItem ground = option;
    ground.index = index;
    option.widget->style()->drawPrimitive(QStyle::PE_PanelItemViewItem, &ground, painter,
                                          option.widget);
    painter->save();
    painter->setClipRect(option.rect);
    const std::int64_t difference = model_.cause(index.row()).difference_ns();
    const QString text =
        (difference > 0 ? QStringLiteral("+") : QString()) + milliseconds(difference);
    painter->setFont(gui::font(Text::body));
    const double text_width = figure_width(painter->font(), QStringLiteral("+0000.0")) + 8;
    const QRectF box(option.rect);
    const CausesModel::Reach reach = model_.reach();
    const double left_room = reach.shorter_ns > 0 ? text_width : kBeside;
    const double right_room = reach.longer_ns > 0 ? text_width : kBeside;
    const double scale = std::max(box.width() - left_room - right_room, 1.0) /
                         static_cast<double>(reach.shorter_ns + reach.longer_ns + 1);
    const double middle =
        std::round(box.left() + left_room + scale * static_cast<double>(reach.shorter_ns));
    const double length = std::max(1.0, scale * static_cast<double>(std::abs(difference)));
    painter->fillRect(QRectF(middle, box.top(), 1, box.height()), theme()[Role::strong_line]);
    const QRectF bar(difference > 0 ? middle + 1 : middle - length, box.center().y() - 5, length,
                     10);
    if (difference != 0) painter->fillRect(bar, theme()[difference > 0 ? Role::warn : Role::focus]);
    painter->setPen(theme()[Role::text]);
    if (difference >= 0) {
      draw_figure(*painter, QRectF(bar.right() + 6, box.top(), text_width, box.height()),
                  Qt::AlignLeft, text);
    } else {
      draw_figure(*painter,
                  QRectF(bar.left() - 6 - text_width, box.top(), text_width, box.height()),
                  Qt::AlignRight, text);
    }
    painter->restore();
  }

 private:
  const CausesModel& model_;
};

}  // namespace

void CausesModel::set_comparison(std::shared_ptr<const TraceComparison> comparison) {
  beginResetModel();
  comparison_ = std::move(comparison);
  endResetModel();
}

CausesModel::Reach CausesModel::reach() const {
  Reach reach;
  if (!comparison_) return reach;
  for (const Cause& cause : comparison_->causes) {
    reach.shorter_ns = std::max(reach.shorter_ns, -cause.difference_ns());
    reach.longer_ns = std::max(reach.longer_ns, cause.difference_ns());
  }
  return reach;
}

bool CausesModel::has_costs() const {
  return comparison_ && std::any_of(comparison_->causes.begin(), comparison_->causes.end(),
                                    [](const Cause& cause) { return !cause.cost_sources.empty(); });
}

int CausesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || !comparison_ ? 0 : static_cast<int>(comparison_->causes.size());
}

int CausesModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(kColumns);
}

QVariant CausesModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Cause& one = cause(index.row());
  const bool is_text =
      index.column() == name || index.column() == category || index.column() == costs;
  if (role == Qt::TextAlignmentRole) {
    return static_cast<int>(Qt::AlignVCenter | (is_text ? Qt::AlignLeft : Qt::AlignRight));
  }
  if (role == Qt::ForegroundRole) {
    const bool is_main = index.column() <= candidate && index.column() != events;
    return theme()[is_main ? Role::text : Role::text2];
  }
  if (role == Qt::ToolTipRole && index.column() == name) return QString::fromStdString(one.name);
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case name: return one.label;
    case events:
      return one.baseline_count == one.candidate_count
                 ? count_text(one.baseline_count)
                 : tr("%1 > %2").arg(count_text(one.baseline_count),
                                     count_text(one.candidate_count));
    case baseline: return milliseconds(one.baseline_ns);
    case candidate: return milliseconds(one.candidate_ns);
    case difference: return milliseconds(one.difference_ns());
    case percent: return signed_percent_text(one.candidate_ns, one.baseline_ns);
    case category: {
      QString text = QString::fromStdString(one.category);
      return text.replace(QLatin1Char('_'), QLatin1Char(' '));
    }
    case costs: {
      QStringList words;
      for (const CostSource source : one.cost_sources) words << cost_source_word(source);
      return words.join(QStringLiteral(", "));
    }
    default: return {};
  }
}

QVariant CausesModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || !comparison_) return {};
  if (role == Qt::TextAlignmentRole) {
    const bool is_left =
        section == name || section == category || section == costs || section == difference;
    return static_cast<int>(Qt::AlignVCenter | (is_left ? Qt::AlignLeft : Qt::AlignRight));
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case name: return tr("operator");
    case events: return tr("events");
    case baseline: return comparison_->sides.baseline;
    case candidate: return comparison_->sides.candidate;
    case difference: return tr("difference, ms a step");
    case percent: return tr("%");
    case costs: return tr("costs");
    default: return tr("kind");
  }
}

QString CausesModel::as_text() const {
  QStringList lines;
  for (int row = -1; row < rowCount(); ++row) {
    QStringList cells;
    for (int column = 0; column < kColumns; ++column) {
      if (column == costs && !has_costs()) continue;
      cells << (row < 0 ? headerData(column, Qt::Horizontal, Qt::DisplayRole)
                        : data(index(row, column), Qt::DisplayRole))
                   .toString();
    }
    lines << cells.join(QLatin1Char('\t'));
  }
  return lines.join(QLatin1Char('\n'));
}

CausesTable::CausesTable(QWidget* parent)
    : DataTable(RowHeight::dense, parent), model_(new CausesModel(this)) {
  setAccessibleName(tr("What explains the difference, worst first"));
  setModel(model_);
  setItemDelegateForColumn(CausesModel::difference, new DifferenceDelegate(*model_, this));
  connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this] { Q_EMIT cause_chosen(); });
}

void CausesTable::set_comparison(std::shared_ptr<const TraceComparison> comparison) {
  model_->set_comparison(std::move(comparison));
  choose_columns();
  if (model_->rowCount() > 0) selectRow(0);
}

void CausesTable::choose_columns() {
  constexpr std::array kGivenUp{CausesModel::category, CausesModel::events, CausesModel::costs};
  for (const int column : kGivenUp) {
    setColumnHidden(column, column == CausesModel::costs && !model_->has_costs());
  }
  fit_columns(CausesModel::difference);
  int left = viewport()->width();  // for the bars
  for (int column = 0; column < CausesModel::kColumns; ++column) {
    if (column != CausesModel::difference) left -= columnWidth(column);
  }
  for (const int column : kGivenUp) {
    if (left >= scaled(kLeastDifference)) return;
    left += columnWidth(column);
    setColumnHidden(column, true);
  }
}

void CausesTable::resizeEvent(QResizeEvent* event) {
  DataTable::resizeEvent(event);
  if (model_->rowCount() > 0) choose_columns();
}

const Cause* CausesTable::current() const {
  return currentIndex().isValid() ? &model_->cause(currentIndex().row()) : nullptr;
}

void CausesTable::select(const std::string& wanted) {
  for (int row = 0; row < model_->rowCount(); ++row) {
    if (model_->cause(row).name == wanted) return selectRow(row);
  }
}

void CausesTable::step(int rows) {
  if (model_->rowCount() == 0) return;
  selectRow(std::clamp(currentIndex().row() + rows, 0, model_->rowCount() - 1));
}

}  // namespace foreshard::gui
