// Tables that SQL makes of a document's trace, as `foreshard query` does: those that are asked for most, by name, and
// any other. Rows that tell a moment can be gone to.
#pragma once

#include <QString>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/models/session/document.hpp"
#include "traces/query/query_database.hpp"

namespace foreshard::gui {

struct NamedTable {
  QString title, sql;
};

// Exposed communication, idle gaps, steps, arrival of ranks, then every built-in query.
inline constexpr std::size_t kExposedTable = 0, kStepsTable = 2;
const std::vector<NamedTable>& named_tables();

// A document's trace as a database, which takes about as long to make as its file takes to read.
struct TraceDatabase {
  DocumentPtr document;
  std::shared_ptr<traces::QueryDatabase> database;
};

struct TraceTable {
  static constexpr std::size_t kMostRows = 5000;

  TraceDatabase
      of;  // what it was asked of: the next question of the same document need not make it again
  std::vector<std::string> columns;
  std::vector<traces::QueryRow> rows;
  bool is_cut = false;  // there are more rows
  QString error;        // what is wrong with the SQL; empty: nothing
};

// Not on the window's thread, and of one database one at a time. `known`: of an earlier question, or empty.
TraceTable ask(const DocumentPtr& document, TraceDatabase known, const QString& sql,
               const std::atomic<bool>& is_unwanted);

// A cell in the units of its column: times of `start`, `duration` and others are nanoseconds, those of columns that
// end in _ms or _us are not. Moments count from the start of their step.
QString cell_text(const TraceTable& table, std::size_t row, std::size_t column);

struct TablePlace {
  traces::Interval span;  // by the document's clock
  std::optional<int> rank;
  std::optional<std::int32_t> event;  // that lasts as long, of that rank
};

// In a document of the table's files, which may have grown since. Nothing where no column is a moment in or around it (`start`,
// or `from_ms`); no rank where it has none of that number.
std::optional<TablePlace> place_of(const TraceTable& table, std::size_t row,
                                   const Document& document);

}  // namespace foreshard::gui
