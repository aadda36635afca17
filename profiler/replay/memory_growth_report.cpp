// What grew between two recordings as JSON and as text.
#include <algorithm>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "models/base/figures.hpp"
#include "models/base/json_text.hpp"
#include "profiler/replay/memory_growth_json.hpp"
#include "profiler/report/format.hpp"
#include "traces/input/bounded_sum.hpp"

namespace foreshard::profiler {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kShownHolders = 8, kShownFrames = 8, kOwnerWidth = 50;

ordered_json held_json(const HeldBlocks& held) {
  return {{"blocks", held.blocks}, {"bytes", held.bytes}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// "model.py:56" of the innermost frame that is not PyTorch's own; nothing where there is none.
std::string place_in_program(const std::string& stack) {
  for (const std::string& frame : lines_of(stack)) {
    if (frame.find(".py:") == std::string::npos || frame.find("/torch/") != std::string::npos) {
      continue;
    }
    return frame.substr(frame.find_last_of("/ ") + 1);
  }
  return "";
}

std::string held_by(const HolderGrowth& holder) {
  const std::string place = place_in_program(holder.stack);
  return (holder.owner.empty() ? holder.category : holder.owner) +
         (place.empty() ? "" : ", " + place);
}

std::string sentence(const RankGrowth& growth) {
  const std::int64_t more = growth.candidate_bytes - growth.baseline_bytes;
  const std::string rank = "Rank " + std::to_string(growth.rank) + " holds ";
  if (growth.holders.empty()) {
    return rank + binary_bytes(growth.candidate_bytes) +
           " at the end of both, requested by the same.";
  }
  std::string text = rank + binary_bytes(growth.candidate_bytes) + " at the end of the candidate, ";
  if (more == 0) return text + "as much as at the end of the baseline.";
  return text + binary_bytes(std::abs(more)) + (more > 0 ? " more" : " less") +
         " than at the end of the baseline.";
}

std::string holders_table(const RankGrowth& growth) {
  TextTable table({"grown by", "blocks", "baseline", "candidate", "held by"}, {4});
  for (const HolderGrowth& holder : growth.holders) {
    if (holder.bytes() <= 0 || table.rows() == kShownHolders) break;
    const std::int64_t blocks = holder.candidate.blocks - holder.baseline.blocks;
    table.add({binary_bytes(holder.bytes()), (blocks > 0 ? "+" : "") + std::to_string(blocks),
               binary_bytes(holder.baseline.bytes), binary_bytes(holder.candidate.bytes),
               truncate(held_by(holder), kOwnerWidth, kOwnerWidth / 2)});
  }
  return table.rows() == 0 ? "" : "\n" + table.text();
}

// What the table leaves out.
std::string rest(const RankGrowth& growth) {
  std::int64_t grown = 0, shrunk = 0;
  std::size_t shown = 0;
  for (const HolderGrowth& holder : growth.holders) {
    if (holder.bytes() < 0) shrunk = traces::bounded_sum(shrunk, -holder.bytes());
    if (holder.bytes() > 0 && ++shown > kShownHolders) {
      grown = traces::bounded_sum(grown, holder.bytes());
    }
  }
  std::vector<std::string> parts;
  if (grown > 0) parts.push_back("others grew by " + binary_bytes(grown));
  if (shrunk > 0) parts.push_back("others shrank by " + binary_bytes(shrunk));
  return parts.empty() ? "" : "  " + join(parts, ", ") + "\n";
}

std::string stack_of_the_largest(const RankGrowth& growth) {
  if (growth.holders.empty() || growth.holders[0].bytes() <= 0) return "";
  const std::vector<std::string> frames = lines_of(growth.holders[0].stack);
  if (frames.empty()) return "";
  std::string text = "\n  stack of the first, innermost call first\n";
  const std::size_t room = report_width() - 4;
  for (std::size_t i = 0; i < std::min(frames.size(), kShownFrames); ++i) {
    text += "    " + truncate(frames[i], room, room / 2) + "\n";
  }
  if (frames.size() > kShownFrames) {
    text += "    and " + std::to_string(frames.size() - kShownFrames) + " more\n";
  }
  return text;
}

}  // namespace

ordered_json growth_json(const std::vector<RankGrowth>& growth) {
  ordered_json ranks = ordered_json::array();
  for (const RankGrowth& rank : growth) {
    ordered_json holders = ordered_json::array();
    for (const HolderGrowth& holder : rank.holders) {
      holders.push_back({{"category", holder.category},
                         {"owner", holder.owner},
                         {"stack", lines_of(holder.stack)},
                         {"grown_bytes", holder.bytes()},
                         {"baseline", held_json(holder.baseline)},
                         {"candidate", held_json(holder.candidate)}});
    }
    ranks.push_back({{"rank", rank.rank},
                     {"baseline_bytes", rank.baseline_bytes},
                     {"candidate_bytes", rank.candidate_bytes},
                     {"holders", std::move(holders)}});
  }
  return ranks;
}

std::string to_json(const std::vector<RankGrowth>& growth) {
  return json_text(ordered_json{{"growth", growth_json(growth)}}, 2);
}

std::string report_text(const std::vector<RankGrowth>& growth) {
  std::string text;
  for (const RankGrowth& rank : growth) {
    text += (text.empty() ? "" : "\n") + wrap(sentence(rank), 2) + holders_table(rank) +
            rest(rank) + stack_of_the_largest(rank);
  }
  return text;
}

}  // namespace foreshard::profiler
