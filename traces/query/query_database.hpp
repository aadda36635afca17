// SQL queries on a trace. Any recording that read_trace opens is written into a temporary database
// with the schema of a .fst file (fst_file.hpp), so that no SQL of an untrusted file is run;
// the built-in queries are views in it. Only one SELECT at a time is allowed: SQL can neither change
// anything nor reach other files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "models/base/error.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces {

using QueryCell = std::variant<std::monostate, std::int64_t, double, std::string>;  // first: NULL
using QueryRow = std::vector<QueryCell>;

class QueryDatabase {
 public:
  static Result<QueryDatabase> create(const Trace& trace);

  QueryDatabase(QueryDatabase&&) noexcept;
  QueryDatabase& operator=(QueryDatabase&&) noexcept;
  ~QueryDatabase();

  // `query` is SQL, or the name of a built-in query alone. Calls `heading` once with the columns'
  // names and `row` for each row, until it returns false.
  Result<void> run(const std::string& query,
                   const std::function<void(const std::vector<std::string>& columns)>& heading,
                   const std::function<bool(const QueryRow& row)>& row);

 private:
  struct State;
  explicit QueryDatabase(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace foreshard::traces
