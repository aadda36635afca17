// foreshard query: SQL over any recording.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/common/open_trace.hpp"
#include "cli/common/output.hpp"
#include "models/base/figures.hpp"
#include "models/base/utf8.hpp"
#include "profiler/report/format.hpp"
#include "traces/query/builtin_queries.hpp"
#include "traces/query/query_database.hpp"

namespace foreshard::cli {
namespace {

using nlohmann::ordered_json;
using traces::QueryCell;
using traces::QueryRow;

constexpr std::size_t kMaxShownRows = 1000, kMaxShownCharacters = 100;

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};

std::string shown_number(double value) {
  return std::isfinite(value) && std::abs(value) < 1e15 ? to_fixed(value, 3)
                                                        : formatted("%g", value);
}

std::string shown(const QueryCell& cell) {
  return std::visit(Overloaded{[](std::monostate) { return std::string("NULL"); },
                               [](std::int64_t value) { return std::to_string(value); },
                               [](double value) { return shown_number(value); },
                               [](const std::string& value) {
                                 return shortened(printable(value), kMaxShownCharacters);
                               }},
                    cell);
}

ordered_json json_of(const QueryCell& cell) {
  return std::visit(Overloaded{[](std::monostate) { return ordered_json(); },
                               [](const auto& value) { return ordered_json(value); }},
                    cell);
}

// The fewest digits that read back as the same number.
std::string shortest(double value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

std::string csv_of(const QueryCell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  if (std::holds_alternative<std::monostate>(cell)) return "";
  if (const auto* number = std::get_if<double>(&cell)) return shortest(*number);
  if (text == nullptr) return shown(cell);
  if (text->find_first_of(",\"\r\n") == std::string::npos) return *text;
  std::string quoted = "\"";
  for (const char c : *text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// The rows of a query as a table: numbers to the right. Cells that hold nothing are shown, unlike in
// a report.
class Table {
 public:
  void heading(const std::vector<std::string>& columns) {
    rows_.push_back(columns);
    is_text_.assign(columns.size(), false);
  }
  bool add(const QueryRow& row) {
    ++count_;
    if (rows_.size() > kMaxShownRows) return true;
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (std::holds_alternative<std::string>(row[i])) is_text_[i] = true;
      cells.push_back(shown(row[i]));
    }
    rows_.push_back(std::move(cells));
    return true;
  }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<bool> is_text_;
  std::size_t count_ = 0;
};

std::string Table::text() const {
  std::vector<std::size_t> widths(is_text_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], profiler::width(row[i]));
    }
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - profiler::width(row[i]), ' ');
      line += (i == 0 ? "" : "  ") + (is_text_[i] ? row[i] + blanks : blanks + row[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  const std::size_t left_out = count_ + 1 - rows_.size();
  if (left_out > 0) {
    text += plural(static_cast<std::int64_t>(left_out), "more row") +
            "; --csv FILE or --json FILE writes all\n";
  }
  return text;
}

class Query : public Command {
 public:
  CommandText text() const override;
  void add_to(Options& options) override;
  Result<int> run() override;

 private:
  Result<int> list() const;
  Result<void> write_csv(traces::QueryDatabase& database) const;
  Result<void> answer(traces::QueryDatabase& database) const;

  std::string trace_, query_, csv_;
  bool lists_ = false, is_quiet_ = false;
  JsonOutput json_;
};

CommandText Query::text() const {
  return {
      "query",
      "Recordings",
      "query a trace with SQL",
      "QUERY is a SELECT of SQLite, or the name of a built-in query, which is also a view that "
      "SQL can select from. The main views are EVENTS and MEMORY_EVENTS; times are nanoseconds, "
      "memory is bytes. traces/QUERIES.md describes the columns.",
      {"foreshard query --list", "foreshard query run.fst operators",
       "foreshard query trace_folder \"SELECT name, sum(duration) / 1e6 AS ms FROM EVENTS WHERE "
       "kind = 'compute' GROUP BY name\""}};
}

void Query::add_to(Options& options) {
  options.recording("TRACE", trace_,
                    {"TRACE",
                     "trace (.fst), PyTorch profiler recording (JSON, or a folder with one of each "
                     "rank), Nsight Systems export (SQLite) or CUDA memory snapshot"});
  options.text("QUERY", query_, {"QUERY", "SQL, or the name of a built-in query"},
               ValueKind::query);
  options.flag("--list", lists_, "list the built-in queries");
  options.output("--csv", csv_, {"FILE", "write the rows as CSV to FILE; - is standard output"});
  options.quiet(is_quiet_);
  json_.add_to(options);
}

Result<int> Query::list() const {
  std::string text;
  for (const traces::BuiltinQuery& query : traces::builtin_queries()) {
    std::string name(query.name);
    name.resize(std::max<std::size_t>(name.size(), 24), ' ');
    text += name + std::string(query.summary) + "\n";
  }
  return written(show(text));
}

Result<void> Query::write_csv(traces::QueryDatabase& database) const {
  Result<void> done;
  const auto produce = [&](std::ostream& out) {
    const auto line = [&out](const auto& cells, const auto& text_of) {
      for (std::size_t i = 0; i < cells.size(); ++i)
        out << (i == 0 ? "" : ",") << text_of(cells[i]);
      out << '\n';
    };
    done = database.run(
        query_,
        [&](const auto& columns) {
          line(columns, [](const std::string& name) { return csv_of(name); });
        },
        [&](const QueryRow& row) {
          line(row, csv_of);
          return out.good();
        });
  };
  const auto saved = write_output(csv_ == "-" ? "/dev/stdout" : csv_, "--csv", produce);
  return done ? saved : done;
}

Result<void> Query::answer(traces::QueryDatabase& database) const {
  Table table;
  ordered_json columns = ordered_json::array(), rows = ordered_json::array();
  const auto heading = [&](const std::vector<std::string>& names) {
    table.heading(names);
    columns = names;
  };
  const auto row = [&](const QueryRow& cells) {
    if (json_.is_wanted()) {
      ordered_json& out = rows.emplace_back(ordered_json::array());
      for (const QueryCell& cell : cells) out.push_back(json_of(cell));
    }
    return table.add(cells);
  };
  if (auto done = database.run(query_, heading, row); !done) return done;
  if (auto ok = json_.write({{"columns", std::move(columns)}, {"rows", std::move(rows)}}, -1);
      !ok) {
    return ok;
  }
  return json_.is_standard_output() ? Result<void>() : show(table.text());
}

Result<int> Query::run() {
  if (lists_) return list();
  if (trace_.empty() || query_.empty()) {
    return fail("", "query", "expected TRACE and QUERY, or --list");
  }
  if (json_.is_standard_output() && csv_ == "-") {
    return fail("", "--csv", "and --json both write to standard output; expected one of them");
  }
  if (auto ok = json_.check(); !ok) return tl::unexpected(ok.error());
  if (csv_ != "-") {
    if (auto ok = check_output(csv_, "--csv"); !ok) return tl::unexpected(ok.error());
  }
  auto trace = open_trace(trace_, is_quiet_);
  if (!trace) return tl::unexpected(trace.error());
  auto database = traces::QueryDatabase::create(*trace);
  if (!database) return tl::unexpected(database.error());
  if (!csv_.empty()) {
    if (auto done = write_csv(*database); !done) return tl::unexpected(done.error());
  }
  if (csv_ == "-") return kSuccess;
  if (auto done = answer(*database); !done) return tl::unexpected(done.error());
  return kSuccess;
}

}  // namespace

std::unique_ptr<Command> make_query() {
  return std::make_unique<Query>();
}

}  // namespace foreshard::cli
