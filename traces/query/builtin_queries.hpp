// Built-in queries for common questions about a trace. Each is a file of queries/, whose first line
// is a comment that describes it, and a view of the same name in every database that SQL runs on.
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
