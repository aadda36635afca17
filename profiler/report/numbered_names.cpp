#include "profiler/report/numbered_names.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "models/base/number_ranges.hpp"

namespace foreshard::profiler {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::size_t kMaxDigits = 9;  // more digits are not a layer's number

NumberedName split_at(const std::string& name, std::size_t begin, std::size_t end) {
  NumberedName split{name.substr(0, begin), name.substr(end), 0};
  std::from_chars(name.data() + begin, name.data() + end, split.number);
  return split;
}

}  // namespace

NumberedName split_number(const std::string& name) {
  std::size_t last = name.size(), last_end = name.size();
  for (std::size_t end = 0;;) {
    const std::size_t begin = name.find_first_of(kDigits, end);
    if (begin == std::string::npos) break;
    end = std::min(name.find_first_not_of(kDigits, begin), name.size());
    if (end - begin > kMaxDigits) continue;
    last = begin;
    last_end = end;
    const bool begins_part = begin == 0 || name[begin - 1] == '.';
    const bool ends_part =
        end == name.size() || std::string_view(".:, ").find(name[end]) != std::string_view::npos;
    if (begins_part && ends_part) return split_at(name, begin, end);
  }
  return last == name.size() ? NumberedName{name, "", -1} : split_at(name, last, last_end);
}

std::string joined_units(const std::vector<std::string>& units, std::size_t most) {
  std::map<std::pair<std::string, std::string>, std::vector<std::int64_t>> families;
  std::vector<std::string> names;
  for (const std::string& unit : units) {
    const NumberedName split = split_number(unit);
    if (split.number < 0) {
      names.push_back(unit);
    } else {
      families[{split.before, split.after}].push_back(split.number);
    }
  }
  for (const auto& [family, numbers] : families) {
    for (const std::string& run : number_ranges(numbers)) {
      names.push_back(family.first + run + family.second);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > most) text += " and others";
  return text;
}

}  // namespace foreshard::profiler
