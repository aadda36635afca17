#include "simulator/predict/memory_at_peak.hpp"

#include <algorithm>
#include <utility>

namespace foreshard::simulator {

void PeakRecorder::allocated(const Instruction& i, const Buffer& buffer,
                             const Allocation& allocation) {
  const auto stream = static_cast<std::size_t>(buffer.pool);
  note_segments(stream);
  changes_.push_back({allocation.bytes, allocation.block, i.target,
                      static_cast<std::int32_t>(stream), Change::Kind::allocated, i.phase});
}

// Of a request of this stream. What else was given back since the one before is found in the segments.
void PeakRecorder::note_segments(std::size_t stream) {
  const AllocatorStatistics& now = allocator_.statistics();
  const bool took = now.segments_allocated != before_.segments_allocated;
  const bool gave_back = now.segments_released != before_.segments_released;
  if (!took && !gave_back) return;
  if (gave_back) {
    std::fill(reserved_.begin(), reserved_.end(), 0);
    for (const SegmentState& segment : allocator_.segments()) {
      reserved_[static_cast<std::size_t>(segment.stream)] += segment.bytes;
    }
  } else {
    reserved_[stream] += now.reserved - before_.reserved;
  }
  for (std::size_t s = 0; s < reserved_.size(); ++s) {
    if (s != stream && !gave_back) continue;
    changes_.push_back(
        {reserved_[s], kNoBlock, kNone, static_cast<std::int32_t>(s), Change::Kind::reserved});
  }
  before_ = now;
}

void PeakRecorder::note_peak() {
  peak_ = changes_.size();
  awaiting_free_.clear();
  const AllocatorStatistics& now = allocator_.statistics();
  if (now.active == now.allocated) return;
  for (std::size_t s = 0; s < reserved_.size(); ++s) {
    awaiting_free_.push_back(allocator_.bytes_awaiting_free(static_cast<int>(s)));
  }
}

void PeakRecorder::end_step() {
  const std::size_t until_peak = peak_.value_or(0);
  apply(0, until_peak);
  if (peak_) at_peak_ = now_;
  apply(until_peak, changes_.size());
  changes_.clear();
  peak_.reset();
}

void PeakRecorder::apply(std::size_t begin, std::size_t end) {
  for (std::size_t n = begin; n < end; ++n) {
    const Change& change = changes_[n];
    const auto stream = static_cast<std::size_t>(change.stream);
    if (change.kind == Change::Kind::reserved) {
      now_.streams[stream].reserved = change.bytes;
      continue;
    }
    const auto number = static_cast<std::size_t>(change.block);
    if (number >= now_.blocks.size()) now_.blocks.resize(number + 1);
    Block& block = now_.blocks[number];
    if (change.kind == Change::Kind::allocated) {
      block = {{change.buffer, change.bytes, change.phase}, stream};
      now_.streams[stream].allocated += change.bytes;
    } else {
      now_.streams[block.stream].allocated -= block.live.bytes;
      block.live.buffer = kNone;
    }
  }
}

MemoryAtPeak PeakRecorder::take() {
  MemoryAtPeak result{{}, std::move(at_peak_.streams)};
  for (std::size_t s = 0; s < awaiting_free_.size(); ++s) {
    result.streams[s].awaiting_free = awaiting_free_[s];
  }
  for (const Block& block : at_peak_.blocks) {
    if (block.live.buffer != kNone) result.alive.push_back(block.live);
  }
  return result;
}

}  // namespace foreshard::simulator
