#include "traces/nsys/string_table.hpp"

namespace foreshard::traces::nsys {
namespace {

// StringIds also holds what the program printed, which no event is named by.
constexpr std::size_t kLongestName = 1 << 20;

}  // namespace

// All texts together are no longer than the file (half as long in UTF-16), unless rows share pages.
StringTable::StringTable(Source& source, Strings& strings)
    : strings_(strings), bytes_left_(2 * source.bytes()) {
  source.each("StringIds", {"id", "value"}, [&](const Source::Row& row) {
    by_number_[row.integer(0)] = {std::string(within_bounds(row.text(1))), kNone};
  });
}

std::string_view StringTable::text(const Source::Row& row, int column) {
  if (row.is_null(column)) return {};
  if (row.is_text(column)) return within_bounds(row.text(column));
  const Text* const found = find(row.integer(column));
  return found == nullptr ? std::string_view() : found->text;
}

StringId StringTable::of(const Source::Row& row, int column) {
  if (row.is_null(column) || row.is_text(column)) return of(text(row, column));
  Text* const found = find(row.integer(column));
  if (found == nullptr) return 0;
  if (found->id == kNone) found->id = of(found->text);
  return found->id;
}

StringTable::Text* StringTable::find(std::int64_t number) {
  const auto found = by_number_.find(number);
  if (found != by_number_.end()) return &found->second;
  ++unknown_;
  return nullptr;
}

std::string_view StringTable::within_bounds(std::string_view text) {
  const auto length = static_cast<std::int64_t>(text.size());
  if (text.size() > kLongestName || length > bytes_left_) {
    ++too_long_;
    return {};
  }
  bytes_left_ -= length;
  return text;
}

}  // namespace foreshard::traces::nsys
