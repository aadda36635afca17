#include "profiler/report/format.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include <sys/ioctl.h>
#include <unistd.h>

#include "models/base/utf8.hpp"

namespace foreshard::profiler {

std::size_t report_width() {
  constexpr std::size_t kNarrowest = 40, kWithoutTerminal = 100;
  winsize terminal{};
  if (const char* const columns = std::getenv("COLUMNS")) {
    std::from_chars(columns, columns + std::strlen(columns), terminal.ws_col);
  } else if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &terminal) != 0) {
    return kWithoutTerminal;
  }
  return terminal.ws_col == 0 ? kWithoutTerminal
                              : std::max<std::size_t>(terminal.ws_col, kNarrowest);
}

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string join(const std::vector<std::string>& parts, const std::string& between) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : between) + parts[i];
  return text;
}

std::string truncate(const std::string& text, std::size_t most, std::size_t kept_at_end) {
  return shortened(text, most, kept_at_end);
}

std::string wrap(const std::string& given, std::size_t indent) {
  const std::string text = printable(given);  // names keep to the line
  // A figure stays with its unit.
  const auto is_unit = [&](std::size_t begin) {
    for (const std::string_view unit : {"%", "GiB", "MiB", "KiB", "B", "s", "ms", "us"}) {
      const std::size_t end = begin + unit.size();
      if (text.compare(begin, unit.size(), unit) == 0 &&
          (end == text.size() || std::string_view(" ,.:;)").find(text[end]) != std::string::npos)) {
        return true;
      }
    }
    return false;
  };
  const std::size_t most = report_width();
  std::string lines;
  std::size_t column = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find(' ', begin), text.size());
    while (end < text.size() && is_unit(end + 1))
      end = std::min(text.find(' ', end + 1), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (column > indent && column + 1 + width(word) > most) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (begin > 0) {
      lines += " ";
      ++column;
    }
    lines += word;
    column += width(word);
    begin = end + 1;
  }
  return lines + "\n";
}

std::string sparkline(const std::vector<std::int64_t>& values, std::int64_t most,
                      std::size_t columns) {
  constexpr std::string_view kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  columns = std::min(columns, values.size());
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t begin = column * values.size() / columns,
                      end = (column + 1) * values.size() / columns;
    const std::int64_t highest =
        *std::max_element(values.begin() + static_cast<std::ptrdiff_t>(begin),
                          values.begin() + static_cast<std::ptrdiff_t>(end));
    const double height = most > 0 ? static_cast<double>(highest) / static_cast<double>(most) : 0;
    text += kBars[static_cast<std::size_t>(std::clamp(std::ceil(8 * height), 0.0, 8.0))];
  }
  return text;
}

bool TextTable::is_nothing(std::size_t column) const {
  return std::all_of(rows_.begin() + 1, rows_.end(), [&](const std::vector<std::string>& row) {
    const std::string& cell = row[column];
    return cell.empty() || cell == "-" ||
           (cell[0] == '0' && cell.find_first_of("123456789") == std::string::npos);
  });
}

std::string TextTable::text() const {
  if (rows() == 0) return "";
  std::vector<std::vector<std::string>> rows = rows_;
  for (auto& row : rows) {
    for (std::string& cell : row) cell = printable(cell);  // names keep to their cell
  }
  const std::size_t columns = rows[0].size();
  std::vector<std::size_t> shown;
  std::vector<std::size_t> widths(columns, 0);
  for (std::size_t column = 0; column < columns; ++column) {
    if (is_nothing(column)) continue;
    shown.push_back(column);
    for (const auto& row : rows) widths[column] = std::max(widths[column], width(row[column]));
  }
  std::string out;
  for (const auto& row : rows) {
    if (std::all_of(row.begin(), row.end(), [](const auto& cell) { return cell.empty(); }))
      continue;
    std::string line;
    for (const std::size_t column : shown) {
      const std::string padding(widths[column] - width(row[column]), ' ');
      const bool is_left = std::find(left_.begin(), left_.end(), column) != left_.end();
      line += "  " + (is_left ? row[column] + padding : padding + row[column]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace foreshard::profiler
