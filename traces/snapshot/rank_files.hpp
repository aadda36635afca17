// The snapshots of a run in one folder, a file for each rank, as torchtitan writes them: which files these are, and
// whose each is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/error.hpp"

namespace foreshard::traces {

// By its first bytes, unpacked.
bool begins_as_pickle(std::string_view text);

struct RankFile {
  std::int32_t rank = 0;
  std::string path;
};

// By rank: the number behind the last "rank" of a file's name, or where the names do not tell the files apart, their
// order. Files of other types are left out.
Result<std::vector<RankFile>> rank_files(const std::string& folder);

}  // namespace foreshard::traces
