#include "tests/golden/report.hpp"

#include <algorithm>
#include <cstdint>
#include <regex>
#include <utility>

#include <nlohmann/json.hpp>

namespace foreshard::golden {
namespace {

struct Rule {
  const char* pattern;
  const char* replacement;
};

// Reasons: a release changes every version; a prediction prints how long it took itself.
constexpr Rule kRules[] = {
    {R"(foreshard \d+\.\d+\.\d+)", "foreshard @version@"},
    {R"(SQLite \d+\.\d+\.\d+, compiler \d+\.\d+\.\d+)", "SQLite @version@, compiler @version@"},
    {R"re("prediction_ns": ?\d+)re", R"("prediction_ns": "@measured@")"},
};

// Lines without their ends; the last one is marked where it has none.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      lines.push_back(std::string(text) + "  (no line end)");
      break;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

struct Edit {
  char mark = ' ';
  std::string text;
  std::size_t old_line = 0, new_line = 0;  // how many lines of each come before
};

constexpr std::size_t kMaxCells = 16'000'000;

// The shortest way from one text to the other, by their longest common subsequence of lines. Where
// what differs is too long for that, all of it is taken as replaced.
std::vector<Edit> edits(const std::vector<std::string>& before,
                        const std::vector<std::string>& after) {
  std::size_t first = 0, last = 0;
  const std::size_t shorter = std::min(before.size(), after.size());
  while (first < shorter && before[first] == after[first]) ++first;
  while (last < shorter - first &&
         before[before.size() - 1 - last] == after[after.size() - 1 - last]) {
    ++last;
  }
  const std::size_t rows = before.size() - first - last, columns = after.size() - first - last;
  const bool is_small = (rows + 1) * (columns + 1) <= kMaxCells;
  std::vector<std::uint32_t> common(is_small ? (rows + 1) * (columns + 1) : 0);
  const auto at = [&](std::size_t row, std::size_t column) -> std::uint32_t& {
    return common[row * (columns + 1) + column];
  };
  for (std::size_t row = is_small ? rows : 0; row-- > 0;) {
    for (std::size_t column = columns; column-- > 0;) {
      at(row, column) = before[first + row] == after[first + column]
                            ? at(row + 1, column + 1) + 1
                            : std::max(at(row + 1, column), at(row, column + 1));
    }
  }
  std::vector<Edit> out;
  std::size_t row = 0, column = 0;
  for (std::size_t i = 0; i < first; ++i) out.push_back({' ', before[i], i, i});
  while (row < rows || column < columns) {
    const std::size_t i = first + row, j = first + column;
    const bool both = row < rows && column < columns;
    if (is_small && both && before[i] == after[j]) {
      out.push_back({' ', before[i], i, j});
      ++row, ++column;
    } else if (row < rows && (!both || !is_small || at(row + 1, column) >= at(row, column + 1))) {
      out.push_back({'-', before[i], i, j});
      ++row;
    } else {
      out.push_back({'+', after[j], i, j});
      ++column;
    }
  }
  for (std::size_t i = 0; i < last; ++i) {
    const std::size_t old_line = before.size() - last + i, new_line = after.size() - last + i;
    out.push_back({' ', before[old_line], old_line, new_line});
  }
  return out;
}

void shorten(nlohmann::ordered_json& value) {
  constexpr std::size_t kShown = 3;
  const std::size_t size = value.size();
  if (value.is_array() && size > kShown + 1) {
    value.erase(value.begin() + kShown, value.end());
    value.push_back("... of " + std::to_string(size));
  }
  if (value.is_structured()) {
    for (nlohmann::ordered_json& element : value) shorten(element);
  }
}

}  // namespace

std::string normalised(std::string text) {
  for (const Rule& rule : kRules) {
    text = std::regex_replace(text, std::regex(rule.pattern), rule.replacement);
  }
  return text;
}

std::vector<std::string> words(std::string_view line) {
  std::vector<std::string> out;
  bool is_inside = false;
  char quote = 0;
  for (const char c : line) {
    if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? '\0' : c;
      if (!is_inside) out.emplace_back();
      is_inside = true;
    } else if (c == ' ' && quote == 0) {
      is_inside = false;
    } else {
      if (!is_inside) out.emplace_back();
      is_inside = true;
      out.back() += c;
    }
  }
  return out;
}

std::string head(const std::string& text, std::size_t lines) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < lines && end < text.size(); ++i) {
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  }
  if (lines == 0 || end == text.size()) return text;
  const auto all = std::count(text.begin(), text.end(), '\n');
  return text.substr(0, end) + "... of " + std::to_string(all) + " lines\n";
}

std::string shortened_json(const std::string& text) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_discarded()) return "no JSON:\n" + text;
  shorten(json);
  return json.dump(2) + "\n";
}

std::string difference(std::string_view expected, std::string_view actual, std::size_t most_lines) {
  if (expected == actual) return "";
  constexpr std::size_t kContext = 2;
  const std::vector<Edit> all = edits(lines_of(expected), lines_of(actual));
  std::vector<bool> is_shown(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].mark == ' ') continue;
    const std::size_t from = i < kContext ? 0 : i - kContext;
    for (std::size_t j = from; j < std::min(all.size(), i + kContext + 1); ++j) is_shown[j] = true;
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_shown[i]) continue;
    if (i == 0 || !is_shown[i - 1]) {
      out.push_back("@@ -" + std::to_string(all[i].old_line + 1) + " +" +
                    std::to_string(all[i].new_line + 1) + " @@");
    }
    out.push_back(all[i].mark + all[i].text);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(out.size(), most_lines); ++i) text += out[i] + "\n";
  if (out.size() > most_lines) {
    text += "... and " + std::to_string(out.size() - most_lines) + " more lines\n";
  }
  return text;
}

}  // namespace foreshard::golden
