#include "traces/snapshot/rank_files.hpp"

#include <algorithm>
#include <set>

#include "models/base/input_file.hpp"
#include "traces/input/byte_source.hpp"
#include "traces/input/rank_in_name.hpp"

namespace foreshard::traces {
namespace {

constexpr const char* kSnapshots = "CUDA memory snapshots (pickle)";
constexpr std::size_t kFirstBytes = 16;

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
