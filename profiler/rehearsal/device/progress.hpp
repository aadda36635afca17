// How far streams are known to have come: of each, the number of events that have been recorded on it. A stream's own
// progress is what its next work comes after, an event's is that of its stream at that moment, and the
// host's is what it has waited for.
#pragma once

#include <cstdint>
#include <unordered_map>

#include <driver_types.h>

namespace foreshard::rehearsal {

class Progress {
 public:
  void advance(cudaStream_t stream) { ++events_[stream]; }
  void join(const Progress& other);
  bool includes(const Progress& other) const;

 private:
  std::unordered_map<cudaStream_t, std::int64_t> events_;
};

}  // namespace foreshard::rehearsal
