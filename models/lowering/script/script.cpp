#include "models/lowering/script/script.hpp"

#include <set>

namespace foreshard::lowering {

std::vector<Slot> kept_slots(const Segment& segment, const Script& forward) {
  std::set<Slot> alive;
  if (segment.input != kNone) alive.insert(segment.input);
  for (const Action& action : forward.actions) {
    if (action.kind == Action::Kind::allocate) alive.insert(action.index);
    if (action.kind == Action::Kind::free) alive.erase(action.index);
  }
  alive.erase(segment.output);
  return {alive.begin(), alive.end()};
}

}  // namespace foreshard::lowering
