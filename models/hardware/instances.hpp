// Instances that clouds rent, whole: how many accelerators each has, whether a network joins several of
// them, and what an hour of one costs. Facts and their sources are in catalogue/instances.csv, with the
// price that most ask for, and in catalogue/prices.csv, with prices of other kinds.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/hardware.hpp"

namespace foreshard {

// How an hour is bought, the firmest first. Those of different kinds are different goods: reservations last a year
// or more, capacity blocks days that are paid in advance, and spot instances are taken back at any time.
enum class PriceKind : std::uint8_t { on_demand, reserved, capacity_block, spot };

// By that order.
constexpr std::array<std::string_view, 4> kPriceKinds{"on-demand", "reserved", "capacity-block",
                                                      "spot"};
inline std::string_view word(PriceKind kind) {
  return kPriceKinds[static_cast<std::size_t>(kind)];
}

struct Price {
  PriceKind kind = PriceKind::on_demand;
  double usd_per_hour = 0;  // of the whole instance
  std::string region, date, source;
};

struct Instance {
  std::string id;         // as a machine's
  std::string part;       // the id of the accelerator
  std::int64_t gpus = 1;  // that are rented together
  std::int64_t reach =
      1;  // accelerators without a network between them: as many, or those of a rack
  bool has_network = true;
  std::vector<Price> prices;  // at most one of each kind
};

const std::vector<Instance>& rented_instances();

// The instance that a machine of the catalogue is; nullptr: a part, or a machine of one's own.
const Instance* instance_of(const Machine& machine);

// What to say of so many nodes of a machine that no network joins; "" where one does, or for one node.
std::string missing_network(const Machine& machine, std::int64_t nodes);

}  // namespace foreshard
