#include "models/base/host_memory.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

#include "models/base/control_groups.hpp"

namespace foreshard {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The number behind a word at the start of a line, as in "MemAvailable:   23456 kB".
std::optional<std::int64_t> number_after(const std::string& text, const std::string& word) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(word)) continue;
    const std::size_t digit = line.find_first_of("0123456789", word.size());
    std::int64_t value = 0;
    if (digit == std::string::npos) return std::nullopt;
    const auto read = std::from_chars(line.data() + digit, line.data() + line.size(), value);
    if (read.ec == std::errc()) return value;
  }
  return std::nullopt;
}

// What one control group leaves: its limit less what it holds, of which the page cache can be had
// back; but not what it counts as cache and has no file to go to, shared memory. No limit is "max" in version 2 and a very large number in version 1.
std::optional<std::int64_t> left_by(const ControlGroup& group) {
  const auto number_in = [&](const char* file, const std::string& word = "") {
    return number_after(text_of(group.folder / file), word);
  };
  const bool is_first = group.version == 1;
  const auto limit = number_in(is_first ? "memory.limit_in_bytes" : "memory.max");
  const auto used = number_in(is_first ? "memory.usage_in_bytes" : "memory.current");
  if (!limit || !used) return std::nullopt;
  const std::int64_t cache =
      number_in("memory.stat", is_first ? "total_cache " : "file ").value_or(0) -
      number_in("memory.stat", is_first ? "total_shmem " : "shmem ").value_or(0);
  return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, *used - cache));
}

}  // namespace

std::optional<std::int64_t> available_memory(const fs::path& root) {
  const std::string meminfo = text_of(root / "proc/meminfo");
  const auto available = number_after(meminfo, "MemAvailable:");
  if (!available) return std::nullopt;
  std::int64_t bytes = (*available + number_after(meminfo, "SwapFree:").value_or(0)) * 1024;
  for (const ControlGroup& group : control_groups(root, "memory")) {
    if (const auto left = left_by(group)) bytes = std::min(bytes, *left);
  }
  return bytes;
}

}  // namespace foreshard
