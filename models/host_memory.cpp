#include "models/host_memory.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>

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

// What one control group (version 2) leaves: its limit less what it holds, of which the page cache
// can be had back. "max" is no limit.
std::optional<std::int64_t> left_by(const fs::path& group) {
  const auto limit = number_after(text_of(group / "memory.max"), "");
  const auto used = number_after(text_of(group / "memory.current"), "");
  if (!limit || !used) return std::nullopt;
  const std::int64_t cache = number_after(text_of(group / "memory.stat"), "file ").value_or(0);
  return std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, *used - cache));
}

}  // namespace

std::optional<std::int64_t> available_memory(const fs::path& root) {
  const std::string meminfo = text_of(root / "proc/meminfo");
  const auto available = number_after(meminfo, "MemAvailable:");
  if (!available) return std::nullopt;
  std::int64_t bytes = (*available + number_after(meminfo, "SwapFree:").value_or(0)) * 1024;
  // "0::/a/b": the process' group; every group above it limits it as well.
  std::istringstream lines(text_of(root / "proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("0::/")) continue;
    const fs::path top = root / "sys/fs/cgroup";
    fs::path group = top / line.substr(4);
    for (;; group = group.parent_path()) {
      if (const auto left = left_by(group)) bytes = std::min(bytes, *left);
      if (group.string().size() <= top.string().size()) break;
    }
  }
  return bytes;
}

}  // namespace foreshard
