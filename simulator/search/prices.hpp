// What an hour of a GPU costs, in US dollars.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "models/base/error.hpp"
#include "models/hardware/hardware.hpp"

namespace foreshard::simulator {

// By the id of a machine. From a CSV file with the columns `machine` and `usd_per_hour`, of one GPU.
using Prices = std::map<std::string, double>;
Result<Prices> parse_prices(std::string_view csv, const std::string& file);
Result<Prices> load_prices(const std::string& path);

struct Price {
  double usd_per_hour = 0;  // 0: unknown
  std::string source;       // "gpu_8x_h100_sxm5, on-demand, 2026-03"; "": unknown
};

// From `prices`, or else the catalogue's: of an instance its own, of a part that of the cheapest instance
// with as many of them in a node.
Price price_of(const Machine& machine, const Prices& prices);

}  // namespace foreshard::simulator
