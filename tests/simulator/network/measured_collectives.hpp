// The measured collectives of the catalogue (models/hardware/catalogue/interconnect.csv) as
// questions to a CollectiveNetwork, and the terms fitted to them: what the test of the published
// measurements and `scripts/collectives_table` share.
//
// Only bus bandwidths of 256 KiB and more count, each table of a source the same however many rows
// it has.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulator/network/collective_time.hpp"

namespace foreshard::simulator {

struct MeasuredCollective {
  std::string system, source, table;  // `table` is unique for one sweep of one source
  Machine machine;
  std::string network;  // technology between the nodes; the question does not tell it
  double node_bandwidth = 0;
  Operator op = Operator::all_gather;
  double bytes = 0, bus_gb_s = 0;
  GroupPlace place;
  std::optional<Algorithm> forced;
  double weight = 1;  // one over the rows of its table
};

std::vector<MeasuredCollective> measured_collectives();

// The rows between nodes as questions that tell the network's technology, as an instance does.
std::vector<MeasuredCollective> with_networks(std::span<const MeasuredCollective> rows);

// Predicted over measured bus bandwidth, less one.
double relative_error(const MeasuredCollective& row, const CollectiveTerms& terms);

// Of absolute values, each with its row's weight.
struct ErrorQuantiles {
  double median = 0, nine_in_ten = 0;
};
ErrorQuantiles error_quantiles(std::span<const MeasuredCollective> rows,
                               const CollectiveTerms& terms);

// Terms that fit the rows best, by coordinate descent from `start` on the logarithms of the launch,
// the filling and, of each technology, its efficiency and its latencies together; all stay near
// their start where rows are few.
CollectiveTerms fitted_terms(std::span<const MeasuredCollective> rows,
                             const CollectiveTerms& start);

// A start that has seen no measurement: the same for all links, all switches and all networks. Hops
// inside a node are NCCL's.
CollectiveTerms unfitted_terms();

}  // namespace foreshard::simulator
