#include "traces/input/rank_in_name.hpp"

#include <charconv>
#include <filesystem>
#include <string_view>

#include "traces/input/limits.hpp"

namespace foreshard::traces {

std::optional<std::int32_t> rank_in_name(const std::string& path) {
  constexpr std::string_view kRank = "rank";
  const std::string name = std::filesystem::path(path).filename().string();
  std::optional<std::int32_t> last;
  for (std::size_t at = name.find(kRank); at != std::string::npos; at = name.find(kRank, at + 1)) {
    const std::size_t digits = name.find_first_not_of("_-", at + kRank.size());
    if (digits == std::string::npos) break;
    std::int32_t rank = 0;
    const auto parsed = std::from_chars(name.data() + digits, name.data() + name.size(), rank);
    if (parsed.ec == std::errc() && rank >= 0 && rank < kMaxRanks) last = rank;
  }
  return last;
}

}  // namespace foreshard::traces
