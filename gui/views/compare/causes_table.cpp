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

QString count_text(double count) {
  return count == std::floor(count) ? count_figure(std::llround(count)).number
                                    : QString::number(count, 'f', 1);
}

constexpr double kBeside = 6;  // of the line that bars begin at
constexpr int kLeastDifference = 170, kLeastName = 120;

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
    const QString text = model_.shown().differences.signed_text(difference);
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

void CausesModel::show(std::shared_ptr<const TraceComparison> comparison, bool are_on_device) {
  beginResetModel();
  comparison_ = std::move(comparison);
  shown_ = comparison_ ? ShownCauses(comparison_->causes, are_on_device) : ShownCauses();
  endResetModel();
}

CausesModel::Reach CausesModel::reach() const {
  Reach reach;
  for (const Cause& cause : shown_.causes) {
    reach.shorter_ns = std::max(reach.shorter_ns, -cause.difference_ns());
    reach.longer_ns = std::max(reach.longer_ns, cause.difference_ns());
  }
  return reach;
}

bool CausesModel::has_costs() const {
  return std::ranges::any_of(shown_.causes,
                             [](const Cause& cause) { return !cause.cost_sources.empty(); });
}

int CausesModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(shown_.causes.size());
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
    case baseline: return one.baseline_count > 0 ? shown_.times.text(one.baseline_ns) : tr("none");
    case candidate:
      return one.candidate_count > 0 ? shown_.times.text(one.candidate_ns) : tr("none");
    case difference: return shown_.differences.signed_text(one.difference_ns());
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
    case baseline: return tr("%1, %2").arg(comparison_->sides.baseline, shown_.times.unit());
    case candidate: return tr("%1, %2").arg(comparison_->sides.candidate, shown_.times.unit());
    case difference:
      return (comparison_->are_steps_comparable() ? tr("difference, %1 a step")
                                                  : tr("difference, %1"))
          .arg(shown_.differences.unit());
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

void CausesTable::show(std::shared_ptr<const TraceComparison> comparison, bool are_on_device) {
  model_->show(std::move(comparison), are_on_device);
  choose_columns();
  if (model_->rowCount() > 0) selectRow(0);
}

void CausesTable::choose_columns() {
  constexpr std::array kGivenUp{CausesModel::category, CausesModel::events, CausesModel::costs,
                                CausesModel::percent};
  for (const int column : kGivenUp) {
    setColumnHidden(column, column == CausesModel::costs && !model_->has_costs());
  }
  fit_columns(CausesModel::difference);
  int missing = std::max(scaled(kLeastDifference),
                         horizontalHeader()->sectionSizeHint(CausesModel::difference)) -
                viewport()->width();  // to the bars
  for (int column = 0; column < CausesModel::kColumns; ++column) {
    if (column != CausesModel::difference) missing += columnWidth(column);
  }
  for (const int column : kGivenUp) {
    if (missing <= 0) return;
    missing -= columnWidth(column);
    setColumnHidden(column, true);
  }
  if (missing <= 0) return;
  const int name_width = columnWidth(CausesModel::name);
  setColumnWidth(CausesModel::name, std::max(name_width - missing, scaled(kLeastName)));
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
