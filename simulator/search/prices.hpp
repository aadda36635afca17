// What an hour of so many GPUs costs, in US dollars. Instances of clouds are rented whole, and over several
// nodes only those that a network joins; a part is rented as the cheapest instance that has it. Prices of
// different kinds (models/hardware/instances.hpp) do not compete: one kind is asked for, and another one
// counts only where no price of that kind is known.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "models/base/error.hpp"
#include "models/hardware/instances.hpp"

namespace foreshard::simulator {

// By the id of a machine. From a CSV file with the columns `machine` and `usd_per_hour`, of one GPU.
using Prices = std::map<std::string, double>;
Result<Prices> parse_prices(std::string_view csv, const std::string& file);
Result<Prices> load_prices(const std::string& path);

struct Rent {
  double usd_per_hour = 0;     // of all that is rented; 0: unknown
  std::string instance = {};   // "": none, the price is one's own and of a part
  std::int64_t instances = 0;  // how many of it
  std::string kind = {};       // word of a PriceKind; "": one's own price
  std::string region = {}, date = {}, source = {};
};

// `gpus` are spread over `nodes` evenly, or fill them. By `prices`, or else by the catalogue.
Rent rent_of(const Machine& machine, int gpus, int nodes, PriceKind kind, const Prices& prices);

}  // namespace foreshard::simulator
