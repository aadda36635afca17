#include "models/hardware/host_times.hpp"

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "models/base/csv.hpp"
#include "models/hardware/catalogue/catalogue_text.hpp"
#include "models/hardware/csv_numbers.hpp"

namespace foreshard {
namespace {

constexpr std::string_view kAny = "any";

// The bundled tables are a part of the program, as are their errors: they throw.
CsvTable bundled(std::string_view text, const char* file) {
  return parse_csv(text, file).value();
}

double number_of(const CsvTable& table, const CsvRow& row, std::string_view column) {
  const std::string_view field = table.at(row, column);
  return field.empty() ? 0 : csv_number(field).value();
}

using Line = std::array<std::string_view, 3>;

struct LineHash {
  std::size_t operator()(const Line& line) const {
    std::size_t hash = 0;
    for (const std::string_view word : line) {
      hash = 31 * hash + std::hash<std::string_view>{}(word);
    }
    return hash;
  }
};

class Lines {
 public:
  Lines() : table_(bundled(host_times_csv(), "host_times.csv")) {
    for (const CsvRow& row : table_.rows) {
      lines_[{table_.at(row, "what"), table_.at(row, "phase"), table_.at(row, "name")}] = {
          number_of(table_, row, "us"), number_of(table_, row, "per_tensor_us"),
          number_of(table_, row, "driver_us")};
    }
  }

  HostTime find(std::string_view what, std::string_view phase, std::string_view name) const {
    const std::array<Line, 4> nearest_first{
        {{what, phase, name}, {what, kAny, name}, {what, phase, kAny}, {what, kAny, kAny}}};
    for (const Line& line : nearest_first) {
      const auto found = lines_.find(line);
      if (found != lines_.end()) return found->second;
    }
    return {};
  }

 private:
  CsvTable table_;  // which holds the words
  std::unordered_map<Line, HostTime, LineHash> lines_;
};

}  // namespace

HostTime host_time(std::string_view what, std::string_view phase, std::string_view name) {
  static const Lines lines;
  return lines.find(what, phase, name);
}

double relative_host_time(std::string_view machine_id) {
  static const auto hosts = [] {
    const CsvTable table = bundled(hosts_csv(), "hosts.csv");
    std::map<std::string, double, std::less<>> result;
    for (const CsvRow& row : table.rows) {
      result.emplace(table.at(row, "machine"), number_of(table, row, "relative_time"));
    }
    return result;
  }();
  const auto found = hosts.find(machine_id);
  return (found != hosts.end() ? found : hosts.find(kAny))->second;
}

const HostRange* host_range(std::string_view name) {
  static const auto ranges = [] {
    const CsvTable table = bundled(host_ranges_csv(), "host_ranges.csv");
    std::map<std::string, HostRange, std::less<>> result;
    for (const CsvRow& row : table.rows) {
      result.emplace(table.at(row, "name"),
                     HostRange{number_of(table, row, "us"), number_of(table, row, "weight")});
    }
    return result;
  }();
  const auto found = ranges.find(name);
  return found == ranges.end() ? nullptr : &found->second;
}

}  // namespace foreshard
