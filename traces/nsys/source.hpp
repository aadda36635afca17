// An SQLite export of Nsight Systems as rows: tables and columns are found by name, for every version
// of the tool names others. The file may be damaged, cut short or hostile: nothing in its schema is
// run, and what cannot be read is passed over and counted. Only for the sources of this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/error.hpp"
#include "traces/import.hpp"
#include "traces/sqlite/untrusted_database.hpp"

namespace foreshard::traces::nsys {

class Source {
 public:
  // One row; columns are numbered as they were requested, and those the table lacks are null.
  class Row {
   public:
    explicit Row(const Statement& statement) : statement_(statement) {}
    bool is_null(int column) const { return statement_.is_null(column + 1); }
    bool is_text(int column) const { return statement_.is_text(column + 1); }
    std::int64_t integer(int column, std::int64_t fallback = 0) const {
      return is_null(column) ? fallback : statement_.integer(column + 1);
    }
    double real(int column) const { return statement_.real(column + 1); }
    std::string_view text(int column) const { return statement_.text(column + 1); }

   private:
    const Statement& statement_;  // column 0 is the row's number
  };

  static Result<Source> open(const std::string& path, std::stop_token stop = {});
  // The bytes of a file, which outlive the source; errors call it `name`.
  static Result<Source> open_in_memory(std::string_view bytes, const std::string& name);

  bool has(const std::string& table) const { return file_.has(table); }
  bool has(const std::string& table, const std::string& column) const {
    return file_.has(table, column);
  }
  std::set<std::string> tables() const;
  std::int64_t bytes() const { return file_.bytes(); }
  bool is_cut_short() const { return file_.is_cut_short(); }

  // Tells `report` from now on how many rows have been read, of some `total`. It outlives the source.
  void report_to(const ReportProgress& report);

  // Calls `use` with every row that can be read. After damage it goes on behind it.
  template <typename Use>
  void each(const std::string& table, const std::vector<std::string>& columns, Use&& use);

  // Stretches of a table that could not be read.
  const std::map<std::string, std::int64_t>& damage() const { return damage_; }

 private:
  static Result<Source> of(Result<UntrustedDatabase> file, const std::string& name);

  UntrustedDatabase file_;
  void count_row() {
    constexpr std::int64_t kRowsBetween = 1 << 14;
    if (report_ != nullptr && ++rows_read_ % kRowsBetween == 0) (*report_)(rows_read_, rows_there_);
  }

  std::stop_token stop_;
  std::int64_t rows_left_ = 0;
  const ReportProgress* report_ = nullptr;
  std::int64_t rows_read_ = 0, rows_there_ = 0;
  // A value that claims gigabytes costs SQLite tens of milliseconds until it finds it is not there.
  int searches_left_ = 200;
  std::map<std::string, std::int64_t> damage_;
};

template <typename Use>
void Source::each(const std::string& table, const std::vector<std::string>& columns, Use&& use) {
  if (!has(table)) return;
  std::vector<std::string> numbered{"rowid"};
  numbered.insert(numbered.end(), columns.begin(), columns.end());
  Statement statement = file_.select(table, numbered, " WHERE rowid > ?");
  std::int64_t last = -1, gap = 1;  // row numbers
  while (rows_left_ > 0 && !stop_.stop_requested()) {
    statement.start(last);
    int status = SQLITE_ERROR;
    while ((status = statement.step()) == SQLITE_ROW && rows_left_-- > 0) {
      last = std::max(last, statement.integer(0));  // damaged rows stand in any order
      gap = 1;
      count_row();
      use(Row(statement));
    }
    if (status == SQLITE_DONE) return;
    if (gap == 1) ++damage_[table];
    // The damage is a page of unknown length: search for its end in growing strides. Rows are counted
    // from 1, and none takes less than a byte.
    if (!statement || last > bytes() || searches_left_-- == 0) return;
    last += gap;
    gap *= 2;
  }
}

}  // namespace foreshard::traces::nsys
