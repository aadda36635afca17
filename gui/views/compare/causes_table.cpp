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
  explicit DifferenceDelegate(CausesTable& table) : NumberDelegate(&table), table_(table) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    QStyleOptionViewItem ground = option;
    ground.index = index;
    option.widget->style()->drawPrimitive(QStyle::PE_PanelItemViewItem, &ground, painter,
                                          option.widget);
    painter->save();
    painter->setClipRect(option.rect);
    const std::int64_t difference = table_.cause(index.row()).difference_ns();
    const QString text = index.data().toString();
    painter->setFont(gui::font(Text::body));
    const double text_width = figure_width(painter->font(), QStringLiteral("+0000.0")) + 8;
    const QRectF box(option.rect);
    std::int64_t shorter_ns = 0, longer_ns = 0;  // the largest difference of either sign
    for (const Cause& cause : table_.causes()) {
      shorter_ns = std::max(shorter_ns, -cause.difference_ns());
      longer_ns = std::max(longer_ns, cause.difference_ns());
    }
    const double left_room = shorter_ns > 0 ? text_width : kBeside;
    const double right_room = longer_ns > 0 ? text_width : kBeside;
    const double scale = std::max(box.width() - left_room - right_room, 1.0) /
                         static_cast<double>(shorter_ns + longer_ns + 1);
    const double middle =
        std::round(box.left() + left_room + scale * static_cast<double>(shorter_ns));
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
  const CausesTable& table_;
};

}  // namespace

CausesTable::CausesTable(QWidget* parent) : DataTable(RowHeight::dense, parent) {
  setAccessibleName(tr("What explains the difference, worst first"));
  show_rows({}, {});
  setItemDelegateForColumn(kDifference, new DifferenceDelegate(*this));
  connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this] { Q_EMIT cause_chosen(); });
}

std::vector<TableCell> CausesTable::row_of(const Cause& one) const {
  const auto of_side = [&](double count, std::int64_t ns) {
    return count > 0 ? shown_.times.text(ns) : tr("none");
  };
  const QString events =
      one.baseline_count == one.candidate_count
          ? count_text(one.baseline_count)
          : tr("%1 > %2").arg(count_text(one.baseline_count), count_text(one.candidate_count));
  QString category = QString::fromStdString(one.category);
  QStringList costs;
  for (const CostSource source : one.cost_sources) costs << cost_source_word(source);
  return {{one.label, Role::text, {}, QString::fromStdString(one.name)},
          {events, Role::text2},
          {of_side(one.baseline_count, one.baseline_ns)},
          {of_side(one.candidate_count, one.candidate_ns)},
          {shown_.differences.signed_text(one.difference_ns())},
          {signed_percent_text(one.candidate_ns, one.baseline_ns), Role::text2},
          {category.replace(QLatin1Char('_'), QLatin1Char(' ')), Role::text2},
          {costs.join(QStringLiteral(", ")), Role::text2}};
}

void CausesTable::show(const std::shared_ptr<const TraceComparison>& comparison,
                       bool are_on_device) {
  shown_ = comparison ? ShownCauses(comparison->causes, are_on_device) : ShownCauses();
  if (comparison == nullptr) return show_rows({}, {});
  const QString unit = shown_.times.unit();
  const QString difference =
      comparison->are_steps_comparable() ? tr("difference, %1 a step") : tr("difference, %1");
  std::vector<std::vector<TableCell>> rows;
  for (const Cause& cause : shown_.causes) rows.push_back(row_of(cause));
  show_rows({{tr("operator")},
             {tr("events"), true},
             {tr("%1, %2").arg(comparison->sides.baseline, unit), true},
             {tr("%1, %2").arg(comparison->sides.candidate, unit), true},
             {difference.arg(shown_.differences.unit())},
             {tr("%"), true},
             {tr("kind")},
             {tr("costs")}},
            rows);
  choose_columns();
  if (!shown_.causes.empty()) selectRow(0);
}

void CausesTable::choose_columns() {
  const bool has_costs = std::ranges::any_of(
      shown_.causes, [](const Cause& cause) { return !cause.cost_sources.empty(); });
  constexpr std::array kGivenUp{kCategory, kEvents, kCosts, kPercent};
  for (const int column : kGivenUp) {
    setColumnHidden(column, column == kCosts && !has_costs);
  }
  fit_columns(kDifference);
  int missing = std::max(scaled(kLeastDifference),
                         horizontalHeader()->sectionSizeHint(kDifference)) -
                viewport()->width();  // to the bars
  for (int column = 0; column < kColumns; ++column) {
    if (column != kDifference) missing += columnWidth(column);
  }
  for (const int column : kGivenUp) {
    if (missing <= 0) return;
    missing -= columnWidth(column);
    setColumnHidden(column, true);
  }
  if (missing <= 0) return;
  const int name_width = columnWidth(kName);
  setColumnWidth(kName, std::max(name_width - missing, scaled(kLeastName)));
}

void CausesTable::resizeEvent(QResizeEvent* event) {
  DataTable::resizeEvent(event);
  if (!shown_.causes.empty()) choose_columns();
}

const Cause* CausesTable::current() const {
  return currentIndex().isValid() ? &cause(currentIndex().row()) : nullptr;
}

void CausesTable::select(const std::string& wanted) {
  for (int row = 0; row < rows(); ++row) {
    if (cause(row).name == wanted) return selectRow(row);
  }
}

void CausesTable::step(int by) {
  if (rows() == 0) return;
  selectRow(std::clamp(currentIndex().row() + by, 0, rows() - 1));
}

}  // namespace foreshard::gui
