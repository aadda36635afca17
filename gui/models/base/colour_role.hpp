// What a colour stands for. Models and views speak of roles; the theme (gui/paint) has their tokens.
//
// Chrome is grey, colour means data. Five hues, one meaning each: blue forward and what it leaves
// behind, orange backward, violet parameters on the move, magenta gradients, teal the optimizer.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/program/cost_source.hpp"

namespace foreshard::gui {

enum class Role : std::uint8_t {
  canvas,
  panel,
  raised,
  line,
  strong_line,
  hover,
  shade,
  grid,
  text,
  text2,
  text3,
  ink,        // primary buttons, what is selected
  selection,  // outline of the selected event
  focus,      // focus ring, range, marks
  ok,
  warn,  // also exposed communication
  error,

  // Time:
  forward,
  loss,
  recompute,
  backward,
  optimizer,
  all_gather,
  reduce_scatter,
  all_reduce,
  copies,  // between host and device
  host,    // host threads, the root unit
  setup,
  report,

  // Memory, in the order in which categories are stacked, bottom to top:
  memory_parameters,
  memory_gradients,
  memory_optimizer_states,
  memory_unsharded_parameters,
  memory_all_gather,
  memory_unsharded_gradients,
  memory_reduce_scatter,
  memory_activations,
  memory_temporaries,
  memory_inputs,
  memory_workspaces,

  // Where the time of a prediction comes from:
  cost_measured,
  cost_fitted,
  cost_modelled,
  cost_unknown,
  kCount
};

// How a kernel departs from its phase's colour.
enum class Tint : std::uint8_t {
  plain,      // matmuls
  attention,  // darker
  rest,       // towards the canvas
  copy,       // paler
};

// Of a phase by the name that programs and traces use ("forward"); `host` of any other.
Role role_of_phase(std::string_view phase);
// Of a category of memory ("activations"); `memory_temporaries` of any other.
Role role_of_category(std::string_view category);
// `host` of what no cost model was asked for.
Role role_of_cost_source(CostSource source);
// Of a device event: collectives, copies of parameters and gradients and copies to the host have
// colours of their own, kernels that of their phase.
struct EventColour {
  Role role = Role::host;
  Tint tint = Tint::plain;
  bool operator==(const EventColour&) const = default;
};
EventColour colour_of_operator(std::string_view name, std::string_view phase);

}  // namespace foreshard::gui
