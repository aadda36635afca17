#include "gui/views/inspector/tables_panel.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QSignalBlocker>
#include <algorithm>
#include <utility>

#include "gui/models/base/units_text.hpp"
#include "gui/paint/theme.hpp"
#include "gui/views/base/choices.hpp"
#include "gui/views/base/data_table.hpp"
#include "gui/views/base/labels.hpp"

namespace foreshard::gui {
namespace {

QVariant order_of(const traces::QueryCell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<qint64>(*whole);
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  if (const auto* text = std::get_if<std::string>(&cell)) return QString::fromStdString(*text);
  return {};
}

}  // namespace

TablesPanel::TablesPanel(Session& session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      choices_(new ChoiceList(this)),
      sql_(new QLineEdit(this)),
      headline_(new TextLabel(Text::secondary, Role::text2, this)),
      table_(new DataTable(RowHeight::dense, this)),
      answers_(
          this, [this](TraceTable answer) { show_answer(std::move(answer)); },
          [this] { Q_EMIT busy_changed(); }) {
  choices_->setAccessibleName(tr("Table"));
  for (const NamedTable& table : named_tables()) choices_->addItem(table.title, table.sql);
  sql_->setAccessibleName(tr("SQL query"));
  sql_->setText(named_tables().front().sql);
  sql_->setCursorPosition(0);
  table_->show_rows({}, {});
  table_->setSortingEnabled(true);
  table_->setAccessibleName(tr("Rows"));
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(16, 8, 16, 8);
  bar->setSpacing(12);
  bar->addWidget(choices_);
  bar->addWidget(sql_, 1);
  bar->addWidget(headline_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addLayout(bar);
  column->addWidget(table_, 1);
  connect(choices_, qOverload<int>(&QComboBox::activated), this,
          [this](int choice) { show_table(static_cast<std::size_t>(choice)); });
  connect(sql_, &QLineEdit::returnPressed, this, &TablesPanel::ask_again);
  connect(&session_, &Session::current_changed, this, &TablesPanel::follow_document);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& current) { go_to(current.row()); });
}

void TablesPanel::show_table(std::size_t named) {
  choices_->setCurrentIndex(static_cast<int>(named));
  sql_->setText(named_tables().at(named).sql);
  sql_->setCursorPosition(0);
  ask_again();
}

void TablesPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  ask_again();
}

void TablesPanel::follow_document() {
  const DocumentPtr document = session_.current();
  const bool has_grown = document != nullptr && asked_of_ != nullptr && !document->files.empty() &&
                         document->files == asked_of_->files && !asked_of_->trace->complete;
  if (has_grown) return;
  if (isVisible()) return ask_again();
  answers_.forget();
  asked_of_ = nullptr;
  show_answer({});  // which would keep a document that may be closed
}

void TablesPanel::ask_again() {
  const DocumentPtr document = session_.current();
  if (document == asked_of_ && sql_->text() == asked_) return;
  asked_of_ = document;
  asked_ = sql_->text();
  if (document == nullptr) {
    answers_.forget();
    return show_answer({});
  }
  headline_->set_text(tr("working"));
  answers_.request(
      [document, known = answer_.of, sql = asked_](const std::atomic<bool>& is_unwanted) {
        return ask(document, known, sql, is_unwanted);
      });
}

QString TablesPanel::headline() const {
  if (!answer_.error.isEmpty()) return answer_.error;
  const auto rows = static_cast<std::int64_t>(answer_.rows.size());
  if (answer_.is_cut) return tr("the first %1 rows").arg(count_figure(rows).number);
  return rows == 1 ? tr("1 row") : tr("%1 rows").arg(count_figure(rows).number);
}

void TablesPanel::show_answer(TraceTable answer) {
  const QSignalBlocker quiet(table_->selectionModel());  // an emptied table selects nothing
  answer_ = std::move(answer);
  headline_->set_role(answer_.error.isEmpty() ? Role::text2 : Role::error);
  headline_->set_text(headline());
  table_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);  // as SQL ordered it
  const std::size_t columns = answer_.columns.size();
  std::vector<TableColumn> heads;
  for (std::size_t n = 0; n < columns; ++n) {
    const bool is_text = std::ranges::any_of(
        answer_.rows, [&](const auto& row) { return std::holds_alternative<std::string>(row[n]); });
    heads.push_back({QString::fromStdString(answer_.columns[n]), !is_text});
  }
  std::vector<std::vector<TableCell>> rows(answer_.rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t n = 0; n < columns; ++n) {
      rows[row].push_back({cell_text(answer_, row, n), Role::text, order_of(answer_.rows[row][n])});
    }
  }
  table_->show_rows(heads, rows);
  if (columns > 0) table_->fit_columns();
}

// With half as much again on either side.
void TablesPanel::go_to(int row) {
  const DocumentPtr document = session_.current();
  const DocumentPtr& asked = answer_.of.document;
  const bool is_of_it =
      asked == document || (asked != nullptr && document != nullptr && !asked->files.empty() &&
                            asked->files == document->files);
  if (row < 0 || !is_of_it) return;
  const auto place =
      place_of(answer_, static_cast<std::size_t>(table_->source_row(row)), *document);
  if (!place) return;
  const traces::Interval span = place->span;
  const std::int64_t margin = std::max<std::int64_t>((span.end_ns - span.start_ns) / 2, 1);
  session_.axis().show({span.start_ns - margin, span.end_ns + margin});
  if (place->rank) session_.selection().set_rank(*place->rank);
  if (place->event) {
    session_.selection().set_range(std::nullopt);
    session_.selection().select(EventId{session_.current_index(), *place->event});
  } else {
    session_.selection().set_range(span);
  }
}

}  // namespace foreshard::gui
