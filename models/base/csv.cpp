#include "models/base/csv.hpp"

#include <algorithm>

namespace foreshard {
namespace {

template <typename T>
using Recorded = tl::expected<T, std::string>;

tl::unexpected<std::string> because(std::string message) {
  return tl::unexpected<std::string>(std::move(message));
}

class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  bool is_at_end() const { return at_ >= text_.size(); }
  int line() const { return line_; }

  // The next record, or a message.
  Recorded<CsvRow> record() {
    CsvRow row;
    row.line = line_;
    for (;;) {
      Recorded<std::string> field = next_is('"') ? quoted_field() : plain_field();
      if (!field) return because(std::move(field.error()));
      row.fields.push_back(std::move(*field));
      if (!take(',')) break;
    }
    take('\r');
    if (take('\n')) ++line_;
    return row;
  }

 private:
  bool next_is(char c) const { return !is_at_end() && text_[at_] == c; }

  bool take(char c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }

  static bool ends_plain_field(char c) { return c == ',' || c == '\r' || c == '\n' || c == '"'; }

  Recorded<std::string> plain_field() {
    std::size_t end = at_;
    while (end < text_.size() && !ends_plain_field(text_[end])) ++end;
    std::string field(text_.substr(at_, end - at_));
    at_ = end;
    if (next_is('"')) return because("has a quote inside a field that does not start with one");
    return field;
  }

  Recorded<std::string> quoted_field() {
    std::string field;
    ++at_;
    for (;;) {
      const std::size_t quote = text_.find('"', at_);
      if (quote == std::string_view::npos) return because("has a quote that is never closed");
      const std::string_view stretch = text_.substr(at_, quote - at_);
      line_ += static_cast<int>(std::count(stretch.begin(), stretch.end(), '\n'));
      field += stretch;
      at_ = quote + 1;
      if (!take('"')) break;
      field += '"';
    }
    const bool ends = is_at_end() || next_is(',') || next_is('\r') || next_is('\n');
    if (!ends) return because("has text after a closing quote");
    return field;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

std::optional<std::size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

std::string_view CsvTable::at(const CsvRow& row, std::string_view name) const {
  const std::optional<std::size_t> index = column(name);
  return index ? std::string_view(row.fields[*index]) : std::string_view();
}

Result<CsvTable> parse_csv(std::string_view text, const std::string& file) {
  CsvTable table;
  CsvReader reader(text);
  while (!reader.is_at_end()) {
    const int line = reader.line();
    Recorded<CsvRow> row = reader.record();
    const std::string where = file + ":" + std::to_string(line);
    if (!row) return fail(where, "", row.error() + "; expected comma-separated values");
    const bool is_blank = row->fields.size() == 1 && row->fields[0].empty();
    if (is_blank) continue;
    if (table.columns.empty()) {
      table.columns = std::move(row->fields);
    } else if (row->fields.size() != table.columns.size()) {
      return fail(where, "",
                  "has " + std::to_string(row->fields.size()) + " fields; expected " +
                      std::to_string(table.columns.size()) + " as in the first line");
    } else {
      table.rows.push_back(std::move(*row));
    }
  }
  if (table.columns.empty()) return fail(file, "", "is empty; expected a line of column names");
  return table;
}

}  // namespace foreshard
