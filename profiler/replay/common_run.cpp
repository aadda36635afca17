#include "profiler/replay/common_run.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace foreshard::profiler {
namespace {

using Values = std::span<const std::uint64_t>;

constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15;

// The finalizer of SplitMix64, so that close values have unlike hashes.
std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// Calls `use(begin, hash)` with every window of `length` values, until one returns true.
template <typename Use>
void each_window(Values values, std::size_t length, const Use& use) {
  if (length > values.size()) return;
  std::uint64_t hash = 0, oldest = 1;  // the factor of the value that leaves
  for (std::size_t i = 0; i < length; ++i) {
    hash = hash * kBase + mixed(values[i]);
    if (i > 0) oldest *= kBase;
  }
  for (std::size_t begin = 0;; ++begin) {
    if (use(begin, hash) || begin + length == values.size()) return;
    hash = (hash - oldest * mixed(values[begin])) * kBase + mixed(values[begin + length]);
  }
}

std::optional<CommonRun> run_of(Values a, Values b, std::size_t length) {
  std::unordered_map<std::uint64_t, std::size_t> windows;
  each_window(a, length, [&](std::size_t begin, std::uint64_t hash) {
    windows.try_emplace(hash, begin);
    return false;
  });
  std::optional<CommonRun> found;
  each_window(b, length, [&](std::size_t begin, std::uint64_t hash) {
    const auto same = windows.find(hash);
    if (same == windows.end()) return false;
    const Values window = a.subspan(same->second, length);
    if (std::equal(window.begin(), window.end(), b.begin() + static_cast<std::ptrdiff_t>(begin))) {
      found = {same->second, begin, length};
    }
    return found.has_value();
  });
  return found;
}

}  // namespace

// A run of some length has runs of every smaller one in it.
CommonRun longest_common_run(Values a, Values b) {
  CommonRun longest;
  std::size_t least = 1, most = std::min(a.size(), b.size());
  while (least <= most) {
    const std::size_t length = least + (most - least) / 2;
    if (const auto run = run_of(a, b, length)) {
      longest = *run;
      least = length + 1;
    } else {
      most = length - 1;
    }
  }
  return longest;
}

}  // namespace foreshard::profiler
