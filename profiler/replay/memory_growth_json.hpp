// What grew, as the part of an answer of `foreshard compare --json`.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "profiler/replay/memory_growth.hpp"

namespace foreshard::profiler {

nlohmann::ordered_json growth_json(const std::vector<RankGrowth>& growth);

}  // namespace foreshard::profiler
