#include "traces/snapshot/rank_files.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>

#include "models/base/input_file.hpp"
#include "traces/input/byte_source.hpp"
#include "traces/input/limits.hpp"

namespace foreshard::traces {
namespace {

constexpr const char* kSnapshots = "CUDA memory snapshots (pickle)";
constexpr std::size_t kFirstBytes = 16;

// 3 of "iteration_10_rank3_memory.pickle".
std::optional<std::int32_t> rank_in_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  constexpr std::string_view kRank = "rank";
  const std::size_t at = name.rfind(kRank);
  const std::size_t digits =
      at == std::string::npos ? at : name.find_first_not_of("_-", at + kRank.size());
  if (digits == std::string::npos) return {};
  std::int32_t rank = 0;
  const auto [end, error] = std::from_chars(name.data() + digits, name.data() + name.size(), rank);
  return error == std::errc() && rank < kMaxRanks ? std::optional(rank) : std::nullopt;
}

}  // namespace

bool begins_as_pickle(std::string_view text) {
  const bool has_protocol =
      text.starts_with('\x80') && text.size() > 1 && text[1] >= 2 && text[1] <= 5;
  return has_protocol || text.starts_with("(d") || text.starts_with("(l") ||
         text.starts_with('}') || text.starts_with(']');
}

Result<std::vector<RankFile>> rank_files(const std::string& folder) {
  auto files = files_in_folder(folder, kSnapshots);
  if (!files) return tl::unexpected(files.error());
  std::erase_if(*files, [](const std::string& file) {
    const auto first = first_bytes(file, kFirstBytes, kSnapshots);
    return !first || !begins_as_pickle(*first);
  });
  if (files->empty()) {
    return fail(folder, "", std::string("contains no snapshot; expected ") + kSnapshots);
  }
  std::vector<RankFile> of_ranks;
  std::set<std::int32_t> ranks;
  for (const std::string& file : *files) {
    of_ranks.push_back({rank_in_name(file).value_or(-1), file});
    ranks.insert(of_ranks.back().rank);
  }
  if (ranks.size() < files->size() || ranks.contains(-1)) {
    for (std::size_t i = 0; i < of_ranks.size(); ++i) of_ranks[i].rank = static_cast<int>(i);
  }
  std::sort(of_ranks.begin(), of_ranks.end(),
            [](const RankFile& a, const RankFile& b) { return a.rank < b.rank; });
  return of_ranks;
}

}  // namespace foreshard::traces
