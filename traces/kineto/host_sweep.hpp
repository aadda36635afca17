// Goes through one host thread in the order of time and keeps, at each moment, what is open there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "traces/fsdp_scopes.hpp"
#include "traces/kineto/event_context.hpp"
#include "traces/kineto/name_info.hpp"

namespace foreshard::traces::kineto {

// A host event that others refer to.
struct Reference {
  std::int64_t key = 0;     // correlation, or number of the operator
  std::uint32_t event = 0;  // index
  // The outermost event around it, or itself, that has a cost key; without any, the innermost that
  // states how large it is.
  std::uint32_t owner = 0;
  auto operator<=>(const Reference&) const = default;
};
constexpr std::uint32_t kNoEvent = ~std::uint32_t{0};

class HostSweep {
 public:
  HostSweep(Collected& recording, NameTable& names, EventContexts& out)
      : recording_(recording), names_(names), out_(out) {}

  // `instants`: indices of the thread's instants of the allocator, by time.
  void sweep(std::size_t lane, std::span<const std::uint32_t> instants);

  std::vector<Reference> launches;          // by the calls that have a correlation
  std::vector<Reference> operators;         // that have a number
  std::vector<std::uint32_t> kernel_calls;  // owners of the calls that launch kernels

 private:
  struct Open {
    std::int64_t end_ns;
    StringId unit, phase, name;
    std::uint32_t owner;
  };

  Open around(std::int64_t time_ns);
  void place(std::uint32_t instant);
  void visit(std::uint32_t index);
  void rename_cost(Event& event, Operator op);

  Collected& recording_;
  NameTable& names_;
  EventContexts& out_;
  std::vector<Open> open_;
  FsdpScopes<StringId> scopes_;
};

}  // namespace foreshard::traces::kineto
