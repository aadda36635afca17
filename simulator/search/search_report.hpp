// What a search found, as JSON, as a table and as a plot; and the runner-up beside the best plan.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "simulator/search/search.hpp"

namespace foreshard::simulator {

// The contract of docs/json.md.
std::string search_json(const SearchRequest& request, const SearchAnswer& answer);

// A line for each plan of the top and the fronts: which of these it is in, what it reaches, its values.
std::string search_csv(const SearchAnswer& answer);

// The fronts as an SVG picture: tokens/s against reserved memory and, where prices are known, against
// cost. Points are numbered and listed below; browsers show all of a point's values beside the pointer.
std::string search_svg(const SearchAnswer& answer);

// The keys that vary and whose values are not the same in all of these plans.
std::set<std::string> keys_that_differ(const std::vector<FoundPlan>& plans);

// A key in which two plans differ.
struct PlanDifference {
  std::string key, best, other;  // values as a plan file spells them
};
std::vector<PlanDifference> differences(const FoundPlan& best, const FoundPlan& other);

// What the second of the top lacks beside the first, in words; "" where there is no second.
std::string runner_up_text(const SearchAnswer& answer, Objective objective);

// "h100-sxm", and "h100-sxm x 64"
std::string machine_name(const SearchTarget& target);
std::string target_name(const SearchTarget& target);

}  // namespace foreshard::simulator
