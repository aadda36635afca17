// SQLite as traces/ uses it: a database and a prepared statement that close themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include "models/base/error.hpp"

namespace foreshard::traces {

// A parameter that is bytes rather than text.
struct Blob {
  std::string_view bytes;
};

class Statement {
 public:
  Statement() = default;
  Statement(sqlite3* database, const char* sql) {
    sqlite3_stmt* compiled = nullptr;
    sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &compiled, nullptr);
    statement_.reset(compiled);
  }

  explicit operator bool() const { return statement_ != nullptr; }

  // Fills the parameters in order and runs a statement that returns no rows.
  template <typename... Values>
  bool run(const Values&... values) {
    start(values...);
    const bool is_done = sqlite3_step(statement_.get()) == SQLITE_DONE;
    sqlite3_reset(statement_.get());
    return is_done;
  }

  // Fills the parameters in order; step() then begins with the first row, whatever was read before.
  template <typename... Values>
  void start(const Values&... values) {
    sqlite3_reset(statement_.get());
    int index = 0;
    (bind(++index, values), ...);
  }

  // SQLITE_ROW, SQLITE_DONE or an error. A statement that could not be compiled is an error.
  int step() { return statement_ ? sqlite3_step(statement_.get()) : SQLITE_ERROR; }

  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  double real(int column) const { return sqlite3_column_double(statement_.get(), column); }
  bool is_null(int column) const {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
  }
  bool is_text(int column) const {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_TEXT;
  }
  std::string_view text(int column) const {
    const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
    return data ? std::string_view(data, size(column)) : std::string_view();
  }
  std::string_view blob(int column) const {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
    return data ? std::string_view(data, size(column)) : std::string_view();
  }

 private:
  std::size_t size(int column) const {
    return static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  }
  void bind(int index, std::int64_t value) { sqlite3_bind_int64(statement_.get(), index, value); }
  void bind(int index, std::int32_t value) { sqlite3_bind_int(statement_.get(), index, value); }
  void bind(int index, double value) { sqlite3_bind_double(statement_.get(), index, value); }
  void bind(int index, std::string_view value) {
    sqlite3_bind_text(statement_.get(), index, value.data(), static_cast<int>(value.size()),
                      SQLITE_STATIC);
  }
  void bind(int index, const Blob& value) {
    sqlite3_bind_blob64(statement_.get(), index, value.bytes.data(), value.bytes.size(),
                        SQLITE_STATIC);
  }

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  // `name` is a path, or a URI where the flags allow it. Check is_open(). Not for several threads at
  // once: SQLite's own locks would cost a tenth of all the time.
  Database() = default;
  Database(const std::string& name, int flags) {
    sqlite3* opened = nullptr;
    status_ = sqlite3_open_v2(name.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    handle_.reset(opened);
  }

  bool is_open() const { return handle_ && status_ == SQLITE_OK; }
  sqlite3* handle() const { return handle_.get(); }
  bool run(const char* sql) {
    return sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  std::string error() const { return handle_ ? sqlite3_errmsg(handle_.get()) : "out of memory"; }
  void close() { handle_.reset(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  std::unique_ptr<sqlite3, Close> handle_;
  int status_ = SQLITE_ERROR;
};

}  // namespace foreshard::traces
