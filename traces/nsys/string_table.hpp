// Text of an export: tables give it as a number of the table StringIds or, in some versions, as text.
// Only for the sources of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "traces/nsys/source.hpp"
#include "traces/trace.hpp"

namespace foreshard::traces::nsys {

class StringTable {
 public:
  StringTable(Source& source, Strings& strings);

  // The text of a column, empty where it is null or has none in the file; until the next row.
  std::string_view text(const Source::Row& row, int column);
  // The same as text of the trace.
  StringId of(const Source::Row& row, int column);
  StringId of(std::string_view text) { return strings_.intern(text); }

  std::int64_t unknown() const { return unknown_; }    // numbers the file has no text for
  std::int64_t too_long() const { return too_long_; }  // texts left out

 private:
  struct Text {
    std::string text;
    StringId id = kNone;  // once it is used
  };
  std::string_view within_bounds(std::string_view text);
  Text* find(std::int64_t number);

  Strings& strings_;
  std::unordered_map<std::int64_t, Text> by_number_;
  std::int64_t bytes_left_;
  std::int64_t unknown_ = 0, too_long_ = 0;
};

}  // namespace foreshard::traces::nsys
