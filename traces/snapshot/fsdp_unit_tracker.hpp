// Tracks the FSDP unit that a device's program is in over time, from the ranges that FSDP records
// around its phases: "FSDP::pre_forward (layers.3)".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/meaning/fsdp_scopes.hpp"
#include "traces/snapshot/snapshot.hpp"

namespace foreshard::traces {

class FsdpUnitTracker {
 public:
  FsdpUnitTracker(const Snapshot& snapshot, int device);

  // Moves on to a later moment.
  void advance(std::int64_t time_us);

  // The unit of the innermost open range that names one; between ranges the unit whose forward or
  // backward has begun and not ended. Empty outside of all.
  const std::string& current() const {
    return open_.empty() ? scopes_.current().unit : open_.back();
  }

 private:
  const Snapshot& snapshot_;
  int device_;
  std::size_t next_ = 0;  // annotation
  std::vector<std::string> open_;
  FsdpScopes<std::string> scopes_;
};

}  // namespace foreshard::traces
