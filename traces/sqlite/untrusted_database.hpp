// An untrusted SQLite file: damaged, truncated, hostile, still being written, or in a read-only
// folder. Nothing in it is run or computed: only plain columns of tables
// with pages of their own are read, never views, virtual tables or generated columns; there are no
// triggers, no functions, no endless queries and no values longer than any that is written on purpose.
// Nothing is written beside a file that nobody else writes. Only for traces/.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/error.hpp"
#include "traces/sqlite/sqlite.hpp"

namespace foreshard::traces {

class UntrustedDatabase {
 public:
  // What is done with a file that has fewer pages than its header states.
  enum class CutShort { refused, read };

  // A database file, plain or in gzip, which is inflated into memory. Errors as of
  // InputFile::open_regular, and where the file is of another type, which they name; `expected` ends
  // the message. Once `stop` is requested nothing more is read: queries end with SQLITE_INTERRUPT.
  static Result<UntrustedDatabase> open(const std::string& path, const std::string& expected,
                                        CutShort cut_short, std::stop_token stop = {});
  // The bytes of a file, which outlive the database; errors call it `name`.
  static Result<UntrustedDatabase> open_in_memory(std::string_view bytes, const std::string& name,
                                                  const std::string& expected, CutShort cut_short);

  bool has(const std::string& table) const { return tables_.contains(table); }
  bool has(const std::string& table, const std::string& column) const;
  const std::map<std::string, std::set<std::string>>& tables() const { return tables_; }
  bool is_schema_whole() const { return is_schema_whole_; }
  bool is_cut_short() const { return is_cut_short_; }
  std::int64_t bytes() const { return bytes_; }  // of its pages

  // Rows of a table in the order of their pages, with these columns ("rowid" is their number); those
  // that the table lacks are null. `rest` goes on behind the table's name, such as " WHERE rowid > ?".
  Statement select(const std::string& table, const std::vector<std::string>& columns,
                   const std::string& rest = "") const;

 private:
  static Result<UntrustedDatabase> open_gzip(const std::string& path, const std::string& expected,
                                             CutShort cut_short, const std::stop_token& stop);

  struct Patience {
    std::int64_t steps_left = 0;  // that queries may still take, counted by SQLite
    std::stop_token stop;
  };
  static int lose_patience(void* patience);  // what SQLite asks now and then: nonzero ends a query

  // Removes a folder when it goes: the copy of a file that could not be read where it is.
  struct RemoveFolder {
    void operator()(const std::string* folder) const;
  };
  using Copy = std::unique_ptr<const std::string, RemoveFolder>;
  using Connect = std::function<Database()>;

  struct Wanted {
    const std::string& name;  // for messages
    const std::string& expected;
    CutShort cut_short;
    std::stop_token stop;
  };
  static Result<UntrustedDatabase> opened(const Connect& connect, std::int64_t bytes, Copy copy,
                                          const Wanted& wanted);
  void make_safe();
  void set_limits();
  void count_pages();
  bool answers();
  void read_schema();

  Copy copy_;
  std::unique_ptr<const std::string> inflated_;
  std::unique_ptr<Patience> patience_;
  Database database_;                                    // closed before those go
  std::map<std::string, std::set<std::string>> tables_;  // and their columns
  std::int64_t bytes_ = 0;
  bool is_schema_whole_ = true;
  bool is_cut_short_ = false;
};

}  // namespace foreshard::traces
