// Queries that answer common questions of a trace. Each is a file of queries/, whose first line is a
// comment of what it answers, and a view of its name in every database that SQL is asked of.
#pragma once

#include <string_view>
#include <vector>

namespace foreshard::traces {

struct BuiltinQuery {
  std::string_view name, summary, sql;
};

// In the order of their names.
const std::vector<BuiltinQuery>& builtin_queries();

}  // namespace foreshard::traces
