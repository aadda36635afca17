// What collectives take on each technology of links and networks, as terms of one law
// (collective_time.hpp). The terms are in models/hardware/catalogue/collectives.csv, fitted to the
// measured collectives of catalogue/interconnect.csv; `scripts/collectives_table` fits them anew,
// leaving out one source at a time.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "models/base/error.hpp"

namespace foreshard::simulator {

// Of the links inside a node, of switches that reduce, or of a network between nodes.
struct LinkTerms {
  double efficiency = 1;   // of the data sheet's bandwidth that large collectives reach
  double startup_us = 0;   // once in a collective
  double hop_us = 0;       // for each step from one rank to the next
  double pipeline_us = 0;  // for each step, of filling it: weighs with the root of the bytes; with
                           // switches for the root of the ranks
  double least_ranks = 0;  // of a node, with which NCCL takes switches that reduce
};

struct CollectiveTerms {
  double launch_us = 0;      // of the shortest collective
  double filling_bytes = 0;  // a rank's part of the buffer above which every step is filled
  std::map<std::string, LinkTerms, std::less<>> technologies;

  // Those of the longest name with which the text begins: "IB NDR" has those of IB; of `otherwise`,
  // which is there, where no name fits.
  const LinkTerms& of(std::string_view technology, std::string_view otherwise) const;
  // The name of those terms.
  std::string_view name_of(std::string_view technology, std::string_view otherwise) const;
};

Result<CollectiveTerms> parse_collective_terms(std::string_view csv, const std::string& file);

const CollectiveTerms& bundled_collective_terms();

}  // namespace foreshard::simulator
