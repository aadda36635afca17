// What each key of a plan means and allows: the reference that `foreshard plan --defaults` prints and
// docs/plan.md holds. Meanings come from one table, everything else from the list of keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/plan/plan.hpp"

namespace foreshard {

struct PlanKeyReference {
  std::string section;  // empty: at the top of the file
  std::string key;
  std::string value;    // its default as the file spells it; empty: not written
  std::string allowed;  // "an integer from 1 to 4096"
  std::string meaning;
};

// Every key in the order of the file.
std::vector<PlanKeyReference> plan_reference();

// The meaning of "section.key" from the table; empty for one that it lacks. And all its keys.
std::string_view meaning_of(std::string_view key);
std::vector<std::string_view> described_keys();
// What a section is about.
std::string_view section_meaning(std::string_view section);

// The default plan as a plan file, each key below a comment of its meaning and what it allows.
std::string commented_default_plan();
// The same as a page of the documentation.
std::string plan_reference_markdown();

}  // namespace foreshard
