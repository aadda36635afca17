#include "profiler/report/report_memory.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "models/base/number_ranges.hpp"
#include "profiler/report/format.hpp"
#include "profiler/report/numbered_names.hpp"
#include "traces/input/bounded_sum.hpp"

namespace foreshard::profiler {
namespace {

using traces::bounded_sum;

constexpr std::size_t kHoldersShown = 7, kRunsShown = 2, kRoleWidth = 12;
constexpr const char* kTitle = "at the peak";
constexpr std::size_t kColumns = 64;  // of a line over time

std::string line_over_time(const MemoryTimeline& timeline, const std::string& name,
                           std::int64_t traces::MemoryLevels::*level, std::int64_t most) {
  std::vector<std::int64_t> values;
  std::int64_t highest = 0;
  for (const MemoryBucket& bucket : timeline.buckets) {
    values.push_back(bucket.highest.*level);
    highest = std::max(highest, values.back());
  }
  if (highest == 0) return "";
  return "  " + name + std::string(10 - width(name), ' ') + "|" +
         sparkline(values, most, kColumns) + "| " + binary_bytes(highest) + "\n";
}

std::string limits_of_steps(const RankAnalysis& rank) {
  const MemoryTimeline& timeline = rank.memory_timeline;
  const std::size_t columns = std::min(kColumns, timeline.buckets.size());
  const double length =
      static_cast<double>(timeline.bucket_ns) * static_cast<double>(timeline.buckets.size());
  std::string line(columns, ' ');
  std::size_t free = 0;  // the first column that no step's number covers
  for (const StepAnalysis& step : rank.steps) {
    const double since =
        static_cast<double>(step.start_ns) - static_cast<double>(timeline.start_ns);
    const double column = static_cast<double>(columns) * since / length;
    const std::string text = "|" + std::to_string(step.step);
    if (step.step < 1 || column < static_cast<double>(free)) continue;
    if (column + static_cast<double>(text.size()) > static_cast<double>(columns)) break;
    const auto at = static_cast<std::size_t>(column);
    line.replace(at, text.size(), text);
    free = at + text.size() + 1;
  }
  if (free == 0) return "";
  return "  steps      " + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

std::vector<Owner> grouped_owners(const std::vector<Owner>& owners) {
  struct Family {
    Owner owner;
    std::vector<std::int64_t> numbers;
  };
  std::map<std::pair<std::string, std::string>, Family> families;
  for (const Owner& one : owners) {
    const NumberedName split = split_number(one.name);
    Family& family = families[{split.before, split.after}];
    family.owner.bytes = bounded_sum(family.owner.bytes, one.bytes);
    family.owner.blocks += one.blocks;
    if (split.number >= 0) family.numbers.push_back(split.number);
  }
  std::vector<Owner> result;
  for (auto& [name, family] : families) {
    std::vector<std::string> parts = number_ranges(std::move(family.numbers));
    const bool are_many = parts.size() > kRunsShown;
    if (are_many) parts.resize(kRunsShown);
    family.owner.name =
        name.first + join(parts, ", ") + (are_many ? " and others" : "") + name.second;
    result.push_back(std::move(family.owner));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Owner& a, const Owner& b) { return a.bytes > b.bytes; });
  return result;
}

std::string memory_over_time(const RankAnalysis& rank) {
  const MemoryTimeline& timeline = rank.memory_timeline;
  const MemoryPeak& peak = rank.peak;
  if (timeline.buckets.size() < 2) return "";
  const std::int64_t most = std::max(peak.allocated_bytes, peak.reserved_bytes);
  std::string text = line_over_time(timeline, "allocated", &traces::MemoryLevels::allocated, most) +
                     line_over_time(timeline, "reserved", &traces::MemoryLevels::reserved, most);
  if (peak.host_bytes > most / 20) {
    text += line_over_time(timeline, "host", &traces::MemoryLevels::host, peak.host_bytes);
  }
  if (text.empty()) return "";
  // Of impossible times only that they are long is known.
  constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max() / kTimelineBuckets;
  const std::int64_t length =
      std::min(timeline.bucket_ns, kLongest) * static_cast<std::int64_t>(timeline.buckets.size());
  return "\n  memory of rank " + std::to_string(rank.rank) + " over " + duration(length) + "\n" +
         text + limits_of_steps(rank);
}

std::string memory_at_the_peak(const RankAnalysis& rank) {
  const MemoryPeak& peak = rank.peak;
  if (peak.allocated_bytes <= 0) return "";
  std::vector<Owner> categories;
  for (const auto& [name, bytes] : peak.by_category) categories.push_back({name, bytes, 0});
  std::stable_sort(categories.begin(), categories.end(),
                   [](const Owner& a, const Owner& b) { return a.bytes > b.bytes; });
  const std::vector<Owner> owners = grouped_owners(peak.owners);
  std::vector<std::vector<std::string>> table_rows;
  std::vector<std::size_t> widths(6, 6);
  const std::size_t rows = std::min(kHoldersShown, std::max(categories.size(), owners.size()));
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<std::string> row(6);
    if (i < categories.size()) {
      Owner category = categories[i];
      if (i + 1 == kHoldersShown && categories.size() > kHoldersShown) {
        category = {"others", 0, 0};
        for (std::size_t k = i; k < categories.size(); ++k) {
          category.bytes = bounded_sum(category.bytes, categories[k].bytes);
        }
      }
      row[0] = category.name;
      row[1] = binary_bytes(category.bytes);
      row[2] = percent(category.bytes, peak.allocated_bytes);
    }
    if (i < owners.size()) {
      row[3] = std::to_string(owners[i].blocks);
      row[4] = binary_bytes(owners[i].bytes);
      row[5] = owners[i].name;
    }
    for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], width(row[k]));
    table_rows.push_back(std::move(row));
  }
  widths[0] = std::max(widths[0], width(kTitle));
  std::size_t room = report_width() - 2 * widths.size();
  for (std::size_t k = 0; k < 5; ++k) room -= std::min(room, widths[k]);
  TextTable table({kTitle, "bytes", "share", "blocks", "bytes", "held by"}, {0, 5});
  for (auto& row : table_rows) {
    row[5] = truncate(row[5], std::max(room, 2 * kRoleWidth), kRoleWidth);
    table.add(std::move(row));
  }
  return "\n" + table.text();
}

}  // namespace foreshard::profiler
