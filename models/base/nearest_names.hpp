// Suggestions for misspelt or shortened names, for messages.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace foreshard {

// Of the candidates, best first, at most `most`: those near by edit distance, and those that hold the
// word ("h100": "h100-sxm"). Case does not count.
std::vector<std::string> nearest_names(const std::string& word,
                                       const std::vector<std::string>& candidates,
                                       std::size_t most = 3);

// "; did you mean 'a', 'b' or 'c'?" for a message's end; empty where there are none.
std::string did_you_mean(const std::vector<std::string>& names);

}  // namespace foreshard
