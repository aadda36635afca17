// A rank's memory over time, drawn as areas: what is allocated, by category, and what is reserved.
//
// It has a sample after every event of the rank, some 5 bytes each: levels between check points are
// added up, times of the host are the trace's own. A column of pixels that covers many samples shows
// the one at which most was allocated in all, so that no peak is lost at any zoom. A clock decides
// only where samples stand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gui/models/memory/held_values.hpp"
#include "gui/models/memory/host_times.hpp"
#include "gui/models/memory/level_history.hpp"
#include "gui/models/memory/memory_category.hpp"
#include "gui/models/memory/memory_clock.hpp"
#include "traces/intervals.hpp"
#include "traces/trace.hpp"

namespace foreshard::gui {

// What adjacent columns of pixels show.
struct MemoryColumns {
  static constexpr std::uint32_t kNothing = UINT32_MAX;  // before the first event

  std::size_t layers = 0;
  std::vector<std::uint32_t> samples;  // of each column
  std::vector<std::int64_t> tops;      // of each column, of each layer: bytes from the bottom
  std::vector<std::int64_t> reserved;  // the most within the column

  std::size_t size() const { return samples.size(); }
  std::span<const std::int64_t> tops_of(std::size_t column) const {
    return std::span(tops).subspan(column * layers, layers);
  }
  std::int64_t allocated(std::size_t column) const {
    return layers == 0 ? 0 : tops[(column + 1) * layers - 1];
  }
};

class MemoryCurve {
 public:
  MemoryCurve() = default;
  MemoryCurve(const traces::Trace& trace, int rank);  // which stays as long as the curve

  int rank() const { return rank_; }
  // Samples; none where no event is of the device's memory.
  std::size_t size() const { return levels_.size(); }
  const std::vector<MemoryCategory>& layers() const { return layers_; }  // bottom to top

  std::int64_t allocated(std::size_t sample) const { return levels_.total(sample); }
  std::int64_t reserved(std::size_t sample) const { return reserved_[sample]; }
  std::vector<std::int64_t> bytes_by_layer(std::size_t sample) const {
    return levels_.levels(sample);
  }
  // How many of the rank's memory events have happened then, with this one.
  std::size_t events(std::size_t sample) const { return sample + 1; }

  // The first at which most was allocated; there is one unless the curve is empty.
  std::size_t peak() const { return peak_; }
  std::int64_t peak_reserved() const { return peak_reserved_; }
  // The first request that failed.
  std::optional<std::size_t> failure() const { return failure_; }

  bool has(MemoryClock clock) const;
  // The device's where it has one; of snapshots the order of events.
  MemoryClock best_clock() const;
  std::int64_t position(MemoryClock clock, std::size_t sample) const;
  traces::Interval bounds(MemoryClock clock) const;
  // The last sample at or before a position; nothing before the first.
  std::optional<std::size_t> sample_at(MemoryClock clock, std::int64_t position) const;

  // Of columns between neighbouring edges, which ascend.
  MemoryColumns columns(MemoryClock clock, std::span<const std::int64_t> edges) const;

 private:
  // The first sample at or after a position, or size(). `from`: one that is not after it; near it
  // the search is quick.
  std::size_t first_at(MemoryClock clock, std::int64_t position, std::size_t from = 0) const;

  int rank_ = 0;
  bool is_snapshot_ = false;
  std::vector<MemoryCategory> layers_;
  LevelHistory levels_;
  HeldValues reserved_, device_times_;
  HostTimes host_times_;
  std::size_t peak_ = 0;
  std::int64_t peak_reserved_ = 0;
  std::optional<std::size_t> failure_;
};

// The rank's events, which lie together in a trace.
traces::MemoryEventSpan memory_of_rank(const traces::Trace& trace, int rank);

}  // namespace foreshard::gui
