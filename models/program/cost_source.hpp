// Where the time of a task comes from that a cost model answered, best first:
//
//   measured  the cost key was seen in a recording of this machine
//   fitted    a model of its operator, fitted to recordings of this machine, was asked
//   modelled  nothing of the kind was measured; the figure comes from the hardware's data sheet
//   unknown   no data sheet either: the task costs nothing, and the prediction reports it
//
// What no cost model was asked for, such as everything that a recording measured itself, has none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace foreshard {

enum class CostSource : std::uint8_t { none, measured, fitted, modelled, unknown, kCount };

constexpr std::string_view name(CostSource source) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(CostSource::kCount)> kNames{
      "", "measured", "fitted", "modelled", "unknown"};
  return kNames[static_cast<std::size_t>(source)];
}

}  // namespace foreshard
