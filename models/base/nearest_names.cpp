#include "models/base/nearest_names.hpp"

#include <algorithm>
#include <utility>

#include "models/base/error.hpp"
#include "models/base/lower_case.hpp"

namespace foreshard {

std::vector<std::string> nearest_names(const std::string& word,
                                       const std::vector<std::string>& candidates,
                                       std::size_t most) {
  constexpr std::size_t kLeastPart = 2;
  const std::string given = lower_case(word);
  std::vector<std::pair<int, std::string>> found;
  for (const std::string& candidate : candidates) {
    const std::string name = lower_case(candidate);
    const bool holds_it = given.size() >= kLeastPart && name.find(given) != std::string::npos;
    const int distance = edit_distance(given, name);
    const bool is_near = distance < static_cast<int>(given.size()) / 3 + 2;
    if (holds_it || is_near) found.emplace_back(holds_it ? 0 : distance, candidate);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(most, found.size()); ++i) names.push_back(found[i].second);
  return names;
}

std::string did_you_mean(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0                  ? "; did you mean "
             : i + 1 == names.size() ? " or "
                                     : ", ") +
            ("'" + names[i]) + "'";
  }
  return text.empty() ? "" : text + "?";
}

}  // namespace foreshard
