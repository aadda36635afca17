// Which FSDP unit's own work a thread is in, between the ranges that FSDP records: a unit begins with
// its pre_forward or pre_backward and ends with its first post_forward or post_backward
// (annotations.hpp). Units nest: when an inner one ends, the one around it goes on; what is still
// open inside of one that ends has lost its own end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "traces/meaning/annotations.hpp"

namespace foreshard::traces {

// `Text` is text or its number; by default it is nothing.
template <typename Text>
class FsdpScopes {
 public:
  struct Unit {
    Text unit{}, phase{};
  };

  // A range with this meaning for a unit has ended.
  void change(Annotation::Scope scope, const Text& unit, const Text& phase) {
    switch (scope) {
      case Annotation::Scope::none: break;
      case Annotation::Scope::resets: open_.clear(); break;
      case Annotation::Scope::begins:
        if (open_.size() >= kMaxOpen) open_.erase(open_.begin());
        open_.push_back({unit, phase});
        break;
      case Annotation::Scope::ends: {
        const auto its = std::find_if(open_.rbegin(), open_.rend(), [&](const Unit& open) {
          return open.unit == unit && open.phase == phase;
        });
        if (its != open_.rend()) open_.erase(std::prev(its.base()), open_.end());
        break;
      }
    }
  }

  // The innermost unit, nothing outside of all.
  const Unit& current() const { return open_.empty() ? none_ : open_.back(); }
  void clear() { open_.clear(); }

 private:
  static constexpr std::size_t kMaxOpen = 256;  // deeper is a recording that lacks their ends

  Unit none_;
  std::vector<Unit> open_;
};

}  // namespace foreshard::traces
