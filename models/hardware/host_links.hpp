// What the devices of one host share on their way to its memory, and the storage that it writes to:
// catalogue/host_links.csv. A machine's own line comes first, then that of its part, then the line
// "any" for whatever those leave out.
#pragma once

#include <cstdint>
#include <string>

#include "models/hardware/hardware.hpp"

namespace foreshard {

// Rates are one way, in bytes per second; 0: not known, so that they limit nothing.
struct HostLinks {
  std::int64_t devices = 8;     // of one host
  std::int64_t uplinks = 0;     // links to the processors, over which they are spread; 0: one each
  double uplink_bandwidth = 0;  // of one of them
  double link_share = 1;        // of a link's bandwidth that large copies reach
  double memory_bandwidth = 0;  // of the host's main memory, reading and writing together
  double memory_share = 1;      // likewise, of streams
  double work_bandwidth = 0;    // of what a rank's threads read and write for it
  std::string storage;          // what the host writes to; empty: not known
  double write_bandwidth = 0, read_bandwidth = 0;  // of the storage
  std::string sources;
};

HostLinks host_links_of(const Machine& machine);

}  // namespace foreshard
